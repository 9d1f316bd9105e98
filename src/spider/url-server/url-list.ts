/**
 * A list of urls, a line each, from a file or a pipe: read as far as there is room for more, whatever its
 * length. What has ended goes into the journal of a file; what has failed is reported, as `DOCUMENT TAB URL
 * TAB WHY`.
 */
import { closeSync, openSync } from 'node:fs';
import { parseUrl } from '../../fetch/target.js';
import { ByteLines, utf8Of } from '../../lib/byte-lines.js';
import { LccError, reasonOf } from '../../lib/errors.js';
import { readChunks } from '../../lib/stdio.js';
import { MAX_SERVER_LINE_BYTES, hostNameOf, isHostName, MAX_DOC_ID } from '../../wire/spider-lines.js';
import type { FailedLine, Journal } from './journal.js';
import type { SpiderUrl, UrlFailure, UrlTerms } from './spider-url.js';
import type { Report } from './report.js';
import { createHash } from 'node:crypto';
import { isUtf8 } from 'node:buffer';

export class UrlList {
  readonly #input: AsyncIterable<Buffer>;
  readonly #journal: Journal | undefined;
  readonly #report: Report;
  /** Lines that have failed; those of them that failed in earlier lives. */
  failed: number;
  readonly failedBefore: number;
  /** Lines read that had ended in earlier lives. */
  endedBefore = 0;
  #begun = 0;
  #isRead = false;

  /** @param failed lines that failed in earlier lives */
  constructor(input: AsyncIterable<Buffer>, journal: Journal | undefined, report: Report, failed: number) {
    this.#input = input;
    this.#journal = journal;
    this.#report = report;
    this.failed = failed;
    this.failedBefore = failed;
  }

  /** All lines were read, there are some, and each had ended before. */
  get isAllOver(): boolean {
    return this.#isRead && this.endedBefore > 0 && this.#begun === 0;
  }

  /** Urls, some at a time; the next are read when they are asked for. */
  async *batches(): AsyncGenerator<UrlTerms[], void> {
    const lines = new ByteLines(MAX_SERVER_LINE_BYTES);
    const digest = new ListDigest();
    const journal = this.#journal;
    let number = 0;
    const readable = (each: Iterable<string | undefined>, isFinished: boolean): UrlTerms[] => {
      const batch: UrlTerms[] = [];
      for (const line of each) {
        number++;
        if (!isFinished) journal?.noteUnfinished(number, digestOfLine(line));
        else if (journal !== undefined) digest.add(line);
        if (isFinished && journal?.wasUnfinished(number) === true)
          journal.compare(number, digestOfLine(line));
        if (line === '') continue;
        if (journal?.has(number) === true) {
          this.endedBefore++;
          continue;
        }
        this.#begun++;
        const terms = readListLine(line, number);
        if ('why' in terms) this.#fail({ number, ...terms });
        else batch.push(terms);
      }
      if (isFinished && number > 0) journal?.noteRead(number, digest.hex);
      return batch;
    };
    for await (const chunk of this.#input) {
      yield readable(lines.read(chunk), true);
      await this.#report.room();
    }
    yield readable(lines.end(), false);
    this.#isRead = true;
  }

  /** @param failure why the url was not fetched; undefined: a spider has said DONE */
  ended({ number, docId, url }: SpiderUrl, failure: UrlFailure | undefined): void {
    if (failure === undefined) this.#journal?.done(number);
    else this.#fail({ number, docId: String(docId), url, why: failure });
  }

  async close(): Promise<void> {
    this.#journal?.close();
    await this.#report.end();
  }

  #fail(line: FailedLine): void {
    this.failed++;
    this.#journal?.failed(line);
    this.#report.add(reportLine(line));
  }
}

export function reportLine({ docId, url, why }: FailedLine): string {
  return `${docId}\t${url}\t${why}\n`;
}

/** The mark of a list, which differs from that of another: the md5 of its first line. @throws LccError
 * `input.missing` where it cannot be opened, `io` */
