/**
 * The `<url>` container: the one record every tool reads and writes (lcc(7), "The url element").
 *
 * A record holds attribute values as text, unescaped, under their canonical names. Whether the values make
 * sense is a separate question, answered by `problemOf` (url-check.ts); a filter passes on what it does not
 * understand.
 */
import { escapeAttribute, escapeText } from '../lib/xml/escape.js';

/** Attributes a provider may give, in the order in which they are printed. `curl mimetype` first: they are
 * the key. */
export const URL_ATTRIBUTES = [
  'curl',
  'mimetype',
  'subtype',
  'burl',
  'furl',
  'md5',
  'len',
  'mtime',
  'op',
  'tod',
  'ifabsent',
  'outofroot',
  'hops',
] as const;
type UrlAttribute = (typeof URL_ATTRIBUTES)[number];

/** Attributes results carry besides, in the order in which they are printed after the provider's. */
export const RESULT_ATTRIBUTES = [
  'pid',
  'code',
  'seq',
  'http_charset',
  'fetched_time',
  'fetched_machineid',
  'fetched_fileid',
  'file',
  'status',
] as const;
type ResultAttribute = (typeof RESULT_ATTRIBUTES)[number];

/** The mimetype of a url that is of whatever type its server says. */
export const AS_SERVED = '*/*';

/** Names of the protocol before 2002, read as their successors. */
export const OLD_ATTRIBUTE_NAMES: Readonly<Record<string, UrlAttribute>> = {
  c: 'curl',
  b: 'burl',
  f: 'furl',
};

/** One url. `curl` and `mimetype` are '' when they were absent. Unknown attributes live in `extra`, in the
 * order read. `text` is the element's content: the message of an error. */
export interface UrlRecord extends Partial<
  Record<Exclude<UrlAttribute, 'curl' | 'mimetype'> | ResultAttribute, string>
> {
  curl: string;
  mimetype: string;
  extra?: Record<string, string>;
  text?: string;
}

/** True if the record asks for removal: `op="delete"`, or the documents' empty fetch URL. */
export function isDelete(record: UrlRecord): boolean {
  return record.op === 'delete' || record.furl === '';
}

const PRINTED = [...URL_ATTRIBUTES, ...RESULT_ATTRIBUTES] as const;

/** The record as one line with its newline: canonical order, only what is there. */
export function formatUrl(record: UrlRecord): string {
  let line = '<url';
  for (const name of PRINTED) {
    const value = record[name];
    if (value !== undefined && (value !== '' || (name !== 'curl' && name !== 'mimetype'))) {
      line += ` ${name}="${escapeAttribute(value)}"`;
    }
  }
  if (record.extra !== undefined) {
    for (const name in record.extra) line += ` ${name}="${escapeAttribute(record.extra[name] ?? '')}"`;
  }
  if (record.text === undefined) return `${line}/>\n`;
  return `${line}>${escapeText(record.text)}</url>\n`;
}
