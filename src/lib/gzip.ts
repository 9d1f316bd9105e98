/** Gzip, member by member: each is checked by its own CRC and length. What follows the last member is told
 * from it, which zlib's own streams take for a damaged member. */
import { once } from 'node:events';
import { crc32, createInflateRaw, type InflateRaw } from 'node:zlib';
import { LccError, messageOf } from './errors.js';

/** Bytes that come in pieces, looked at before they are taken. */
export class ByteFeed {
  readonly #source: AsyncIterator<Uint8Array>;
  held: Buffer = Buffer.alloc(0);

  constructor(pieces: AsyncIterable<Uint8Array>) {
    this.#source = pieces[Symbol.asyncIterator]();
  }

  /** Waits until so many bytes are held. @returns false where fewer come */
  async has(bytes: number): Promise<boolean> {
    while (this.held.length < bytes) {
      const next = await this.#source.next();
      if (next.done === true) return false;
      const { buffer, byteOffset, length } = next.value;
      const piece = Buffer.from(buffer, byteOffset, length);
      this.held = this.held.length === 0 ? piece : Buffer.concat([this.held, piece]);
    }
    return true;
  }

  take(bytes: number): Buffer {
    const taken = this.held.subarray(0, bytes);
    this.held = this.held.subarray(bytes);
    return taken;
  }

  /** All that was not taken. */
  async *rest(): AsyncGenerator<Buffer, void, undefined> {
    try {
      while (await this.has(1)) yield this.take(this.held.length);
    } finally {
      await this.close();
    }
  }

  async close(): Promise<void> {
    await this.#source.return?.();
  }
}

const HEADER_BYTES = 10;
const TRAILER_BYTES = 8;
const DEFLATED = 8;
/** Flags of a header: what stands in it besides. */
const CRC = 2;
const EXTRA = 4;
const NAME = 8;
const COMMENT = 16;
/** Longest name or comment of a member, in bytes. */
const LONGEST_TEXT = 64 * 1024;
/** Given to the decompressor at a time: what comes of it is in memory at once, a thousand times as much at
 * most. */
const PIECE_BYTES = 16 * 1024;

/** True if gzip begins here. */
export async function isGzip(feed: ByteFeed): Promise<boolean> {
  return (await feed.has(2)) && feed.held[0] === 0x1f && feed.held[1] === 0x8b;
}

/**
 * The content of all members.
 * @param feed stands at the first one
 * @returns whether something other than zeros follows the last one
 * @throws LccError `data.cut`, `data.malformed`
 */
export async function* gunzipped(feed: ByteFeed): AsyncGenerator<Buffer, boolean, undefined> {
  try {
    do {
      await passHeader(feed);
      yield* member(feed);
    } while (await isGzip(feed));
    return feed.held.some(byte => byte !== 0);
  } finally {
    await feed.close();
  }
}

async function* member(feed: ByteFeed): AsyncGenerator<Buffer, void, undefined> {
  const inflate = createInflateRaw({ chunkSize: 64 * 1024 });
  let made: Buffer[] = [];
  inflate.on('data', (piece: Buffer) => void made.push(piece));
  let sum = 0;
  let length = 0;
  try {
    while (!inflate.readableEnded) {
      if (!(await feed.has(1))) throw cut();
      const before = inflate.bytesWritten;
      await give(inflate, feed.held.subarray(0, PIECE_BYTES));
      feed.take(inflate.bytesWritten - before);
      const pieces = made;
      made = [];
      for (const piece of pieces) {
        sum = crc32(piece, sum);
        length = (length + piece.length) >>> 0;
        yield piece;
      }
    }
  } finally {
    inflate.destroy();
  }
  if (!(await feed.has(TRAILER_BYTES))) throw cut();
  const trailer = feed.take(TRAILER_BYTES);
  if (trailer.readUInt32LE(0) !== sum) throw damaged('incorrect data check');
  if (trailer.readUInt32LE(4) !== length) throw damaged('incorrect length check');
}

/** Resolves once the bytes have been taken, or those of them that belong to the member. */
async function give(inflate: InflateRaw, bytes: Buffer): Promise<void> {
  const stop = new AbortController();
  const ended = once(inflate, 'end', { signal: stop.signal });
  ended.catch(() => undefined);
  const written = new Promise<void>((resolve, reject) => {
    inflate.write(bytes, error => (error ? reject(error) : resolve()));
  });
  try {
    await Promise.race([written, ended]);
  } catch (error) {
    throw damaged(messageOf(error));
  } finally {
    stop.abort();
  }
}

async function passHeader(feed: ByteFeed): Promise<void> {
  await need(feed, HEADER_BYTES);
  const header = feed.take(HEADER_BYTES);
  if (header[2] !== DEFLATED) throw damaged('unknown compression method');
  const flags = header[3]!;
  if ((flags & EXTRA) !== 0) {
    await need(feed, 2);
    const length = feed.take(2).readUInt16LE();
    await need(feed, length);
    feed.take(length);
  }
  if ((flags & NAME) !== 0) await passText(feed);
  if ((flags & COMMENT) !== 0) await passText(feed);
  if ((flags & CRC) === 0) return;
  await need(feed, 2);
  feed.take(2);
}

async function passText(feed: ByteFeed): Promise<void> {
  let end = feed.held.indexOf(0);
  while (end < 0 && feed.held.length < LONGEST_TEXT) {
    await need(feed, feed.held.length + 1);
    end = feed.held.indexOf(0);
  }
  if (end < 0) throw damaged('a name without end');
  feed.take(end + 1);
}

async function need(feed: ByteFeed, bytes: number): Promise<void> {
  if (!(await feed.has(bytes))) throw cut();
}

function cut(): LccError {
  return new LccError('data.cut', 'it is cut off (gzip)');
}

function damaged(why: string): LccError {
  return new LccError('data.malformed', `its gzip is damaged: ${why}`);
}
