/** One look at a file: size, time, and md5 where asked for, all of the same moment. Synchronous: see
 * lib/stdio.ts. */
import { createHash, hash } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readSync,
  statSync,
  type Stats,
} from 'node:fs';
import { errnoOf } from '../lib/errors.js';
import type { Md5Lanes } from '../lib/md5-lanes.js';

export interface FileFacts {
  len: number;
  mtimeMs: number;
  /** 32 hex digits, of exactly `len` bytes. */
  md5?: string;
}

/** Why there are no facts: `gone` also for a dangling or looping link, `other` for anything but a regular
 * file. */
export type NoFacts = 'gone' | 'other' | { errno: string };

const GONE = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG']);
/** Errors of opening or reading for directories, sockets, pipes and devices. */
const OTHER = new Set(['EISDIR', 'ESPIPE', 'ENXIO', 'ENODEV']);
const BUFFER_BYTES = 1024 * 1024;
/** Files below are hashed in lanes: too few larger files wait at a time to fill the lanes. */
const SMALL_BYTES = 256 * 1024;
/** How often a file that changes under our eyes is read again before it is taken as it is. */
const ATTEMPTS = 3;
/** File times come from the kernel's coarse clock, which lags behind by up to a tick; servers of file systems
 * by more. */
const CLOCK_SLACK_MS = 2000;
// A named pipe among the files must not stop us: without O_NONBLOCK open(2) waits for its writer.
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;

/** A path for the system: names of plain ASCII need no copy. */
function pathOf(name: string): string | Buffer {
  return /^[\x01-\x7f]*$/.test(name) ? name : Buffer.from(name, 'latin1');
}

/** stat(2), following links. */
export function statFile(name: string): FileFacts | NoFacts {
  try {
    const stats = statSync(pathOf(name), { throwIfNoEntry: false });
    if (stats === undefined) return 'gone';
    return stats.isFile() ? { len: stats.size, mtimeMs: stats.mtimeMs } : 'other';
  } catch (error) {
    return noFacts(error);
  }
}

/** Why a name leads to nothing: it is not there, or is a symbolic link to nothing, or such links lead in a
 * circle. */
export function whyGone(name: string): 'gone' | 'dangling' | 'loop' {
  const path = pathOf(name);
  try {
    if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return 'gone';
    statSync(path, { throwIfNoEntry: false });
    return 'dangling';
  } catch (error) {
    return errnoOf(error) === 'ELOOP' ? 'loop' : 'gone';
  }
}

/** Facts of each of the names, in order. */
type HashFiles = (names: readonly string[]) => (FileFacts | NoFacts)[];

/**
 * Makes a function that reads and hashes files: small ones together where there are lanes for that, others
 * one by one through a buffer of 1 MiB.
 *
 * Nearly every file has stood still for long: its ctime, looked at after reading, is older than the moment
 * the reading began, so nothing changed in between and one fstat(2) is enough (a second one costs 15 % of a 4
 * KiB file). Any other file is read between two of them, again while they differ.
 *
 * @param now what the ctime of files is compared with, ms
 */
export function createHasher(lanes: Md5Lanes | undefined, now: () => number = Date.now): HashFiles {
  let buffer: Buffer | undefined;
  let startMs: number;
  /** Files that wait for their md5 in the lanes. */
  const waiting: FileFacts[] = [];

  const settle = (): void => {
    if (lanes === undefined || waiting.length === 0) return;
    for (const [i, md5] of lanes.digests().entries()) waiting[i]!.md5 = md5;
    waiting.length = 0;
  };

  const readSmall = (fd: number, into: Md5Lanes): FileFacts | undefined => {
    if (!into.hasRoom(SMALL_BYTES)) settle();
    const len = readSync(fd, into.memory, into.at, SMALL_BYTES, 0);
    if (len === SMALL_BYTES) return undefined;
    const stats = fstatSync(fd);
    if (!stoodStill(stats, len, startMs)) return undefined;
    into.add(len);
    const facts = { len, mtimeMs: stats.mtimeMs, md5: '' };
    waiting.push(facts);
    return facts;
  };

  const read = (fd: number): FileFacts | NoFacts => {
    const facts = lanes === undefined ? undefined : readSmall(fd, lanes);
    if (facts !== undefined) return facts;
    buffer ??= Buffer.allocUnsafeSlow(BUFFER_BYTES);
    const { len, md5 } = hashContent(fd, buffer);
    const stats = fstatSync(fd);
    if (!stats.isFile()) return 'other';
    if (stoodStill(stats, len, startMs)) return { len, mtimeMs: stats.mtimeMs, md5 };
    return readBetweenLooks(fd, buffer, stats);
  };

  const hashFile = (name: string): FileFacts | NoFacts => {
    let fd: number;
    try {
      fd = openSync(pathOf(name), FLAGS);
    } catch (error) {
      return noFacts(error);
    }
    try {
      return read(fd);
    } catch (error) {
      return noFacts(error);
    } finally {
      closeSync(fd);
    }
  };

  return names => {
    startMs = now();
    const facts = names.map(hashFile);
    settle();
    return facts;
  };
}

/** True if what was read after `startMs` is the content of that file, and was then. */
function stoodStill(stats: Stats, len: number, startMs: number): boolean {
  return stats.ctimeMs < startMs - CLOCK_SLACK_MS && stats.size === len && stats.isFile();
}

function readBetweenLooks(fd: number, buffer: Buffer, first: Stats): FileFacts {
  let before = first;
  for (let attempt = 1; ; attempt++) {
    const content = hashContent(fd, buffer);
    const after = fstatSync(fd);
    if ((content.len === after.size && sameMoment(before, after)) || attempt === ATTEMPTS) {
      // A file that never stands still is reported with its older time, so that the next run looks at it
      // again.
      return { len: content.len, mtimeMs: before.mtimeMs, md5: content.md5 };
    }
    before = after;
  }
}

function sameMoment(a: Stats, b: Stats): boolean {
  return a.size === b.size && a.mtimeMs === b.mtimeMs && a.ctimeMs === b.ctimeMs;
}

/** Reads from the start to the end of the file, whatever its size was. By position, which nothing but files
 * (and a few devices) can: from a named pipe or a terminal not a byte is taken. */
function hashContent(fd: number, buffer: Buffer): { len: number; md5: string } {
  let bytes = readSync(fd, buffer, 0, buffer.length, 0);
  if (bytes < buffer.length) return { len: bytes, md5: hash('md5', buffer.subarray(0, bytes), 'hex') };
  const md5 = createHash('md5');
  let len = 0;
  // /dev/zero can be read by position and has no end.
  while (bytes > 0 && (len > 0 || fstatSync(fd).isFile())) {
    md5.update(buffer.subarray(0, bytes));
    len += bytes;
    bytes = readSync(fd, buffer, 0, buffer.length, len);
  }
  return { len, md5: md5.digest('hex') };
}

function noFacts(error: unknown): NoFacts {
  const errno = errnoOf(error) ?? 'EIO';
  return GONE.has(errno) ? 'gone' : OTHER.has(errno) ? 'other' : { errno };
}
