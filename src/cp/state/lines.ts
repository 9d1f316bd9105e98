/**
 * The lines of a statefile: canonical `<url …/>`, as strings of bytes (latin1), so that comparing strings compares
 * bytes and a megabyte of text takes a megabyte.
 *
 * The key of a line is its text up to the end of the mimetype attribute. No key is the beginning of another (its last
 * quote could not be inside a value), so lines in order of their bytes are in order of their keys.
 */

// What file2url writes, and formatUrl would write again: these lines need no XML reader.
const PLAIN_VALUE = "[!#-%'-;=?-~]";
const CANONICAL = new RegExp(
  `^<url curl="(?:${PLAIN_VALUE}|&amp;)+" mimetype="${PLAIN_VALUE}+"` +
    '(?: md5="[0-9a-f]{32}")?(?: len="\\d+")?(?: mtime="\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ")?/>$',
);
/** Longer lines are left to the XML reader, which knows the limits. */
const LONGEST_PLAIN_LINE = 8 * 1024;

const STATE_LINE = /^<url curl="[^"<>]+" mimetype="[^"<>]+"(?: [^\s="'<>&]+="[^"<>]*")*\/>$/;
const AFTER_CURL = '" mimetype="';

/** Whether a line is known to be canonical from its looks. */
export function isPlainLine(line: string): boolean {
  return line.length <= LONGEST_PLAIN_LINE && CANONICAL.test(line);
}

/** Whether a line could stand in a statefile. */
export function isStateLine(line: string): boolean {
  return STATE_LINE.test(line);
}

export function keyOf(line: string): string {
  const mimetype = line.indexOf(AFTER_CURL) + AFTER_CURL.length;
  return line.slice(0, line.indexOf('"', mimetype) + 1);
}

/** The line that asks for removal of what has this key. */
export function deletionOf(key: string): string {
  return `${key} op="delete"/>`;
}