export function markOf(file: string): string {
  const fd = opened(file);
  try {
    const lines = new ByteLines(MAX_SERVER_LINE_BYTES);
    for (const chunk of readChunks(fd, file)) for (const line of lines.read(chunk)) return digestOfLine(line);
    for (const line of lines.end()) return digestOfLine(line);
    return digestOfLine('');
  } finally {
    closeSync(fd);
  }
}

function opened(file: string): number {
  try {
    return openSync(file, 'r');
  } catch (error) {
    throw new LccError('input.missing', `${file}: ${reasonOf(error)}`, { cause: error });
  }
}

/** The digest of the first lines of a list, as far as there are so many. @throws as `markOf` */
export function digestOfLines(file: string, most: number): string {
  const fd = opened(file);
  try {
    const lines = new ByteLines(MAX_SERVER_LINE_BYTES);
    const digest = new ListDigest();
    let left = most;
    for (const chunk of readChunks(fd, file))
      for (const line of lines.read(chunk)) {
        if (left-- === 0) return digest.hex;
        digest.add(line);
      }
    return left > 0 ? '' : digest.hex;
  } finally {
    closeSync(fd);
  }
}

/** A digest of the lines of a list that were read: their md5. */
class ListDigest {
  readonly #hash = createHash('md5');

  /** @param line as `ByteLines` has it: without its end, in latin1; undefined: too long */
  add(line: string | undefined): void {
    this.#hash.update(`${line ?? '\0'}\n`, 'latin1');
  }

  /** Digest of all lines so far. */
  get hex(): string {
    return this.#hash.copy().digest('hex');
  }
}

function digestOfLine(line: string | undefined): string {
  return createHash('md5')
    .update(line ?? 'too long', 'latin1')
    .digest('hex');
}

/** Most bytes of a url in a record. */
const MAX_URL_BYTES = 65_535;
/** A url that can be sent as it stands. */
const CLEAN = /^https?:\/\/[\x21-\x7e]+$/i;

const CONTROL = /[\0-\x1f\x7f]/g;
const BEYOND_ASCII = /[\x80-\xff]/g;

interface RefusedLine {
  docId: string;
  url: string;
  why: string;
}

/**
 * A line of a list of urls: a url, or the number of a document, a tab and a url.
 * @param line without its end, a character a byte; undefined: it was too long
 * @param number from 1: the document's, too, unless the line says one
 */
export function readListLine(line: string | undefined, number: number): UrlTerms | RefusedLine {
  if (line === undefined)
    return { docId: String(number), url: '', why: `line ${number} has more than ${MAX_URL_BYTES} bytes` };
  const [, docText, rest = line] = /^(\d{1,15})\t([^]*)$/.exec(line) ?? [];
  const given = asciiOrUtf8(rest).trim();
  const docId = docText === undefined ? number : Number(docText);
  const refuse = (why: string): RefusedLine => ({
    docId: docText ?? String(number),
    url: given.replace(CONTROL, '?'),
    why,
  });
  if (docId > MAX_DOC_ID) return refuse(`the number of a document is at most ${MAX_DOC_ID}`);
  // Parsers of urls leave a tab out without a word.
  if (given.includes('\t'))
    return refuse(
      docText === undefined
        ? 'what stands before the tab is no number of a document'
        : 'a tab inside of the url',
    );
  const parsed = parseUrl(given);
  if (parsed === undefined) return refuse('not a url');
  if (parsed.protocol !== 'http:' && parsed.protocol !== 'https:') return refuse('neither http nor https');
  const hostName = hostNameOf(parsed);
  if (!isHostName(hostName)) return refuse('its host is no name');
  const url = CLEAN.test(rest.trim()) ? given : parsed.href;
  return url.length > MAX_URL_BYTES
    ? refuse(`more than ${MAX_URL_BYTES} bytes`)
    : { number, docId, url, hostName };
}

/** UTF-8 as text; of a line that is none, every byte beyond ASCII percent-encoded as it is: its server knows
 * the encoding. */
function asciiOrUtf8(line: string): string {
  if (isUtf8(Buffer.from(line, 'latin1'))) return utf8Of(line);
  return line.replace(BEYOND_ASCII, byte => `%${byte.charCodeAt(0).toString(16).toUpperCase()}`);
}
