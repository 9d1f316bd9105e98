/**
 * Bytes of a stored document as text, in the encoding that the standards of the web give it
 * (docs/design/text.md): its byte order mark, what the server said, what it declares itself, else what it
 * looks like.
 */
import { isUtf8 } from 'node:buffer';
import { getBOMEncoding, TextDecoder as StandardDecoder } from '@exodus/bytes/encoding.js';
import sniffHtml from 'html-encoding-sniffer';
import { charsetNamed } from '../lib/charset.js';
import { detectCharset } from './detect.js';

export interface Decoded {
  text: string;
  /** By its name in the Encoding Standard: `utf-8`, `windows-1252`, `shift_jis`. */
  charset: string;
}

/** A document of which little is needed. */
export interface Raw extends Decoded {
  /** True if each character of `text` is a byte of UTF-8 (`ofBytes`). */
  isBytes: boolean;
}

/** Facts of a document besides its bytes. */
export interface Declared {
  /** True if it can name its encoding itself. */
  markup: 'html' | 'xml' | undefined;
  /** The name of the encoding that the server said (lib/charset.ts). */
  charset?: string | undefined;
}

/** How far a declaration after the 1024 bytes of the standard is looked for: browsers meet it as they read
 * on. */
const LATE_BYTES = 64 * 1024;
/** Comments, scripts and styles: what looks like a tag in them is none. */
const NO_TAGS = /<!--(?:-?>|.*?(?:-->|$))|<(script|style)[\s>].*?(?:<\/\1|$)/gis;
const XML_DECLARATION = /^<\?xml\s[^>]*?encoding\s*=\s*["']([\w.:-]+)["']/;
/** Bytes in which the standard looks for a declaration. */
const DECLARATION_BYTES = 1024;
/** A shift of ISO-2022-JP: its bytes are those of ASCII, and valid UTF-8. */
const SHIFT = Buffer.from('\x1b$', 'latin1');

export function decodeDocument(bytes: Uint8Array, declared: Declared): Decoded {
  return decodeAs(charsetOf(bytes, declared), bytes);
}

/** The document without the work of decoding where it is in UTF-8, in which what is ASCII stands for itself:
 * markup. */
export function rawDocument(bytes: Uint8Array, declared: Declared): Raw {
  const charset = charsetOf(bytes, declared);
  if (charset === 'utf-8') return { text: latin1(bytes), charset, isBytes: true };
  return { ...decodeAs(charset, bytes), isBytes: false };
}

/** The words of a part of such a text, where its characters are bytes. */
export function ofBytes(text: string): string {
  // oxlint-disable-next-line no-control-regex -- all of ASCII
  return /[^\0-\x7f]/.test(text) ? Buffer.from(text, 'latin1').toString('utf8') : text;
}

function charsetOf(bytes: Uint8Array, { markup, charset }: Declared): string {
  const mark = getBOMEncoding(bytes);
  if (mark !== null) return mark;
  let mostly: boolean | undefined;
  // UTF-8 is named by many documents that are in another encoding, and no other one is valid UTF-8 by chance.
  const isMostly = () => (mostly ??= isMostlyUtf8(bytes));
  const declared = () => (markup === undefined ? undefined : declaredIn(bytes, markup));
  for (const named of [() => charset, declared]) {
    const name = named();
    if (name === undefined) continue;
    if (name !== 'utf-8' || isMostly()) return name;
  }
  const isShifted = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).includes(SHIFT);
  if (!isShifted && isMostly()) return 'utf-8';
  return detectCharset(bytes) ?? (isMostly() ? 'utf-8' : 'windows-1252');
}

function decodeAs(charset: string, bytes: Uint8Array): Decoded {
  // An encoding that can be used against its reader is read as nothing.
  if (charset === 'replacement') return { text: bytes.length > 0 ? '\ufffd' : '', charset };
  // Node's own decoder is faster; it is right about this one alone.
  const Decoder = charset === 'utf-8' ? TextDecoder : StandardDecoder;
  return { text: new Decoder(charset).decode(bytes), charset };
}

/**
 * True if it is UTF-8: a page cut inside a character is, one in another encoding makes nothing but errors.
 */
function isMostlyUtf8(bytes: Uint8Array): boolean {
  if (isUtf8(bytes)) return true;
  const decoder = new TextDecoder();
  let balance = 0;
  // The text of a large document that is not UTF-8 takes memory twice as large as it is.
  for (let from = 0; from < bytes.length; from += LATE_BYTES)
    balance += balanceOf(decoder.decode(bytes.subarray(from, from + LATE_BYTES), { stream: true }));
  return balance + balanceOf(decoder.decode()) > 0;
}

/** Letters beyond ASCII, less those that are none. */
function balanceOf(text: string): number {
  let balance = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit > 0x7f) balance += unit === 0xfffd ? -1 : 1;
  }
  return balance;
}

function declaredIn(bytes: Uint8Array, markup: 'html' | 'xml'): string | undefined {
  const label =
    (markup === 'html' ? labelIn(Buffer.from(withoutScripts(bytes, DECLARATION_BYTES), 'latin1')) : '') ||
    xmlDeclaration(bytes) ||
    lateMeta(bytes);
  const name = charsetNamed(label);
  // A document that can be read far enough to say utf-16 is not in it.
  if (name?.startsWith('utf-16') === true) return 'utf-8';
  return name === 'x-user-defined' ? 'windows-1252' : name;
}

function xmlDeclaration(bytes: Uint8Array): string {
  return XML_DECLARATION.exec(latin1(bytes, DECLARATION_BYTES))?.[1] ?? '';
}

function lateMeta(bytes: Uint8Array): string {
  const late = Buffer.from(withoutScripts(bytes, LATE_BYTES).toLowerCase(), 'latin1');
  for (let at = late.indexOf('<meta'); at >= 0; at = late.indexOf('<meta', at + 1)) {
    const label = labelIn(late.subarray(at, late.indexOf('>', at) + 1));
    if (label !== '') return label;
  }
  return '';
}

function labelIn(html: Uint8Array): string {
  return sniffHtml(html, { defaultEncoding: '' });
}

function withoutScripts(bytes: Uint8Array, most: number): string {
  return latin1(bytes, most).replace(NO_TAGS, '');
}

/** A character a byte, of `most` bytes. */
export function latin1(bytes: Uint8Array, most = Infinity): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, most)).toString('latin1');
}
