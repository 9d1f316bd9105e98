/**
 * What lists name, a line each: `CURL LASTMOD MARK`, `-` where there is none; for another list `CURL - list`. Urls have no
 * blanks.
 */

export interface Entry {
  /** As `pageUrl` has it: ASCII. */
  curl: string;
  /** Printed form, as the list has it. */
  lastmod?: string | undefined;
  /** What makes a change where no time does: an md5. */
  mark?: string | undefined;
  /** It is a document, whose entries count as well, and no page. */
  isList?: boolean;
}

const NONE = '-';
const LIST = 'list';

export function entryLine({ curl, lastmod = NONE, mark = NONE, isList }: Entry): string {
  return `${curl} ${lastmod} ${isList === true ? LIST : mark}`;
}

/** Undefined for what is no such line. */
export function entryOf(line: string): Entry | undefined {
  const [curl = '', lastmod, mark, more] = line.split(' ');
  if (curl === '' || lastmod === undefined || mark === undefined || more !== undefined) return undefined;
  if (mark === LIST) return { curl, isList: true };
  return { curl, lastmod: lastmod === NONE ? undefined : lastmod, mark: mark === NONE ? undefined : mark };
}
