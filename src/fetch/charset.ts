/** The encoding that a server says a text is in. */
import { MIMEType } from 'node:util';
import { charsetNamed } from '../lib/charset.js';

/** Encodings of types that were read lately: types repeat. */
const known = new Map<string, string | undefined>();
const MAX_KNOWN = 100;
/** Longer ones are nothing but hostile. */
const MAX_LENGTH = 1000;

/** `windows-1252` of `text/html; charset="ISO-8859-1"`; undefined when it names none that is known. */
export function charsetOf(contentType: string | undefined): string | undefined {
  // Most say nothing of it.
  if (contentType === undefined || contentType.length > MAX_LENGTH || !contentType.includes(';'))
    return undefined;
  if (!known.has(contentType)) {
    if (known.size >= MAX_KNOWN) known.clear();
    known.set(contentType, readCharset(contentType));
  }
  return known.get(contentType);
}

function readCharset(contentType: string): string | undefined {
  try {
    const label = new MIMEType(contentType).params.get('charset');
    return label === null ? undefined : charsetNamed(label);
  } catch {
    // Not a media type at all.
    return undefined;
  }
}
