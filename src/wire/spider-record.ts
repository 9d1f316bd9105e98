/**
 * The record that a spider sends to its store servers, one after the other without anything between: a head,
 * and the document. lcc-spider(5) describes it for other programs. All integers are big-endian.
 *
 *     0  4  doc_id             8  4  milliseconds, saturating     20                    url
 *     4  1  success, 0 or 1   12  2  url_len, 1 to 65535          20 + url_len          new url
 *     5  1  reason            14  2  new_url_len, 0 = none        … + new_url_len       document
 *     6  1  http              16  4  doc_len
 *     7  1  padding, 0
 *
 * Nothing marks where a record begins, so nothing after a bad byte can be made sense of: a reader stops for
 * good. It checks all that can be checked, that as much as possible of a damaged stream is noticed at its
 * first bad byte.
 */
import { LccError } from '../lib/errors.js';
import { readReasonByte, reasonByte, type SpiderEnd } from './spider-codes.js';

/** The first bytes that a store server sends when it acknowledges: after them comes the id of each record
 * that is on disk. */
export const STORE_HELLO = 'LCCACK1\n';
/** Bytes before the url. */
const RECORD_HEAD_BYTES = 20;
/** Most bytes of a url in a record. */
export const MAX_RECORD_URL_BYTES = 0xffff;
const MAX_U32 = 0xffff_ffff;

/** A record without its document. */
export interface SpiderRecord extends SpiderEnd {
  /** 0 to 4294967295. */
  docId: number;
  success: boolean;
  /** As `httpByte` makes it. */
  http: number;
  /** Milliseconds of the fetch; more than 4294967295 is written as that. */
  durationMs: number;
  /** The bytes of the url as they were received, a character each: a url of the protocol is ASCII. */
  url: string;
  /** The url that should take its place; '' for none. */
  newUrl: string;
  docBytes: number;
}

/** A record that breaks the format, or a stream that ends inside of one. */
export class BadRecord extends LccError {
  /** Offset of the first bad byte from the beginning of the stream; where the stream ends, of the first byte
   * that is missing. */
  readonly offset: number;

  constructor(code: 'data.malformed' | 'data.cut', offset: number, what: string) {
    super(code, `byte ${offset}: ${what}`);
    this.offset = offset;
  }
}

/** A url as it can stand in a record: one that does not begin as urls do is told as `invalid:…`, a longer one
 * is cut. */
export function recordUrl(text: string): string {
  const cut = text.slice(0, MAX_RECORD_URL_BYTES);
  return badUrlAt(cut) < 0 ? cut : `invalid:${text}`.slice(0, MAX_RECORD_URL_BYTES);
}

/**
 * All of a record that stands before its document.
 * @throws RangeError for what the format has no place for: a bug of the caller
 */
export function formatRecordHead(record: SpiderRecord): Buffer {
  const { docId, success, http, durationMs, url, newUrl, docBytes } = record;
  for (const [name, value, max] of [
    ['docId', docId, MAX_U32],
    ['http', http, 0xff],
    ['docBytes', docBytes, MAX_U32],
    ['length of url', url.length, MAX_RECORD_URL_BYTES],
    ['length of newUrl', newUrl.length, MAX_RECORD_URL_BYTES],
  ] as const)
    if (!Number.isInteger(value) || value < 0 || value > max) throw new RangeError(`${name}: ${value}`);
  if (badUrlAt(url) >= 0 || (newUrl !== '' && badUrlAt(newUrl) >= 0))
    throw new RangeError(`no url: ${url} ${newUrl}`);
  if (NOT_A_BYTE.test(url) || NOT_A_BYTE.test(newUrl))
    throw new RangeError(`characters that are no bytes: ${url} ${newUrl}`);
  const head = Buffer.allocUnsafe(RECORD_HEAD_BYTES + url.length + newUrl.length);
  head.writeUInt32BE(docId, 0);
  head[4] = success ? 1 : 0;
  head[5] = reasonByte(record);
  head[6] = http;
  head[7] = 0;
  head.writeUInt32BE(Math.min(MAX_U32, Math.max(0, Math.round(durationMs))), 8);
  head.writeUInt16BE(url.length, 12);
  head.writeUInt16BE(newUrl.length, 14);
  head.writeUInt32BE(docBytes, 16);
  head.write(url, RECORD_HEAD_BYTES, 'latin1');
  head.write(newUrl, RECORD_HEAD_BYTES + url.length, 'latin1');
  return head;
}

