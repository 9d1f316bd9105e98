/**
 * The write-ahead log of a database, as SQLite's file format describes it:
 *
 *     header: magic · version · bytes of a page · checkpoints · salts · sums     8 × u32, big-endian
 *     frame:  page · pages of the file, if it is a commit, else 0 · salts · sums     6 × u32 · the page
 *
 * A frame counts when it has the salts of the header and its sums go on from those before. How many frames
 * count is for SQLite to say: a commit that failed at its sync lies in the file, too. SQLite takes no locks
 * on this file, so it may be opened and closed beside its connections.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import { endianness } from 'node:os';
import { setImmediate as turn } from 'node:timers/promises';
import { errnoOf, LccError } from '../lib/errors.js';
import { encodePiece, PIECE_PAGES } from './piece.js';
import type { LogPlace } from './place.js';

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
/** The last bit says in which order of bytes words are summed. */
const MAGIC = 0x377f_0682;
const OWN_ORDER = endianness() === 'BE' ? 1 : 0;

export interface LogHeader {
  pageBytes: number;
  salts: readonly [number, number];
  sums: readonly [number, number];
  isSwapped: boolean;
}

/** The pages that differ between two places. */
export interface LogChanges {
  place: LogPlace;
  pageBytes: number;
  /** Size of the database. */
  filePages: number;
  /** Latest frame of each page, by page: page × `factor` + frame. */
  latest: Float64Array;
  factor: number;
}

export class LogFile {
  readonly #path: string;
  readonly #fd: number;

  private constructor(path: string, fd: number) {
    this.#path = path;
    this.#fd = fd;
  }

  /** The log of a database; undefined: it has none. */
  static open(database: string): LogFile | undefined {
    const path = `${database}-wal`;
    try {
      return new LogFile(path, openSync(path, 'r'));
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return undefined;
      throw error;
    }
  }

