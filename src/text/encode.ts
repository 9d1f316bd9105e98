/** Documents for programs that know one byte a character. */

/** How far a declaration is looked for: parsers do not believe one that comes later. */
const HEAD_LENGTH = 64 * 1024;
/** The declaration of an encoding, within this distance after the beginning of its tag. */
const DECLARATION =
  /(<meta\s[^>]{0,1000}?charset\s*=\s*["']?\s*|<\?xml\s[^>]{0,200}?encoding\s*=\s*["'])[\w.:-]+/gi;
// Parsers stop at them, or at the first of them.
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\ufdd0-\ufdef\ufffe\uffff]/g;

/** They show only where a line is broken, and would part words. */
const SOFT_HYPHENS = /\u00ad|&shy;?|&#(?:0*173|x0*ad);?/gi;

/** HTML in ASCII, in pieces: what is beyond as numeric references, what it declares itself to be set right,
 * no control characters. */
export function asciiHtml(document: string): Buffer[] {
  const head = document.slice(0, HEAD_LENGTH).replace(DECLARATION, '$1us-ascii');
  const text = (head + document.slice(HEAD_LENGTH)).replace(SOFT_HYPHENS, '').replace(CONTROLS, ' ');
  return asciiPieces(text);
}

/** Replacing takes memory for each match: a long text is gone through in pieces. */
const PIECE = 16 * 1024;

/** `asciiText`, in pieces. */
export function asciiPieces(text: string): Buffer[] {
  const pieces: Buffer[] = [];
  for (let from = 0, to = 0; from < text.length; from = to) {
    to = from + PIECE;
    if (isHighSurrogate(text.charCodeAt(to - 1))) to++;
    pieces.push(Buffer.from(asciiText(text.slice(from, to)), 'latin1'));
  }
  return pieces;
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00;
}

/** Everything beyond ASCII as numeric references; what is no character as U+FFFD. */
export function asciiText(text: string): string {
  return text.replace(/[^\p{ASCII}]/gu, character => {
    const code = character.codePointAt(0) ?? 0xfffd;
    return `&#${code >= 0xd800 && code <= 0xdfff ? 0xfffd : code};`;
  });
}

/** Plain text in Latin-1: letters that it has not become those they are made of, else a question mark. */
export function latin1Text(text: string): Buffer {
  const plain = text
    .normalize('NFC')
    .replace(CONTROLS, ' ')
    .replace(/[\u0100-\u{10ffff}]/gu, character => {
      const composed = PLAIN[character] ?? character.normalize('NFKD').replace(/\p{M}/gu, '');
      return composed !== '' && !/[\u0100-\u{10ffff}]/u.test(composed) ? composed : '?';
    });
  return Buffer.from(plain, 'latin1');
}

/** Characters that are common in text and not taken apart by Unicode. */
const PLAIN: Readonly<Record<string, string>> = {
  Œ: 'OE',
  œ: 'oe',
  Ł: 'L',
  ł: 'l',
  ı: 'i',
  '‘': "'",
  '’': "'",
  '‚': "'",
  '“': '"',
  '”': '"',
  '„': '"',
  '–': '-',
  '—': '-',
  '−': '-',
  '€': 'EUR',
};
