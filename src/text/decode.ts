/**
 * Bytes of a stored document as text, in the encoding of its byte order mark, else the one it names itself, else UTF-8
 * where it is valid, else windows-1252, which gives every byte a meaning. What a web server said of it is not kept.
 */

/** How far a document's own declaration is looked for: browsers that look no further than 1024 bytes misread many. */
const PRESCAN_BYTES = 8192;
const COMMENTS = /<!--.*?(?:-->|$)/gs;
const DECLARED =
  /<meta\s[^>]*?charset\s*=\s*["']?\s*([\w.:-]+)|^\s*<\?xml\s[^>]*?encoding\s*=\s*["']([\w.:-]+)/i;

/** 0x80 to 0x9f in windows-1252, which the decoder of Node 20 takes for Latin-1 (nodejs/node issue 56542). */
const WINDOWS_C1 = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ';

export interface Decoded {
  text: string;
  /** By its name in the Encoding Standard: `utf-8`, `windows-1252`, `shift_jis`. */
  charset: string;
}

/** @param markup whether the document can declare its encoding (HTML, XML) */
export function decodeDocument(bytes: Uint8Array, markup: boolean): Decoded {
  const named = decoderOf(byteOrderMark(bytes)) ?? (markup ? decoderOf(declared(bytes)) : undefined);
  // Bytes that are not in the encoding named become U+FFFD, as browsers have it; UTF-8 is named by many that are not.
  if (named !== undefined && named.encoding !== 'utf-8' && named.encoding !== 'windows-1252')
    return { text: named.decode(bytes), charset: named.encoding };
  const utf8 = named?.encoding === 'windows-1252' ? undefined : new TextDecoder().decode(bytes);
  if (utf8 !== undefined && isMostly(utf8)) return { text: utf8, charset: 'utf-8' };
  return { text: decodeWindows(bytes), charset: 'windows-1252' };
}

function decodeWindows(bytes: Uint8Array): string {
  const text = new TextDecoder('windows-1252').decode(bytes);
  return text.replace(/[\x80-\x9f]/g, character => WINDOWS_C1.charAt(character.charCodeAt(0) - 0x80));
}

/** As `decodeDocument`, the text alone. */
export function decodeText(bytes: Uint8Array, markup: boolean): string {
  return decodeDocument(bytes, markup).text;
}

/** Whether what was read as UTF-8 is: a page cut inside a character is, one in another encoding makes nothing but errors. */
function isMostly(text: string): boolean {
  if (!text.includes('\ufffd')) return true;
  let balance = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit > 0x7f) balance += unit === 0xfffd ? -1 : 1;
  }
  return balance > 0;
}

/** undefined for an encoding nobody knows. */
function decoderOf(label: string | undefined): InstanceType<typeof TextDecoder> | undefined {
  if (label === undefined) return undefined;
  try {
    return new TextDecoder(label);
  } catch {
    return undefined;
  }
}

function byteOrderMark(bytes: Uint8Array): string | undefined {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return 'utf-8';
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be';
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  return undefined;
}

function declared(bytes: Uint8Array): string | undefined {
  const start = new TextDecoder('latin1').decode(bytes.subarray(0, PRESCAN_BYTES)).replace(COMMENTS, '');
  const found = DECLARED.exec(start);
  const label = (found?.[1] ?? found?.[2])?.toLowerCase();
  // A document that can be read far enough to say utf-16 is not in it.
  return label?.startsWith('utf-16') ? 'utf-8' : label;
}
