/** Entries of all lists as `<url>` elements, each url once: of several the one with the latest time. */
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
  /** What has no time that counts changes that often; undefined: never. */
  revisitMs: number | undefined;
  dropsOutside: boolean;
  nowMs: number;
}

const AS_SERVED = '*/*';
const EXTENSION = /^[^?]*\/[^/?]*\.([^./?]+)(?:\?|$)/;
const CURL = '<url curl="';
const MTIME = ' mtime="';
/** The last second that a rank can be. */
const MOST_RANK = 2 ** 32 - 1;

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

  add({ curl, lastmod, mark }: Entry): void {
    const { types, revisitMs, dropsOutside, ignoresLastmod, nowMs } = this.#options;
    const key = escapeAttribute(curl);
    const type = types.size === 0 ? AS_SERVED : typeOf(curl, types);
    let line = `${CURL}${key}" mimetype="${type}"`;
    // One that is yet to come says nothing of what is there now.
    const mtime = ignoresLastmod || lastmod === undefined || lastmod > this.#nowText ? undefined : lastmod;
    if (mtime !== undefined) line += `${MTIME}${mtime}"`;
    if (dropsOutside) line += ' outofroot="drop"';
    if (mark !== undefined) line += ` entry="${mark}"`;
    if (mtime === undefined && revisitMs !== undefined)
      line += ` revisit="${turnOf(curl, revisitMs, nowMs)}"`;
    this.#lines.add(`${line}/>\n`, { key, rank: rankOf(mtime) });
  }

  /** @returns how many urls there were */
  write(out: Output): number {
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
    rank: rankOf(at < MTIME.length ? undefined : line.slice(at, line.indexOf('"', at))),
  };
}

/** Later times rank higher, none lowest. */
function rankOf(mtime: string | undefined): number {
  return mtime === undefined ? 0 : Math.min(Math.max(secondsOfPrinted(mtime), 1), MOST_RANK);
}

/** The number of the period in which a url is now; each url's begin at a time of its own, so that they are spread evenly. */
function turnOf(curl: string, periodMs: number, nowMs: number): number {
  return Math.floor((nowMs + (crc32(curl) % periodMs)) / periodMs);
}

function typeOf(curl: string, types: ReadonlyMap<string, string>): string {
  const extension = EXTENSION.exec(curl.slice(curl.indexOf('//') + 2))?.[1];
  return escapeAttribute(types.get(extension?.toLowerCase() ?? '') ?? AS_SERVED);
}
