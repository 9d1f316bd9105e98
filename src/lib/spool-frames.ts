/**
 * The file format of a spool entry: a magic line, then frames.
 *
 *     frame = length (u32) · crc (u32) · payload        big-endian
 *
 * The first payload is the header (JSON), the last frame has no payload and ends the file. The checksum
 * covers the frame's place and length besides its payload, so a frame that was cut, repeated, moved or
 * altered is not believed.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { isNoRoom, LccError, messageOf, tooManyFiles } from './errors.js';

/** Fields that the creator of an entry gives it. */
export type SpoolHeader = Record<string, string | number>;

export interface SpoolEntry {
  /** The file's name: its number, a dash, its label. Ascending in the order of commits; never used twice. */
  id: string;
  label: string;
  /** Size of the file. */
  bytes: number;
}

export const MAGIC = Buffer.from('spool 1\n', 'latin1');
/** Longest payload. */
const MAX_FRAME_BYTES = 1024 * 1024;
export const FRAME_HEAD_BYTES = 8;
const FRAME_READ_BYTES = 256 * 1024;
/** Bytes that are read in one go, and kept whole in memory. */
const MAX_SMALL_BYTES = 256 * 1024;

/** Writes the head of frame number `index` into its first bytes; the payload is all after it. */
export function writeFrameHead(frame: Buffer, index: number): void {
  const payload = frame.subarray(FRAME_HEAD_BYTES);
  frame.writeUInt32BE(payload.length, 0);
  frame.writeUInt32BE(checksum(index, payload), 4);
}

/** A whole frame. */
export function frameOf(index: number, payload: Uint8Array): Buffer {
  const frame = Buffer.concat([Buffer.alloc(FRAME_HEAD_BYTES), payload]);
  writeFrameHead(frame, index);
  return frame;
}

/**
 * Payloads of a small file, all of them verified. One read: thousands of small files are read several times
 * as fast as by `readFrames`, whose buffers are big and whose reads are handed to other threads.
 * @param bytes its size
 * @returns undefined when it is not small
 * @throws LccError as `readFrames`
 */
export function readSmallFrames(path: string, bytes: number): Buffer[] | undefined {
  if (bytes > MAX_SMALL_BYTES) return undefined;
  // One byte more: a file that has grown is damaged.
  const held = Buffer.allocUnsafe(bytes + 1);
  const length = readUpTo(path, held);
  const payloads: Buffer[] = [];
  if (length < MAGIC.length || !held.subarray(0, MAGIC.length).equals(MAGIC))
    throw damagedAt(path, 0, 'no spool entry');
  for (let at = MAGIC.length; ;) {
    if (length < at + FRAME_HEAD_BYTES) throw damagedAt(path, at, 'the file ends too early');
    const payloadBytes = held.readUInt32BE(at);
    const from = at + FRAME_HEAD_BYTES;
    if (payloadBytes > MAX_FRAME_BYTES) throw damagedAt(path, at, `a frame of ${payloadBytes} bytes`);
    if (length < from + payloadBytes) throw damagedAt(path, at, 'the file ends too early');
    const payload = held.subarray(from, from + payloadBytes);
    if (checksum(payloads.length, payload) !== held.readUInt32BE(at + 4))
      throw damagedAt(path, at, 'wrong checksum');
    at = from + payloadBytes;
    if (payloadBytes > 0) {
      payloads.push(payload);
      continue;
    }
    if (length > at) throw damagedAt(path, at, 'more than the entry');
    return payloads;
  }
}

/** @returns how many bytes there were, as far as there is room for them */
function readUpTo(path: string, room: Buffer): number {
  const fd = openSync(path, 'r');
  try {
    let length = 0;
    for (;;) {
      const bytesRead = readSync(fd, room, length, room.length - length, null);
      if (bytesRead === 0) return length;
      length += bytesRead;
    }
  } finally {
    closeSync(fd);
  }
}

function damagedAt(path: string, offset: number, what: string): LccError {
  return new LccError('data.malformed', `${path}: damaged at byte ${offset}: ${what}`);
}

/**
 * Payloads in order; each only until the next one is asked for, for all are read into the same memory: the
 * buffers of a big entry would be more than all the rest of a process, as garbage outside the heap.
 * @throws LccError `data.malformed` naming the file and the offset of the first damage
 */
export async function* readFrames(path: string): AsyncGenerator<Buffer, void> {
  const damaged = (offset: number, what: string) => damagedAt(path, offset, what);
  const file = await open(path, 'r');
  try {
    let room = Buffer.allocUnsafeSlow(FRAME_READ_BYTES);
    /** Bytes that were read and not taken. */
    let [from, to] = [0, 0];
    let offset = 0;
    const fill = async (wanted: number): Promise<boolean> => {
      if (to - from >= wanted) return true;
      const held = room.subarray(from, to);
      if (wanted > room.length) room = Buffer.allocUnsafeSlow(FRAME_HEAD_BYTES + MAX_FRAME_BYTES);
      // copy() allows for places that overlap.
      held.copy(room);
      [from, to] = [0, held.length];
      while (to < wanted) {
        const { bytesRead } = await file.read(room, to, room.length - to);
        if (bytesRead === 0) return false;
        to += bytesRead;
      }
      return true;
    };
    const take = (bytes: number): Buffer => {
      const taken = room.subarray(from, from + bytes);
      from += bytes;
      offset += bytes;
      return taken;
    };
    if (!(await fill(MAGIC.length)) || !take(MAGIC.length).equals(MAGIC)) throw damaged(0, 'no spool entry');
    for (let index = 0; ; index++) {
      const at = offset;
      if (!(await fill(FRAME_HEAD_BYTES))) throw damaged(at, 'the file ends too early');
      const head = take(FRAME_HEAD_BYTES);
      const [length, sum] = [head.readUInt32BE(0), head.readUInt32BE(4)];
      if (length > MAX_FRAME_BYTES) throw damaged(at, `a frame of ${length} bytes`);
      if (!(await fill(length))) throw damaged(at, 'the file ends too early');
      const payload = take(length);
      if (checksum(index, payload) !== sum) throw damaged(at, 'wrong checksum');
      if (length === 0) break;
      yield payload;
    }
    if (from < to || (await fill(1))) throw damaged(offset, 'more than the entry');
  } finally {
    await file.close();
  }
}

function checksum(index: number, payload: Uint8Array): number {
  const place = Buffer.allocUnsafe(FRAME_HEAD_BYTES);
  place.writeUInt32BE(index, 0);
  place.writeUInt32BE(payload.length, 4);
  return crc32(payload, crc32(place));
}

/** Full disks, and files that the system does not let be opened, are `io.full`; all else that it refuses is
 * `io`. */
export function asSpoolError(path: string, error: unknown): LccError {
  if (error instanceof LccError) return error;
  const remedy = tooManyFiles(error);
  const isFull = remedy !== undefined || isNoRoom(error);
  const message = `${path}: ${messageOf(error)}${remedy === undefined ? '' : `; ${remedy}`}`;
  return new LccError(isFull ? 'io.full' : 'io', message, { cause: error });
}
