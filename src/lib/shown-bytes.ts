/** Bytes of a peer, for the log and its reader. */

/**
 * The beginning of it in printable ASCII; every other byte as `\xNN`, a backslash too, and `...` where it is
 * cut.
 * @param bytes a character each
 */
export function shownBytes(bytes: string, maxBytes = 80): string {
  const begun = bytes
    .slice(0, maxBytes)
    .replace(/[^\x20-\x5b\x5d-\x7e]/g, c => `\\x${c.charCodeAt(0).toString(16).padStart(2, '0')}`);
  return bytes.length > maxBytes ? `${begun}...` : begun;
}
