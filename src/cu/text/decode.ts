/** Bytes of a stored document as text, in the encoding it names itself, else UTF-8 where it is valid, else Latin-1. */

/** How far a document's own declaration is looked for (the HTML standard asks for the first 1024 bytes). */
const PRESCAN_BYTES = 1024;
const DECLARED =
  /<meta\s[^>]*?charset\s*=\s*["']?\s*([\w.:-]+)|^\s*<\?xml\s[^>]*?encoding\s*=\s*["']([\w.:-]+)/i;

/** @param markup whether the document can declare its encoding (HTML, XML) */
export function decodeText(bytes: Uint8Array, markup: boolean): string {
  const label = byteOrderMark(bytes) ?? (markup ? declared(bytes) : undefined) ?? 'utf-8';
  try {
    return new TextDecoder(label, { fatal: true }).decode(bytes);
  } catch {
    // An encoding nobody knows, or bytes that are not in the one named: every byte means something in Latin-1.
    return new TextDecoder('latin1').decode(bytes);
  }
}

function byteOrderMark(bytes: Uint8Array): string | undefined {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return 'utf-8';
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be';
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  return undefined;
}

function declared(bytes: Uint8Array): string | undefined {
  const found = DECLARED.exec(new TextDecoder('latin1').decode(bytes.subarray(0, PRESCAN_BYTES)));
  const label = (found?.[1] ?? found?.[2])?.toLowerCase();
  // A document that can be read far enough to say utf-16 is not in it.
  return label?.startsWith('utf-16') ? 'utf-8' : label;
}
