/** Entries of all lists as `<url>` elements, each url once: of several the one with the latest time; where
 * none has one the mark is that of all. */
import { crc32 } from 'node:zlib';
import type { Output } from '../lib/stdio.js';
import { escapeAttribute } from '../lib/xml/escape.js';
import { secondsOfPrinted } from '../wire/mtime.js';
import { DistinctLines, type KeyOfLine } from './distinct.js';
import type { Entry } from './entry-lines.js';

export interface UrlLineOptions {
  /** Mimetype by extension, in lower case and without a dot; all else is taken as it is served. */
  types: ReadonlyMap<string, string>;
  /** Times that lists give are not written. */
  ignoresLastmod: boolean;
  /** Interval at which a url without a time that counts changes; undefined: never. */
  revisitMs: number | undefined;
  dropsOutside: boolean;
  nowMs: number;
}

const AS_SERVED = '*/*';
const EXTENSION = /^[^?]*\/[^/?]*\.([^./?]+)(?:\?|$)/;
const CURL = '<url curl="';
const MTIME = ' mtime="';
const MARK = ' entry="';
/** The last second that a rank can be. */
const MOST_RANK = 2 ** 32 - 1;
const MARKED_RANK = 1;
/** Pages whose marks wait for more of their items; beyond, those that come later make pages of their own to
 * the mark. */
const MOST_MARKED = 2 ** 17;
const MARK_SPACE = 2n ** 128n;

export class UrlLines {
  readonly #lines: DistinctLines;
  readonly #options: UrlLineOptions;
  readonly #nowText: string;

  /** @param path of a file for what waits to be written */
  constructor(path: string, options: UrlLineOptions) {
    this.#lines = new DistinctLines(path, keyOf);
    this.#options = options;
    this.#nowText = `${new Date(options.nowMs).toISOString().slice(0, 19)}Z`;
  }

  /** Entries with a mark, by their url: the mark of a page is that of all its items, in whatever order. */
  readonly #marked = new Map<string, { lastmod: string | undefined; sum: bigint }>();

  add({ curl, lastmod, mark }: Entry): void {
    if (mark === undefined) return this.#put(curl, lastmod, undefined);
    const before = this.#marked.get(curl);
    const sum = ((before?.sum ?? 0n) + BigInt(`0x${mark}`)) % MARK_SPACE;
    const latest =
      before?.lastmod !== undefined && (lastmod ?? '') < before.lastmod ? before.lastmod : lastmod;
    this.#marked.set(curl, { lastmod: latest, sum });
    if (this.#marked.size >= MOST_MARKED) this.#putMarked();
  }

  #putMarked(): void {
    for (const [curl, { lastmod, sum }] of this.#marked)
      this.#put(curl, lastmod, sum.toString(16).padStart(32, '0'));
    this.#marked.clear();
  }

  #put(curl: string, lastmod: string | undefined, mark: string | undefined): void {
    const { types, revisitMs, dropsOutside, ignoresLastmod, nowMs } = this.#options;
    const key = escapeAttribute(curl);
    const type = types.size === 0 ? AS_SERVED : typeOf(curl, types);
    let line = `${CURL}${key}" mimetype="${type}"`;
    // One that is yet to come says nothing of what is there now.
    const mtime = ignoresLastmod || lastmod === undefined || lastmod > this.#nowText ? undefined : lastmod;
    if (mtime !== undefined) line += `${MTIME}${mtime}"`;
    if (dropsOutside) line += ' outofroot="drop"';
    if (mark !== undefined) line += `${MARK}${mark}"`;
    if (mtime === undefined && revisitMs !== undefined)
      line += ` revisit="${turnOf(curl, revisitMs, nowMs)}"`;
    this.#lines.add(`${line}/>\n`, { key, rank: rankOf(mtime, mark !== undefined) });
  }

  /** @returns how many urls there were */
  write(out: Output): number {
    this.#putMarked();
    const chunks = this.#lines.chunks();
    for (let next = chunks.next(); ; next = chunks.next()) {
      if (next.done === true) return next.value;
      out.write(next.value);
    }
  }

  close(): void {
    this.#lines.close();
  }
}

function keyOf(line: string): KeyOfLine {
  const end = line.indexOf('"', CURL.length);
  const at = line.indexOf(MTIME, end) + MTIME.length;
  return {
    key: line.slice(CURL.length, end),
    rank: rankOf(
      at < MTIME.length ? undefined : line.slice(at, line.indexOf('"', at)),
      line.includes(MARK, end),
    ),
  };
}

/** Later times rank higher, a mark below all of them, and lowest what says nothing of a change. */
function rankOf(mtime: string | undefined, isMarked: boolean): number {
  if (mtime === undefined) return isMarked ? MARKED_RANK : 0;
  return Math.min(Math.max(secondsOfPrinted(mtime), MARKED_RANK + 1), MOST_RANK);
}

/** The number of the period in which a url is now; each url's begin at a time of its own, so that they are
 * spread evenly. */
function turnOf(curl: string, periodMs: number, nowMs: number): number {
  return Math.floor((nowMs + (crc32(curl) % periodMs)) / periodMs);
}

function typeOf(curl: string, types: ReadonlyMap<string, string>): string {
  const extension = EXTENSION.exec(curl.slice(curl.indexOf('//') + 2))?.[1];
  return escapeAttribute(types.get(extension?.toLowerCase() ?? '') ?? AS_SERVED);
}