/** Parts of a stream of records: a head, pieces of its document, the end of the record; again and again. */
export type RecordPart =
  /** @param offset of its first byte in the stream @param bytes as received */
  | { kind: 'head'; record: SpiderRecord; bytes: Buffer; offset: number }
  /** A view of what was pushed. */
  | { kind: 'body'; bytes: Buffer }
  | { kind: 'end' };

const END: RecordPart = { kind: 'end' };

/** Reads records out of bytes as they arrive; holds no document, and a head of 128 KB at most. */
export class RecordReader {
  readonly #maxDocBytes: number;
  readonly #limit: string;
  /** A head that has not come completely, as far as it has. */
  #held = Buffer.alloc(RECORD_HEAD_BYTES);
  #heldBytes = 0;
  /** Bytes of the document that are still to come; undefined: a head is next. */
  #docLeft: number | undefined;
  #offset = 0;
  #isBroken = false;

  /**
   * @param maxDocBytes a longer document is taken for damage
   * @param limit the same as the message that refuses has it
   */
  constructor(maxDocBytes = MAX_U32, limit = String(maxDocBytes)) {
    this.#maxDocBytes = maxDocBytes;
    this.#limit = limit;
  }

  /** Bytes read of the stream. */
  get offset(): number {
    return this.#offset;
  }

  /** True if a record has begun and not ended. */
  get isInside(): boolean {
    return this.#heldBytes > 0 || this.#docLeft !== undefined;
  }

