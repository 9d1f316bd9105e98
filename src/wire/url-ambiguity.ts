/** URLs of which parsers, proxies and servers may disagree where they lead. They are refused wherever they
 * seem to point: what is checked here and what is fetched in the end must be the same place. */

/** C0 and DEL: URL parsers drop some of them silently. */
const CONTROL_CHARACTER = /[\u0000-\u001f\u007f]/;
const OUTER_BLANK = /^ | $/;
const ENCODED_SLASH = /%2f/i;
const ENCODED_NUL = /%00/;
/** Up to a `;` (path parameters) or a NUL: servers have cut names at both. */
const DOT_SEGMENT = /^\.\.?(?:[;\u0000].*)?$/s;
/** Characters that servers have been seen to drop from a name: blanks, control and format characters, bytes
 * that are no text. */
const DROPPED = /[\p{Z}\p{C}\ufffd]/gu;
const DROPPED_BUT_NUL = /(?!\u0000)[\p{Z}\p{C}\ufffd]/gu;
const NOT_ASCII = /[\u0080-\uffff]/;
const SLASHES = /[/\\]/;
/** Nobody encodes a name more often than this in earnest. */
const MOST_DECODINGS = 8;

/** Why such a URL is refused, as a sentence about it; undefined where there is no doubt. */
export function ambiguityOf(url: string): string | undefined {
  if (CONTROL_CHARACTER.test(url)) return 'has a control character';
  if (OUTER_BLANK.test(url)) return 'begins or ends with a blank';
  if (url.includes('\\'))
    return 'has a backslash, which some read as a slash; write %5C where a name has one';
  const written = /^https?:\/\/([^/?#]*)([^?#]*)/i.exec(url);
  const [, authority = '', path = ''] = written ?? [];
  if (authority === '') return 'is no http or https URL with a host';
  if (authority.includes('@')) return 'has a user name before its host';
  if (ENCODED_SLASH.test(path)) return 'has %2F in its path: some servers read that as a slash';
  if (ENCODED_NUL.test(path)) return 'has %00 in its path: some servers end the name there';
  if (hasDotSegment(path)) return 'has a segment . or .., or one that some servers read as that';
  return URL.canParse(url) ? undefined : 'cannot be read: its host or its port is malformed';
}

/**
 * True if a server may find a dot segment, however it reads the path: decoded once or over and over,
 * backslashes taken for slashes, overlong UTF-8 for what it would spell, wide dots for dots, blanks and
 * control characters dropped. Whatever else a name holds (a file may well be called `a\b` or have a newline
 * in its name) cannot lead out of a directory.
 */
function hasDotSegment(path: string): boolean {
  // A character is a byte from here on.
  let reading = Buffer.from(path).toString('latin1');
  for (let decodings = 0; decodings <= MOST_DECODINGS; decodings++) {
    if (readings(reading).some(one => one.split(SLASHES).some(isDotSegment))) return true;
    const decoded = decodedOnce(reading);
    if (decoded === reading) return false;
    reading = decoded;
  }
  return true;
}

/** The bytes as they are, and as the text that they are. */
function readings(bytes: string): string[] {
  if (!NOT_ASCII.test(bytes)) return [bytes];
  return [bytes, Buffer.from(bytes, 'latin1').toString().normalize('NFKC')];
}

function isDotSegment(segment: string): boolean {
  if (!segment.includes('.')) return false;
  return (
    DOT_SEGMENT.test(segment) ||
    DOT_SEGMENT.test(segment.replace(DROPPED, '')) ||
    DOT_SEGMENT.test(segment.replace(DROPPED_BUT_NUL, ''))
  );
}

function decodedOnce(bytes: string): string {
  return bytes
    .replace(/%[0-9a-f]{2}/gi, code => String.fromCharCode(Number.parseInt(code.slice(1), 16)))
    .replace(/%u[0-9a-f]{4}/gi, code =>
      Buffer.from(String.fromCharCode(Number.parseInt(code.slice(2), 16))).toString('latin1'),
    )
    .replace(
      /(?:[\u00c0\u00c1]|\u00e0[\u0080\u0081]|\u00f0\u0080[\u0080\u0081])[\u0080-\u00bf]/g,
      overlong => {
        const [lead, trail] = [
          overlong.charCodeAt(overlong.length - 2),
          overlong.charCodeAt(overlong.length - 1),
        ];
        return String.fromCharCode(((lead & 1) << 6) | (trail & 0x3f));
      },
    );
}
