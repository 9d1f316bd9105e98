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
/** Read in one go: all of a small file. */
export const FRAME_READ_BYTES = 256 * 1024;

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
 * Payloads in order, from one read where the file is small. Of a larger one each is there only until the next
 * one is asked for, for all are read into the same memory: the buffers of a big entry would be more than all
 * the rest of a process, as garbage outside the heap.
 * @param bytes of the file, where they are known
 * @throws LccError `data.malformed` naming the file and the offset of the first damage
 */
export function* readFrames(path: string, bytes = FRAME_READ_BYTES): Generator<Buffer, void, undefined> {
  const damaged = (offset: number, what: string) =>
    new LccError('data.malformed', `${path}: damaged at byte ${offset}: ${what}`);
  const fd = openSync(path, 'r');
  try {
    // One byte more: a file that has grown is damaged.
    let room = Buffer.allocUnsafe(Math.min(bytes, FRAME_READ_BYTES) + 1);
    /** Bytes that were read and not taken. */
    let [from, to] = [0, 0];
    let offset = 0;
    const fill = (wanted: number): boolean => {
      if (to - from >= wanted) return true;
      const held = room.subarray(from, to);
      if (wanted > room.length) room = Buffer.allocUnsafeSlow(FRAME_HEAD_BYTES + MAX_FRAME_BYTES);
      // copy() allows for places that overlap.
      held.copy(room);
      [from, to] = [0, held.length];
      for (let count = -1; count !== 0 && to < room.length; to += count)
        count = readSync(fd, room, to, room.length - to, null);
      return to >= wanted;
    };
    const take = (count: number): Buffer => {
      const taken = room.subarray(from, from + count);
      from += count;
      offset += count;
      return taken;
    };
    if (!fill(MAGIC.length) || !take(MAGIC.length).equals(MAGIC)) throw damaged(0, 'no spool entry');
    for (let index = 0; ; index++) {
      const at = offset;
      if (!fill(FRAME_HEAD_BYTES)) throw damaged(at, 'the file ends too early');
      const head = take(FRAME_HEAD_BYTES);
      const [length, sum] = [head.readUInt32BE(0), head.readUInt32BE(4)];
      if (length > MAX_FRAME_BYTES) throw damaged(at, `a frame of ${length} bytes`);
      if (!fill(length)) throw damaged(at, 'the file ends too early');
      const payload = take(length);
      if (checksum(index, payload) !== sum) throw damaged(at, 'wrong checksum');
      if (length === 0) break;
      yield payload;
    }
    if (from < to || fill(1)) throw damaged(offset, 'more than the entry');
  } finally {
    closeSync(fd);
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