  /**
   * Parts of the next bytes. All of them must be taken before more is pushed.
   * @throws BadRecord `data.malformed` after all that came before the bad byte; the reader is of no use then
   */
  *read(chunk: Buffer): Generator<RecordPart, void> {
    if (this.#isBroken) throw new Error('a broken stream of records is read on');
    for (let at = 0; at < chunk.length;) {
      if (this.#docLeft === undefined) {
        const beforeAt = at;
        const head = this.#head(chunk, at);
        at = head?.end ?? chunk.length;
        this.#offset += at - beforeAt;
        if (head === undefined) return;
        yield head.part;
        this.#docLeft = head.part.record.docBytes;
      } else {
        const bytes = chunk.subarray(at, at + this.#docLeft);
        at += bytes.length;
        this.#offset += bytes.length;
        this.#docLeft -= bytes.length;
        yield { kind: 'body', bytes };
      }
      if (this.#docLeft === 0) {
        this.#docLeft = undefined;
        yield END;
      }
    }
  }

  /** The stream has ended. @throws BadRecord `data.cut` when that was inside of a record */
  end(): void {
    if (!this.isInside) return;
    throw new BadRecord('data.cut', this.#offset, 'the stream ends inside of a record');
  }

  /** A head that begins in `chunk` or before, and the place after it; undefined when it is not complete. */
  #head(chunk: Buffer, at: number): { part: Extract<RecordPart, { kind: 'head' }>; end: number } | undefined {
    const start = this.#offset - this.#heldBytes;
    if (this.#heldBytes === 0 && chunk.length - at >= RECORD_HEAD_BYTES) {
      // The usual case: nothing is copied.
      const end = at + this.#fixed(chunk.subarray(at, at + RECORD_HEAD_BYTES), start);
      if (end <= chunk.length) return { part: this.#complete(chunk.subarray(at, end), start), end };
    }
    const fixedEnd = this.#hold(chunk, at, RECORD_HEAD_BYTES);
    if (this.#heldBytes < RECORD_HEAD_BYTES) return undefined;
    const headBytes = this.#fixed(this.#held.subarray(0, RECORD_HEAD_BYTES), start);
    const end = this.#hold(chunk, fixedEnd, headBytes);
    if (this.#heldBytes < headBytes) return undefined;
    const part = this.#complete(this.#held.subarray(0, headBytes), start);
    // The bytes of the head are given away.
    this.#held = Buffer.alloc(RECORD_HEAD_BYTES);
    this.#heldBytes = 0;
    return { part, end };
  }

  /** Has `size` bytes of a head held, as far as they are there. @returns the place after what was taken */
  #hold(chunk: Buffer, at: number, size: number): number {
    if (this.#held.length < size) {
      const larger = Buffer.allocUnsafe(size);
      this.#held.copy(larger, 0, 0, this.#heldBytes);
      this.#held = larger;
    }
    const taken = Math.min(Math.max(0, size - this.#heldBytes), chunk.length - at);
    chunk.copy(this.#held, this.#heldBytes, at, at + taken);
    this.#heldBytes += taken;
    return at + taken;
  }

  /** Checks the numbers of a head that begins at byte `start`. @returns its size with both urls */
  #fixed(head: Buffer, start: number): number {
    const success = head.readUInt8(4);
    const reason = head.readUInt8(5);
    const urlBytes = head.readUInt16BE(12);
    const docBytes = head.readUInt32BE(16);
    if (success > 1) throw this.#bad(start + 4, `success is ${success}, not 0 or 1`);
    if (readReasonByte(reason) === undefined)
      throw this.#bad(start + 5, `reason ${reason & 0x3f} is reserved`);
    if (head[7] !== 0) throw this.#bad(start + 7, `the padding is ${head[7]}, not 0`);
    if (urlBytes === 0) throw this.#bad(start + 12, 'there is no url');
    if (docBytes > this.#maxDocBytes)
      throw this.#bad(start + 16, `a document of ${docBytes} bytes: the limit is ${this.#limit}`);
    return RECORD_HEAD_BYTES + urlBytes + head.readUInt16BE(14);
  }

  #complete(bytes: Buffer, start: number): Extract<RecordPart, { kind: 'head' }> {
    const urlEnd = RECORD_HEAD_BYTES + bytes.readUInt16BE(12);
    const url = bytes.toString('latin1', RECORD_HEAD_BYTES, urlEnd);
    const newUrl = bytes.toString('latin1', urlEnd);
    const badAt = badUrlAt(url);
    if (badAt >= 0) throw this.#bad(start + RECORD_HEAD_BYTES + badAt, 'the url begins with no scheme');
    const badNewAt = newUrl === '' ? -1 : badUrlAt(newUrl);
    if (badNewAt >= 0) throw this.#bad(start + urlEnd + badNewAt, 'the new url begins with no scheme');
    const end = readReasonByte(bytes.readUInt8(5));
    if (end === undefined) throw new Error('checked before');
    const record: SpiderRecord = {
      docId: bytes.readUInt32BE(0),
      success: bytes[4] === 1,
      ...end,
      http: bytes.readUInt8(6),
      durationMs: bytes.readUInt32BE(8),
      url,
      newUrl,
      docBytes: bytes.readUInt32BE(16),
    };
    return { kind: 'head', record, bytes, offset: start };
  }

  #bad(offset: number, what: string): BadRecord {
    this.#isBroken = true;
    return new BadRecord('data.malformed', offset, what);
  }
}

/** A url of a record as text in ASCII: what is no printing character of that is percent-encoded. */
export function urlText(url: string): string {
  return url.replace(NOT_PRINTING, c => `%${c.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`);
}

const NOT_PRINTING = /[^!-~]/g;
const NOT_A_BYTE = /[^\0-\xff]/;
const SCHEME = /^[a-zA-Z][a-zA-Z0-9+.-]*/;

/** Where a url stops being one: the first character that a scheme does not have; its end where no colon
 * comes; -1 nowhere. */
function badUrlAt(url: string): number {
  const length = SCHEME.exec(url)?.[0].length ?? 0;
  return length > 0 && url[length] === ':' ? -1 : length;
}
