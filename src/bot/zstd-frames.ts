/**
 * The frames of a zstd body (RFC 8878, section 3), block by block. fzstd decodes a block; what it does not look at is
 * checked here: windows, sizes, checksums, what stands between and behind frames. A block of a few bytes may keep fzstd
 * busy for longer than any deadline: for use in a thread that can be ended.
 */
import { Decompress } from 'fzstd';
import type { XXHash } from 'xxhash-wasm';

/** What a sender may expect a receiver to have (RFC 9659, section 3). */
const MAX_WINDOW_BYTES = 8 * 1024 * 1024;
const MAX_BLOCK_BYTES = 128 * 1024;
const FRAME_MAGIC = 0xfd2fb528;
/** The last four bits are anything. */
const SKIPPABLE_MAGIC = 0x184d2a50;
const CONTENT_SIZE_BYTES = [0, 2, 4, 8];

interface Frame {
  decoder: Decompress;
  maxBlockBytes: number;
  /** Undefined when the frame has none. */
  checksum: XXHash<bigint> | undefined;
  contentBytes: bigint | undefined;
  decodedBytes: number;
}

export class ZstdFrames {
  readonly #newHash: () => XXHash<bigint>;
  #rest: Buffer = Buffer.alloc(0);
  #frame: Frame | undefined;
  #skipBytes = 0;
  #decoded: Uint8Array[] = [];

  /** @param newHash of XXH64 with seed 0 */
  constructor(newHash: () => XXHash<bigint>) {
    this.#newHash = newHash;
  }

  /** The content of each block that these bytes complete. @throws Error for what is no zstd */
  *read(chunk: Uint8Array): Generator<Uint8Array, void> {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    while (this.#readOne()) {
      yield* this.#decoded;
      this.#decoded = [];
    }
  }

  /** @throws Error when the bytes so far end within a frame */
  end(): void {
    if (this.#frame !== undefined || this.#rest.length > 0 || this.#skipBytes > 0)
      throw new Error('unexpected end');
  }

  /** Reads what comes next, a header or a block; false when it is not there yet. */
  #readOne(): boolean {
    const skipped = this.#take(Math.min(this.#skipBytes, this.#rest.length));
    this.#skipBytes -= skipped.length;
    if (this.#skipBytes > 0) return false;
    return this.#frame === undefined ? this.#readHeader() : this.#readBlock(this.#frame);
  }

  #readHeader(): boolean {
    const bytes = this.#rest;
    if (bytes.length < 5) return false;
    const magic = bytes.readUInt32LE(0);
    if ((magic & 0xfffffff0) >>> 0 === SKIPPABLE_MAGIC) {
      if (bytes.length < 8) return false;
      this.#skipBytes = 8 + bytes.readUInt32LE(4);
      return true;
    }
    if (magic !== FRAME_MAGIC) throw new Error('not a zstd frame');
    const descriptor = bytes[4] ?? 0;
    const isSingleSegment = (descriptor & 0x20) !== 0;
    if ((descriptor & 0x08) !== 0) throw new Error('a frame of a later version');
    if ((descriptor & 0x03) !== 0) throw new Error('a frame with a dictionary');
    const sizeFlag = descriptor >> 6;
    const sizeBytes = sizeFlag === 0 && isSingleSegment ? 1 : (CONTENT_SIZE_BYTES[sizeFlag] ?? 0);
    const sizeAt = isSingleSegment ? 5 : 6;
    if (bytes.length < sizeAt + sizeBytes) return false;
    const contentBytes = sizeBytes === 0 ? undefined : readSize(bytes, sizeAt, sizeBytes);
    const windowBytes = isSingleSegment ? Number(contentBytes) : windowOf(bytes[5] ?? 0);
    if (windowBytes > MAX_WINDOW_BYTES) throw new Error(`a window of ${windowBytes} bytes, more than 8 MB`);
    const decoder = new Decompress(data => void this.#decoded.push(data));
    decoder.push(this.#take(sizeAt + sizeBytes));
    this.#frame = {
      decoder,
      maxBlockBytes: Math.min(MAX_BLOCK_BYTES, windowBytes),
      checksum: (descriptor & 0x04) === 0 ? undefined : this.#newHash(),
      contentBytes,
      decodedBytes: 0,
    };
    return true;
  }

  #readBlock(frame: Frame): boolean {
    if (this.#rest.length < 3) return false;
    const header = this.#rest.readUIntLE(0, 3);
    const isLast = (header & 1) !== 0;
    const type = (header >> 1) & 3;
    const size = header >> 3;
    if (type === 3) throw new Error('a block of an unknown kind');
    if (size > frame.maxBlockBytes) throw new Error(`a block of ${size} bytes`);
    const blockBytes = 3 + (type === 1 ? 1 : size);
    const checksumBytes = isLast && frame.checksum !== undefined ? 4 : 0;
    if (this.#rest.length < blockBytes + checksumBytes) return false;
    const block = this.#take(blockBytes + checksumBytes);
    frame.decoder.push(block, isLast);
    for (const data of this.#decoded) {
      frame.decodedBytes += data.length;
      frame.checksum?.update(data);
    }
    if (isLast) {
      this.#frame = undefined;
      checkEnd(frame, block);
    }
    return true;
  }

  #take(count: number): Buffer {
    const taken = this.#rest.subarray(0, count);
    this.#rest = this.#rest.subarray(count);
    return taken;
  }
}

/** @param last the frame's last block, its checksum at its end */
function checkEnd({ contentBytes, decodedBytes, checksum }: Frame, last: Buffer): void {
  if (contentBytes !== undefined && contentBytes !== BigInt(decodedBytes))
    throw new Error(`${decodedBytes} bytes instead of ${contentBytes}`);
  if (
    checksum !== undefined &&
    last.readUInt32LE(last.length - 4) !== Number(checksum.digest() & 0xffffffffn)
  )
    throw new Error('a wrong checksum');
}

function readSize(bytes: Buffer, at: number, count: number): bigint {
  if (count === 8) return bytes.readBigUInt64LE(at);
  return BigInt(bytes.readUIntLE(at, count)) + (count === 2 ? 256n : 0n);
}

function windowOf(descriptor: number): number {
  const base = 2 ** (10 + (descriptor >> 3));
  return base + (base / 8) * (descriptor & 7);
}
