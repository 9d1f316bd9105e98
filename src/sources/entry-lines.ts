/** Entries of lists, a line each: `CURL LASTMOD MARK`, `-` where there is none; for another list `CURL -
 * list`. Urls have no blanks. */

export interface Entry {
  /** As `pageUrl` has it: ASCII. */
  curl: string;
  /** Printed form, as the list has it. */
  lastmod?: string | undefined;
  /** A sign of change where there is no time: an md5. */
  mark?: string | undefined;
  /** True for a document, whose entries count as well, and which is no page. */
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
