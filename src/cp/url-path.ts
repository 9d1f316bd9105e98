/** File names as URL paths. A name is a string of bytes (here: one character a byte, latin1), so it is
 * encoded byte for byte and any name survives: decoding the percent escapes gives exactly the bytes back. */

// pchar of RFC 3986, section 3.3, and the slash. A "%" in a name is a byte like any other and is escaped.
const UNSAFE = /[^A-Za-z0-9\-._~!$&'()*+,;=:@/]/;
const UNSAFE_ALL = /[^A-Za-z0-9\-._~!$&'()*+,;=:@/]/g;
/** Nearly every name: nothing in it is special in a path or in an attribute of XML. */
const PLAIN = /^[A-Za-z0-9\-._~!$'()*+,;=@/]*$/;
const ESCAPES = Array.from(
  { length: 256 },
  (_, byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`,
);

/** The path of a latin1 name: relative, without scheme, so a colon in its first segment is escaped too
 * (section 4.2). */
export function encodePath(name: string): string {
  const path = UNSAFE.test(name) ? name.replace(UNSAFE_ALL, byte => ESCAPES[byte.charCodeAt(0)]!) : name;
  const colon = path.indexOf(':');
  if (colon < 0) return path;
  const slash = path.indexOf('/');
  const first = slash < 0 ? path.length : slash;
  return colon > first ? path : path.slice(0, first).replaceAll(':', '%3A') + path.slice(first);
}

/** A latin1 name as people can read it on one line of a terminal. */
export function displayName(name: string): string {
  const text = Buffer.from(name, 'latin1').toString('utf8');
  return /[\u0000-\u001f\u007f-\u009f\ufffd\u2028\u2029\u202a-\u202e]/.test(text) ? encodePath(name) : text;
}

/** `encodePath`, escaped for an attribute of XML. */
export function encodePathForXml(name: string): string {
  return PLAIN.test(name) ? name : encodePath(name).replaceAll('&', '&amp;');
}
