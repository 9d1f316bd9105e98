/**
 * The lines between a spider and a URL server (lcc-spider(5)):
 *
 *     spider → server    GET 20                        room for 20 more urls
 *                        WORKING t1                    the transaction is still under way
 *                        DONE t1                       it has ended, whatever came of it
 *     server → spider    t1 17 - www.example.org http://www.example.org/
 *     either             ERR text                      for a person to read; never answered
 *
 * One blank between two words; a line ends in LF, and a CR before it is passed over. What is wrong with a
 * line is a value here, and no error: a bad line costs nothing but itself.
 */
import { isIP, isIPv6 } from 'node:net';
import { ByteLines } from '../lib/byte-lines.js';
import { shownBytes } from '../lib/shown-bytes.js';

/** A line that a spider sends, without its end. */
export const MAX_SPIDER_LINE_BYTES = 8 * 1024;
/** A line that a URL server sends, without its end. */
export const MAX_SERVER_LINE_BYTES = 70_000;
/** Urls that a GET asks for, and that a connection may have asked for and not got. */
export const MAX_CREDIT = 65_535;
export const MAX_DOC_ID = 0xffff_ffff;
export const MAX_TRANS_ID_BYTES = 64;
const MAX_HOST_NAME_BYTES = 255;
/** Longest text of an ERR that we send. */
const MAX_ERR_LENGTH = 400;

/** Lines that a URL server reads. */
export type SpiderLine =
  | { kind: 'get'; count: number }
  | { kind: 'working' | 'done'; transId: string }
  | { kind: 'err'; text: string }
  | { kind: 'bad'; why: string };

/** A url on its way to a spider. */
export interface UrlLine {
  transId: string;
  docId: number;
  /** The address to connect to; undefined: the spider looks it up. */
  hostIp: string | undefined;
  /** For information: the url says what is asked for. */
  hostName: string;
  /** Printable ASCII without blanks, absolute; a spider checks the scheme and all else. */
  url: string;
}

/** Lines that a spider reads. */
export type ServerLine =
  | ({ kind: 'url' } & UrlLine)
  | { kind: 'err'; text: string }
  /** A bad line gets an ERR, and with both names a record (reason 50) and a DONE as well. `url` is all that
   * came after the fourth blank, '' for nothing; `shown` is the beginning of the line, for people. */
  | { kind: 'bad'; why: string; shown: string; transId?: string; docId?: number; url: string };

const TRANS_ID = /^[\x21-\x7e]{1,64}$/;
const WORD = /^[\x21-\x7e]+$/;
/** Four words, each with the blank after it; then what stands for a url. */
const BEFORE_URL = /^(?:[^ ]* ){4}/;
const DECIMAL = /^\d{1,10}$/;
/** Letters, digits, hyphens, and underscores, which names of hosts have all the same. */
const HOST_NAME = /^(?:[a-z\d_](?:[\w-]{0,61}[a-z\d_])?\.)*[a-z\d_](?:[\w-]{0,61}[a-z\d_])?\.?$/i;
const UNPRINTABLE = /[^\x20-\x7e]/g;

/** Lines of a spider out of its bytes. */
export class SpiderLineReader {
  readonly #lines = new ByteLines(MAX_SPIDER_LINE_BYTES);

  *read(bytes: Buffer): Generator<SpiderLine, void> {
    for (const line of this.#lines.read(bytes)) yield parseSpiderLine(line);
  }
}

/** Lines of a URL server out of its bytes. */
export class ServerLineReader {
  readonly #lines = new ByteLines(MAX_SERVER_LINE_BYTES);

