/**
 * Good readings of documents, kept from run to run (`--state`): a file for each, replaced as a whole.
 *
 *     http://www.example.org/a 2026-11-20T10:13:01Z -
 *     …
 *     {"document":"http://www.example.org/sitemap.xml","coverage":"all","etag":"\"1\"",…}
 *
 * What is not known before a document has been read stands at the end. A file without that line counts as
 * none. Its time is that of the last good reading: a 304 confirms it.
 */
import { createHash } from 'node:crypto';
import {
  closeSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from 'node:fs';
import { join } from 'node:path';
import { makeDirectory } from '../lib/durable.js';
import { readLinesAt } from '../lib/line-sequences.js';
import { ownMark } from '../lib/process-mark.js';
import { Output } from '../lib/stdio.js';
import type { Coverage } from '../wire/coverage.js';
import { entryLine, entryOf, type Entry } from './entry-lines.js';
import type { Validators } from './fetcher.js';
import { isCommon, Majority, makingOf, type Making } from './times-of-making.js';

/** Longest last line of a file. Validators that make it longer are forgotten. */
const TAIL_BYTES = 16 * 1024;
const COPY_NAME = /^[0-9a-f]{40}(\.|$)/;

/** The last line. */
interface Facts extends Validators, Making {
  document: string;
  /** The readings that were taken out of the document. */
  reads: string;
  coverage: Coverage;
  left: number;
}

/** The list of a document, in a file. */
export interface Listed extends Making {
  /** A part where it lists what could not be taken. */
  coverage: Coverage;
  /** Number of entries that could not be taken. */
  left: number;
  path: string;
}

export interface Copy extends Listed, Validators {
  /** When the document was last known to be so, in milliseconds since 1970. */
  knownMs: number;
}

export class Copies {
  readonly #dir: string;
  readonly #reads: string;
  readonly #used = new Set<string>();

  /**
   * @param dir made where it is not there
   * @param reads what is read out of a document: one that was read for something else is read again
   * @throws LccError `output.create`
   */
  constructor(dir: string, reads: string) {
    this.#dir = dir;
    this.#reads = reads;
    makeDirectory(dir);
  }

  /** Undefined where there is none, or one that is damaged. */
  of(url: string): Copy | undefined {
    const path = this.#pathOf(url);
    const stats = statSync(path, { throwIfNoEntry: false });
    const facts = stats && factsIn(path, stats.size);
    if (facts?.document !== url) return undefined;
    const { coverage, left, common, isMaking, etag, lastModified } = facts;
    const isSame = facts.reads === this.#reads;
    const copy = { coverage, left, common, isMaking, knownMs: stats?.mtimeMs ?? 0, path };
    return isSame ? { ...copy, etag, lastModified } : copy;
  }

  /** The document is as it was. */
  confirm(copy: Copy, nowMs: number): void {
    this.#used.add(copy.path);
    utimesSync(copy.path, nowMs / 1000, nowMs / 1000);
  }

  /** The entries of a copy are used. */
  keep(copy: Copy): void {
    this.#used.add(copy.path);
  }

  /** Begins a file for what is read now. */
  begin(url: string): CopyWriter {
    const path = this.#pathOf(url);
    this.#used.add(path);
    return new CopyWriter(path, url, this.#reads);
  }

  /** Removes what no run has used since: documents that are listed no more. */
  tidy(beforeMs: number): void {
    for (const name of readdirSync(this.#dir)) {
      const path = join(this.#dir, name);
      if (this.#used.has(path) || !COPY_NAME.test(name)) continue;
      if ((statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Infinity) < beforeMs)
        rmSync(path, { force: true });
    }
  }

  #pathOf(url: string): string {
    return join(this.#dir, createHash('sha256').update(url).digest('hex').slice(0, 40));
  }
}

/** The entries of a copy, without times that are those of its making. */
export function* entriesOf({ path, common, isMaking }: Listed): Generator<Entry, void, undefined> {
  const fd = openSync(path, 'r');
  try {
    for (const line of readLinesAt(fd, 0, path)) {
      if (line.startsWith('{')) return;
      const entry = entryOf(line);
      if (entry === undefined) continue;
      yield isMaking && entry.lastmod === common ? { ...entry, lastmod: undefined } : entry;
    }
  } finally {
    closeSync(fd);
  }
}

function factsIn(path: string, size: number): Facts | undefined {
  const buffer = Buffer.alloc(Math.min(size, TAIL_BYTES));
  const fd = openSync(path, 'r');
  try {
    readSync(fd, buffer, 0, buffer.length, size - buffer.length);
  } finally {
    closeSync(fd);
  }
  const [last, after] = buffer.toString().split('\n').slice(-2);
  if (after !== '' || last?.startsWith('{') !== true) return undefined;
  try {
    const facts = JSON.parse(last) as Facts;
    // Before 0.3.0 there was none: what the document lacked then is not known.
    return typeof facts.coverage === 'string' ? facts : undefined;
  } catch {
    return undefined;
  }
}

export class CopyWriter {
  readonly #path: string;
  readonly #temporary: string;
  readonly #url: string;
  readonly #reads: string;
  readonly #fd: number;
  readonly #out: Output;
  readonly #lastmods = new Majority();
  #isOpen = true;

  constructor(path: string, url: string, reads: string) {
    this.#path = path;
    this.#temporary = `${path}.${ownMark()}`;
    this.#url = url;
    this.#reads = reads;
    this.#fd = openSync(this.#temporary, 'w+', 0o644);
    this.#out = new Output(this.#fd, { encoding: 'latin1', where: this.#temporary, blockLength: 256 * 1024 });
  }

  add(entry: Entry): void {
    this.#lastmods.add(entry.lastmod ?? '');
    this.#out.write(`${entryLine(entry)}\n`);
  }

  /** Entries that were read of a document that failed then. */
  *entries(): Generator<Entry, void, undefined> {
    this.#out.flush();
    for (const line of readLinesAt(this.#fd, 0, this.#temporary)) {
      const entry = entryOf(line);
      if (entry !== undefined) yield entry;
    }
  }

  /** The document was good: its reading takes the place of the one before. */
  finish(
    coverage: Coverage,
    { etag, lastModified }: Validators,
    left: number,
    before: Making | undefined,
  ): Listed {
    const making = makingOf(this.#common(), before);
    const facts: Facts = { document: this.#url, reads: this.#reads, coverage, left, ...making };
    const whole = JSON.stringify({ ...facts, etag, lastModified });
    this.#out.write(`${whole.length < TAIL_BYTES ? whole : JSON.stringify(facts)}\n`);
    this.#out.flush();
    this.#close();
    renameSync(this.#temporary, this.#path);
    return { ...making, coverage, left, path: this.#path };
  }

  /** Nothing of it stays. After `finish` it does nothing. */
  discard(): void {
    if (!this.#isOpen) return;
    this.#close();
    rmSync(this.#temporary, { force: true });
  }

  #close(): void {
    this.#isOpen = false;
    closeSync(this.#fd);
  }

  /** The time that nearly all urls have; '' where there is none. */
  #common(): string {
    const { candidate, count } = this.#lastmods;
    if (candidate === '' || !isCommon(count, count)) return '';
    let votes = 0;
    for (const { lastmod } of this.entries()) if (lastmod === candidate) votes += 1;
    return isCommon(votes, count) ? candidate : '';
  }
}
