/** Content as base64 (RFC 4648, section 4), without line breaks, in pieces. */
import type { StoredContent } from '../stored-content.js';

export function* base64Of(content: StoredContent): Generator<string, void> {
  // Three bytes make four characters: what is left of a piece begins the next one.
  let rest = Buffer.alloc(0);
  for (const chunk of content.chunks()) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const whole = bytes.length - (bytes.length % 3);
    yield bytes.toString('base64', 0, whole);
    rest = Buffer.from(bytes.subarray(whole));
  }
  if (rest.length > 0) yield rest.toString('base64');
}
