/** From XML events to records: `<url …/>`, and `<url …>text</url>`. */
import { escapeText } from '../lib/xml/escape.js';
import type { Attributes } from '../lib/xml/types.js';
import { canonicalMtime } from './mtime.js';
import { localName } from './xml-prefix.js';
import { OLD_ATTRIBUTE_NAMES, RESULT_ATTRIBUTES, URL_ATTRIBUTES, type UrlRecord } from './url.js';

const KNOWN: ReadonlySet<string> = new Set<string>([...URL_ATTRIBUTES, ...RESULT_ATTRIBUTES]);
const SUBTYPE = /^[^:\s]+:./s;
const UPPER_CASE = /[A-Z]/;
const LEADING_ZEROS = /^0+(?=\d)/;

/** True if an element of this name is a url container. */
export function isUrlTag(name: string): boolean {
  return localName(name) === 'url';
}

/**
 * The record of a url element's attributes, which it may take over as they are. Old names are read as their
 * successors (a successor beside them wins), a subtype not of the form `type:value` is blanked, md5 becomes
 * lower case, len loses leading zeros, mtime takes its printed form. Values that make no sense stay, for
 * url-check.ts to name.
 */
export function recordOf(attributes: Attributes): UrlRecord {
  let record = attributes as unknown as UrlRecord;
  for (const name in attributes) {
    if (!KNOWN.has(name)) {
      record = sorted(attributes);
      break;
    }
  }
  record.curl ??= '';
  record.mimetype ??= '';
  const { subtype, md5, len, mtime } = record;
  if (subtype !== undefined && subtype !== '' && !SUBTYPE.test(subtype)) record.subtype = '';
  if (md5 !== undefined && UPPER_CASE.test(md5)) record.md5 = md5.toLowerCase();
  if (len !== undefined && len.length > 1 && len.startsWith('0')) record.len = len.replace(LEADING_ZEROS, '');
  if (mtime !== undefined) record.mtime = canonicalMtime(mtime);
  return record;
}

/** Old names translated, unknown ones put aside. */
function sorted(attributes: Attributes): UrlRecord {
  const record: Record<string, string> = {};
  const extra: [string, string][] = [];
  for (const name of Object.keys(attributes)) {
    const value = attributes[name] ?? '';
    const successor = Object.hasOwn(OLD_ATTRIBUTE_NAMES, name) ? OLD_ATTRIBUTE_NAMES[name] : undefined;
    if (successor !== undefined) {
      if (attributes[successor] === undefined) record[successor] = value;
    } else if (KNOWN.has(name)) {
      record[name] = value;
    } else {
      extra.push([name, value]);
    }
  }
  const sortedRecord = record as unknown as UrlRecord;
  if (extra.length > 0) sortedRecord.extra = Object.fromEntries(extra);
  return sortedRecord;
}

/** A record and the markup it was read from. */
interface ReadUrl {
  record: UrlRecord;
  raw: string;
}

/** Puts `<url …>text</url>` together. It is `open` between the start tag and the end tag. */
export class UrlAssembler {
  #record: UrlRecord | undefined;
  #text = '';
  #raw = '';

  get isOpen(): boolean {
    return this.#record !== undefined;
  }

  /** The start tag of a url that has content. */
  open(attributes: Attributes, raw: string): void {
    this.#record = recordOf(attributes);
    this.#raw = raw;
    this.#text = '';
  }

  text(text: string): void {
    this.#text += text;
  }

  /** The end tag. @param name as it stood in the start tag */
  close(name: string): ReadUrl {
    const record = this.#record;
    if (record === undefined) throw new Error('no url is open');
    this.#record = undefined;
    if (this.#text.trim() !== '') record.text = this.#text;
    return { record, raw: `${this.#raw}${escapeText(this.#text)}</${name}>` };
  }
}
