/**
 * The lines of a statefile: canonical `<url …/>`, as strings of bytes (latin1), so that comparing strings
 * compares bytes and a megabyte of text takes a megabyte.
 *
 * The key of a line is its text up to the end of the mimetype attribute. No key is the beginning of another
 * (its last quote could not be inside a value), so lines in order of their bytes are in order of their keys.
 */
import { parseMtime, printedOf } from '../../wire/mtime.js';

// Lines that file2url, sitemap2url and feed2url write, and formatUrl would write again: these need no XML
// reader.
const PLAIN_VALUE = "[!#-%'-;=?-~]";
const CANONICAL = new RegExp(
  `^<url curl="(?:${PLAIN_VALUE}|&amp;)+" mimetype="${PLAIN_VALUE}+"` +
    '(?: md5="[0-9a-f]{32}")?(?: len="\\d+")?(?: mtime="\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ")?' +
    '(?: outofroot="drop")?(?: entry="[0-9a-f]{32}")?(?: revisit="\\d+")?/>$',
);
/** Longer lines are left to the XML reader, which knows the limits. */
const LONGEST_PLAIN_LINE = 8 * 1024;

const STATE_LINE = /^<url curl="[^"<>]+" mimetype="[^"<>]+"(?: [^\s="'<>&]+="[^"<>]*")*\/>$/;
const AFTER_CURL = '" mimetype="';

/** True if a line is known to be canonical from its looks. */
export function isPlainLine(line: string): boolean {
  return line.length <= LONGEST_PLAIN_LINE && CANONICAL.test(line);
}

/** True if a line could stand in a statefile. */
export function isStateLine(line: string): boolean {
  return STATE_LINE.test(line);
}

export function keyOf(line: string): string {
  const mimetype = line.indexOf(AFTER_CURL) + AFTER_CURL.length;
  return line.slice(0, line.indexOf('"', mimetype) + 1);
}

/** Since when no list has named the url of a line: the last attribute, and of no line that is sent. */
const UNSEEN = ' unseen="';
const MARK_LENGTH = `${UNSEEN}2026-11-23T20:00:00Z"/>`.length;

/** The line as lists have it: without the mark of one that was not named. */
export function withoutMark(line: string): string {
  return isMarked(line) ? `${line.slice(0, -MARK_LENGTH)}/>` : line;
}

/** When a list did not name it for the first time since one did: seconds since 1970; undefined for one
 * without a mark. */
export function unseenSinceOf(line: string): number | undefined {
  return isMarked(line) ? parseMtime(line.slice(UNSEEN.length - MARK_LENGTH, -'"/>'.length)) : undefined;
}

/** The line with the mark, for the state alone. @param seconds since 1970 */
export function markedUnseen(line: string, seconds: number): string {
  return `${line.slice(0, -'/>'.length)}${UNSEEN}${printedOf(seconds)}"/>`;
}

function isMarked(line: string): boolean {
  return line.startsWith(UNSEEN, line.length - MARK_LENGTH);
}

/** The line that asks for removal of what has this key. */
export function deletionOf(key: string): string {
  return `${key} op="delete"/>`;
}