  close(): void {
    closeSync(this.#fd);
  }

  /** undefined: nothing was ever written to it, or it was emptied. */
  header(): LogHeader | undefined {
    const head = this.#read(0, HEADER_BYTES);
    if (head === undefined) return undefined;
    const [magic = 0, , pageBytes = 0, , ...rest] = wordsOf(head);
    const [salt1 = 0, salt2 = 0, sum1 = 0, sum2 = 0] = rest;
    const isSwapped = (magic & 1) !== OWN_ORDER;
    const isSound =
      (magic & ~1) === MAGIC && String(summed(head.subarray(0, 24), [0, 0], isSwapped)) === `${sum1},${sum2}`;
    return isSound ? { pageBytes, salts: [salt1, salt2], sums: [sum1, sum2], isSwapped } : undefined;
  }

  /** The place after a number of frames. */
  placeAfter({ pageBytes, salts, sums }: LogHeader, frames: number): LogPlace {
    const frameBytes = FRAME_HEADER_BYTES + pageBytes;
    const offset = HEADER_BYTES + frames * frameBytes;
    if (frames === 0) return { salts, offset, sums };
    const [, , , , sum1 = 0, sum2 = 0] = wordsOf(this.#readAll(offset - frameBytes, FRAME_HEADER_BYTES));
    return { salts, offset, sums: [sum1, sum2] };
  }

  /** True if the place is in this log. */
  has({ salts, offset, sums }: LogPlace): boolean {
    const header = this.header();
    if (header === undefined || String(header.salts) !== String(salts)) return false;
    const frames = framesBefore(header, offset);
    try {
      return Number.isInteger(frames) && String(this.placeAfter(header, frames).sums) === String(sums);
    } catch {
      return false;
    }
  }

  /**
   * Reads on from a place, with all sums compared. Others go on in between.
   * @param frames of the log that count
   * @throws LccError `io` when what counts is not there
   */
  async changes(header: LogHeader, from: LogPlace, frames: number): Promise<LogChanges> {
    const { pageBytes } = header;
    const frameBytes = FRAME_HEADER_BYTES + pageBytes;
    const first = framesBefore(header, from.offset);
    const latest = new Float64Array(frames - first);
    let sums = from.sums;
    let filePages = 0;
    for (let at = first; at < frames; at += PIECE_PAGES) {
      const count = Math.min(PIECE_PAGES, frames - at);
      const chunk = this.#readAll(HEADER_BYTES + at * frameBytes, count * frameBytes);
      for (let i = 0; i < count; i++) {
        const frame = chunk.subarray(i * frameBytes, (i + 1) * frameBytes);
        const [page = 0, size = 0, salt1, salt2, sum1 = 0, sum2 = 0] = wordsOf(
          frame.subarray(0, FRAME_HEADER_BYTES),
        );
        sums = summed(frame.subarray(0, 8), sums, header.isSwapped);
        sums = summed(frame.subarray(FRAME_HEADER_BYTES), sums, header.isSwapped);
        if (`${salt1},${salt2}` !== String(header.salts) || sums[0] !== sum1 || sums[1] !== sum2)
          throw new LccError('io', `${this.#path}: frame ${at + i + 1} of ${frames} is damaged`);
        if (size > 0) filePages = size;
        latest[at + i - first] = page * frames + at + i;
      }
      if (at + count < frames) await turn();
    }
    const place = { salts: header.salts, offset: HEADER_BYTES + frames * frameBytes, sums };
    return { place, pageBytes, filePages, factor: frames, latest: latestOf(latest, frames, filePages) };
  }

  /** Pieces of all that differs, in order; other work goes on in between. */
  async *pieces({ latest, factor, pageBytes, filePages }: LogChanges): AsyncGenerator<Buffer> {
    for (let at = 0; at < latest.length; at += PIECE_PAGES) {
      if (at > 0) await turn();
      const pages = new Map<number, Buffer>();
      for (const entry of latest.subarray(at, at + PIECE_PAGES)) {
        const frame = entry % factor;
        const offset = HEADER_BYTES + frame * (FRAME_HEADER_BYTES + pageBytes) + FRAME_HEADER_BYTES;
        pages.set((entry - frame) / factor, this.#readAll(offset, pageBytes));
      }
      yield encodePiece({ pageBytes, filePages, pages });
    }
  }

  #readAll(offset: number, bytes: number): Buffer {
    const read = this.#read(offset, bytes);
    if (read === undefined) throw new LccError('io', `${this.#path}: ends before byte ${offset + bytes}`);
    return read;
  }

  #read(offset: number, bytes: number): Buffer | undefined {
    const buffer = Buffer.allocUnsafeSlow(bytes);
    let done = 0;
    while (done < bytes) {
      const read = readSync(this.#fd, buffer, done, bytes - done, offset + done);
      if (read === 0) return undefined;
      done += read;
    }
    return buffer;
  }
}

/** Frames before a place; no whole number where there cannot be one. */
export function framesBefore({ pageBytes }: LogHeader, offset: number): number {
  return (offset - HEADER_BYTES) / (FRAME_HEADER_BYTES + pageBytes);
}

/** Bytes of a number of frames. */
export function bytesOf({ pageBytes }: LogHeader, frames: number): number {
  return frames * (FRAME_HEADER_BYTES + pageBytes);
}

/** By page, of each the last, and none that the file does not have any more. */
function latestOf(all: Float64Array, factor: number, filePages: number): Float64Array {
  all.sort();
  const pageOf = (entry = Infinity) => Math.floor(entry / factor);
  let count = 0;
  all.forEach((entry, i) => {
    const page = pageOf(entry);
    if (page !== pageOf(all[i + 1]) && page <= filePages) all[count++] = entry;
  });
  return all.slice(0, count);
}

function wordsOf(bytes: Buffer): number[] {
  return Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readUInt32BE(4 * i));
}

/** @param bytes of a multiple of 8, at a multiple of 4 */
function summed(bytes: Buffer, [a, b]: readonly [number, number], isSwapped: boolean): [number, number] {
  const own = isSwapped ? Buffer.from(bytes).swap32() : bytes;
  const words = new Int32Array(own.buffer, own.byteOffset, own.length / 4);
  let sum1 = a | 0;
  let sum2 = b | 0;
  for (let i = 0; i < words.length; i += 2) {
    sum1 = (sum1 + words[i]! + sum2) | 0;
    sum2 = (sum2 + words[i + 1]! + sum1) | 0;
  }
  return [sum1 >>> 0, sum2 >>> 0];
}
