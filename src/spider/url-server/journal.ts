/**
 * The journal of a list of urls, `F.done`: which of its lines have ended, so that a URL server that was
 * killed goes on where it was. Lines of text:
 *
 *     lccurld 1 d41d8cd98f00b204e9800998ecf8427e     first of all: the md5 of the list's first line
 *     17                                             line 17 is done
 *     18 <TAB> 18 <TAB> http://www.example.org/ <TAB> silent spiders   line 18 failed: document, url, why
 *     19 = 1000 d41d8cd98f00b204e9800998ecf8427e     when it was done, 1000 lines were read, of that md5
 *     = 1000 d41d8cd98f00b204e9800998ecf8427e        the same by itself, before one that has failed
 *     ~ 1001 d41d8cd98f00b204e9800998ecf8427e        line 1001 was the last, without its end
 *     - 1001                                         it has grown since: what ended was another line
 *
 * What ended is written in the same turn of the event loop, so that a kill costs a few urls a second fetch,
 * and synced after `syncLines` lines or `syncMs`, which is what a power cut may cost. A line without its end
 * is that of a kill: it is cut off.
 */
import { closeSync, fdatasync, fstatSync, fsyncSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { ByteLines, utf8Of } from '../../lib/byte-lines.js';
import type { Clock } from '../../lib/clock.js';
import { syncDirectory, writeAll } from '../../lib/durable.js';
import { LccError } from '../../lib/errors.js';
import { holderOf, tryLock, type Lock } from '../../lib/lock.js';
import { readChunksAt } from '../../lib/stdio.js';

export interface JournalOptions {
  path: string;
  /** md5 of the first line of the list. */
  listMark: string;
  /** The digest of that many lines of the list as it is now; left out: it is not looked at. */
  digestOf?: (lines: number) => string;
  syncLines: number;
  syncMs: number;
  clock: Clock;
  /** A sync has failed: what was written may be lost. */
  fail: (error: unknown) => void;
}

/** A line of the list that has failed, for the report. */
export interface FailedLine {
  number: number;
  /** Document and url as they were read; the whole line where they could not be. */
  docId: string;
  url: string;
  why: string;
}

const MAGIC = 'lccurld 1 ';
/** More than any line of a list. */
const MAX_LINE_BYTES = 80_000;
const LINE = /^(\d{1,15})(?:\t(\d*)\t([^\t]*)\t([^\t]*))?$/;
const NOTE = /^(?:(\d{1,15}) (?==))?([=~-]) (\d{1,15})(?: ([0-9a-f]{32}))?$/;

export class Journal {
  readonly #options: JournalOptions;
  readonly #fd: number;
  readonly #lock: Lock;
  readonly #ended = new NumberRanges();
  /** Last lines without their ends, by number: their md5. */
  readonly #unfinished = new Map<number, string>();
  /** Ended lines that are other lines now, and have not ended. */
  readonly #reopened = new Set<number>();
  #read = { lines: 0, digest: '' };
  /** Lines that were read are not in the journal yet: they go there with the next line that ends. */
  #unnoted = '';
  #written = '';
  #unsynced = 0;
  #isSyncing = false;
  #cancelSync: (() => void) | undefined;

  /**
   * Opens or makes it.
   * @param failed is told of each line that failed before
   * @throws LccError `try.later` while another process has it, `data.refused` when it is another list's,
   *   `data.malformed` where a line makes no sense, and system errors
   */
  constructor(options: JournalOptions, failed: (line: FailedLine) => void) {
    this.#options = options;
    const { path } = options;
    const lock = tryLock(`${path}.lock`);
    if (lock === undefined)
      throw new LccError('try.later', `${path}: in use by ${holderOf(`${path}.lock`)}; wait for its end`);
    this.#lock = lock;
    this.#fd = openSync(path, 'a+', 0o644);
    try {
      if (this.#isEmpty()) this.#begin();
      else this.#readAll(failed);
      this.#refuseChanged();
    } catch (error) {
      closeSync(this.#fd);
      lock.release();
      throw error;
    }
  }

  get path(): string {
    return this.#options.path;
  }

  /** True if a line of the list has ended in an earlier life. */
  has(number: number): boolean {
    return this.#ended.has(number) && !this.#reopened.has(number);
  }

  /** So many lines of the list were read, with their ends. */
  noteRead(lines: number, digest: string): void {
    if (lines > this.#read.lines) this.#unnoted = `= ${lines} ${digest}`;
  }

  /** The last line of the list has no end, and may grow. */
  noteUnfinished(number: number, digest: string): void {
    this.#compare(number, digest);
    if (this.#unfinished.get(number) === digest) return;
    this.#unfinished.set(number, digest);
    this.#put(`~ ${number} ${digest}\n`);
  }

  /** True if the digest of a line matters: it had no end in an earlier life. */
  wasUnfinished(number: number): boolean {
    return this.#unfinished.has(number);
  }

  /** A line is there that had no end in an earlier life: if it is another one now it has not ended. */
  compare(number: number, digest: string): void {
    this.#compare(number, digest);
    this.#unfinished.delete(number);
  }

  #compare(number: number, digest: string): void {
    if ((this.#unfinished.get(number) ?? digest) === digest || !this.has(number)) return;
    this.#reopened.add(number);
    this.#put(`- ${number}\n`);
  }

  /** Ranges of lines that have ended in earlier lives. */
  get ranges(): number {
    return this.#ended.ranges;
  }

  done(number: number): void {
    this.#add(this.#unnoted === '' ? `${number}\n` : `${number} ${this.#unnoted}\n`);
    this.#unnoted = '';
  }

  failed({ number, docId, url, why }: FailedLine): void {
    if (this.#unnoted !== '') this.#put(`${this.#unnoted}\n`);
    this.#unnoted = '';
    this.#add(`${number}\t${docId}\t${url}\t${why}\n`);
  }

  /** All that was said is durable, and the journal closed. */
  close(): void {
    this.#cancelSync?.();
    this.#write();
    fsyncSync(this.#fd);
    closeSync(this.#fd);
    this.#lock.release();
  }

  #add(line: string): void {
    this.#put(line);
    this.#unsynced++;
  }

  #put(line: string): void {
    if (this.#written === '') setImmediate(() => this.#write());
    this.#written += line;
  }

  /** Lines that have ended are known by numbers alone. */
  #refuseChanged(): void {
    const { path, digestOf } = this.#options;
    const { lines, digest } = this.#read;
    if (lines === 0 || digestOf === undefined || digestOf(lines) === digest) return;
    throw new LccError(
      'data.refused',
      `${path}: the first ${lines} lines of the list were others when they were read; remove the journal to have all urls fetched, ` +
        'or give the new list another name',
    );
  }

  #write(): void {
    if (this.#written === '') return;
    writeAll(this.#fd, Buffer.from(this.#written));
    this.#written = '';
    if (this.#unsynced >= this.#options.syncLines) this.#sync();
    else this.#cancelSync ??= this.#options.clock.after(this.#options.syncMs, () => this.#sync());
  }

  #sync(): void {
    this.#cancelSync?.();
    this.#cancelSync = undefined;
    if (this.#isSyncing || this.#unsynced === 0) return;
    this.#isSyncing = true;
    this.#unsynced = 0;
    fdatasync(this.#fd, error => {
      this.#isSyncing = false;
      if (error !== null) this.#options.fail(error);
      else if (this.#unsynced >= this.#options.syncLines) this.#sync();
    });
  }

  #isEmpty(): boolean {
    return fstatSync(this.#fd).size === 0;
  }

  #begin(): void {
    writeSync(this.#fd, `${MAGIC}${this.#options.listMark}\n`);
    fsyncSync(this.#fd);
    syncDirectory(dirname(this.#options.path));
  }

  #readAll(failed: (line: FailedLine) => void): void {
    const { path, listMark } = this.#options;
    const lines = new ByteLines(MAX_LINE_BYTES);
    let count = 0;
    let bytes = 0;
    for (const chunk of readChunksAt(this.#fd, 0, path)) {
      bytes += chunk.length;
      for (const line of lines.read(chunk)) {
        if (++count > 1) this.#take(line, count, failed);
        else if (!line?.startsWith(MAGIC))
          throw new LccError('data.malformed', `${path}: not a journal of lccurld; move it away`);
        else if (line !== MAGIC + listMark)
          throw new LccError(
            'data.refused',
            `${path}: the journal of another list: remove it to have all urls fetched`,
          );
      }
    }
    ftruncateSync(this.#fd, bytes - lines.pendingBytes);
    if (count === 0) this.#begin();
  }

  #take(line: string | undefined, count: number, failed: (line: FailedLine) => void): void {
    const note = line === undefined ? null : NOTE.exec(line);
    if (note !== null) {
      if (note[1] !== undefined) this.#end(Number(note[1]));
      return this.#takeNote(note[2], Number(note[3]), note[4] ?? '');
    }
    const found = line === undefined ? null : LINE.exec(utf8Of(line));
    if (found === null)
      throw new LccError(
        'data.malformed',
        `${this.#options.path}:${count}: makes no sense; remove the file to have all urls fetched again`,
      );
    const [, number = '', docId, url = '', why = ''] = found;
    this.#end(Number(number));
    if (docId !== undefined) failed({ number: Number(number), docId, url, why });
  }

  #end(number: number): void {
    this.#ended.add(number);
    this.#reopened.delete(number);
  }

  #takeNote(kind: string | undefined, number: number, digest: string): void {
    if (kind === '=') this.#read = { lines: number, digest };
    else if (kind === '~') this.#unfinished.set(number, digest);
    else {
      this.#reopened.add(number);
      this.#unfinished.delete(number);
    }
  }
}

/** A set of numbers, as ranges: those that were added nearly in order take next to no memory. */
export class NumberRanges {
  /** First numbers, in order, and the last one of each. */
  readonly #firsts: number[] = [];
  readonly #lasts: number[] = [];

  get ranges(): number {
    return this.#firsts.length;
  }

  has(number: number): boolean {
    const at = this.#at(number);
    return at >= 0 && number <= (this.#lasts[at] ?? -Infinity);
  }

  add(number: number): void {
    const at = this.#at(number);
    const last = this.#lasts[at] ?? -Infinity;
    if (at >= 0 && number <= last) return;
    const joinsBefore = at >= 0 && number === last + 1;
    const joinsAfter = this.#firsts[at + 1] === number + 1;
    if (joinsBefore && joinsAfter) {
      this.#lasts[at] = this.#lasts[at + 1] ?? number;
      this.#firsts.splice(at + 1, 1);
      this.#lasts.splice(at + 1, 1);
    } else if (joinsBefore) this.#lasts[at] = number;
    else if (joinsAfter) this.#firsts[at + 1] = number;
    else {
      this.#firsts.splice(at + 1, 0, number);
      this.#lasts.splice(at + 1, 0, number);
    }
  }

  /** The last range that begins at or before the number; -1: none does. */
  #at(number: number): number {
    let low = 0;
    let high = this.#firsts.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#firsts[middle] ?? Infinity) <= number) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }
}