  *read(bytes: Buffer): Generator<ServerLine, void> {
    for (const line of this.#lines.read(bytes)) yield parseServerLine(line);
  }
}

/** @param line without its end, a character a byte; undefined: it was too long */
export function parseSpiderLine(line: string | undefined): SpiderLine {
  const bad = (why: string): SpiderLine => ({ kind: 'bad', why });
  if (line === undefined) return bad(`a line of more than ${MAX_SPIDER_LINE_BYTES} bytes`);
  const [word = '', ...operands] = line.split(' ');
  if (word === 'ERR') return { kind: 'err', text: printable(line.slice(4)) };
  const [operand = ''] = operands;
  switch (word) {
    case 'GET': {
      if (operands.length !== 1) return bad('write GET and a number');
      const count = DECIMAL.test(operand) ? Number(operand) : 0;
      return count >= 1 && count <= MAX_CREDIT
        ? { kind: 'get', count }
        : bad(`GET ${printable(operand)}: the number is 1 to ${MAX_CREDIT}`);
    }
    case 'WORKING':
    case 'DONE':
      return operands.length === 1 && TRANS_ID.test(operand)
        ? { kind: word === 'DONE' ? 'done' : 'working', transId: operand }
        : bad(`write ${word} and a transaction`);
    default:
      return bad(line === '' ? 'an empty line' : `${printable(word)}: write GET, WORKING, DONE or ERR`);
  }
}

/** @param line without its end, a character a byte; undefined: it was too long */
export function parseServerLine(line: string | undefined): ServerLine {
  if (line === undefined)
    return { kind: 'bad', why: `a line of more than ${MAX_SERVER_LINE_BYTES} bytes`, shown: '', url: '' };
  const shown = shownBytes(line);
  const [transId = '', docText = '', hostIp = '', hostName = ''] = line.split(' ', 4);
  const before = BEFORE_URL.exec(line)?.[0];
  const given = before === undefined ? '' : line.slice(before.length);
  if (transId === 'ERR') return { kind: 'err', text: printable(line.slice(4)) };
  if (!TRANS_ID.test(transId)) return { kind: 'bad', why: 'no transaction', shown, url: '' };
  if (!DECIMAL.test(docText) || Number(docText) > MAX_DOC_ID)
    return { kind: 'bad', why: `the document's number is 0 to ${MAX_DOC_ID}`, shown, transId, url: '' };
  const docId = Number(docText);
  const hasHost = isHostName(hostName);
  const url = hasHost && given.startsWith('/') ? `http://${bracketed(hostName)}${given}` : given;
  const bad = (why: string): ServerLine => ({ kind: 'bad', why, shown, transId, docId, url });
  if (given === '' || given.includes(' ')) return bad('write TRANS_ID DOC_ID HOST_IP HOST_NAME URL');
  if (!isHostIp(hostIp)) return bad(`${printable(hostIp)}: not an address`);
  if (!hasHost) return bad(`${printable(hostName)}: not a host`);
  if (!WORD.test(given)) return bad('the url has bytes that must be percent-encoded');
  return {
    kind: 'url',
    transId,
    docId,
    hostIp: UNKNOWN_IPS.includes(hostIp) ? undefined : hostIp,
    hostName,
    url,
  };
}

export function formatGet(count: number): string {
  return `GET ${count}\n`;
}

export function formatWorking(transId: string): string {
  return `WORKING ${transId}\n`;
}

export function formatDone(transId: string): string {
  return `DONE ${transId}\n`;
}

/** @param text what is wrong; cut where it is long */
export function formatErr(text: string): string {
  return `ERR ${printable(text)}\n`;
}

/** A url as it goes out: its values must be as `parseServerLine` takes them. */
export function formatUrl({ transId, docId, hostIp, hostName, url }: UrlLine): string {
  return `${transId} ${docId} ${hostIp ?? '-'} ${hostName} ${url}\n`;
}

/** The host of a url as HOST_NAME has it: an IPv6 address stands without brackets. */
export function hostNameOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '');
}

/** True if a line may have it as HOST_NAME: a name, or an address. */
export function isHostName(text: string): boolean {
  return text.length <= MAX_HOST_NAME_BYTES && (isHostIp(text) ? text !== '-' : HOST_NAME.test(text));
}

/** Addresses with which the spider looks the address up. */
const UNKNOWN_IPS: readonly string[] = ['-', '0.0.0.0'];

function isHostIp(text: string): boolean {
  // A zone means something on one machine only.
  return UNKNOWN_IPS.includes(text) || (isIP(text) !== 0 && !text.includes('%'));
}

function bracketed(host: string): string {
  return isIPv6(host) ? `[${host}]` : host;
}

/** One line of printable characters, for a person. */
function printable(text: string): string {
  const shown = text.length > MAX_ERR_LENGTH ? `${text.slice(0, MAX_ERR_LENGTH)}…` : text;
  return shown.replace('…', '...').replace(UNPRINTABLE, '?');
}
