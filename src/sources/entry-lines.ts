/** What lists name, a line each: `CURL LASTMOD MARK`, `-` where there is none. Urls have no blanks. */

export interface Entry {
  /** As `pageUrl` has it: ASCII. */
  curl: string;
  /** Printed form, as the list has it. */
  lastmod?: string | undefined;
  /** What makes a change where no time does: an md5. */
  mark?: string | undefined;
}

const NONE = '-';

export function entryLine({ curl, lastmod = NONE, mark = NONE }: Entry): string {
  return `${curl} ${lastmod} ${mark}`;
}

/** Undefined for what is no such line. */
export function entryOf(line: string): Entry | undefined {
  const [curl = '', lastmod, mark, more] = line.split(' ');
  if (curl === '' || lastmod === undefined || mark === undefined || more !== undefined) return undefined;
  return { curl, lastmod: lastmod === NONE ? undefined : lastmod, mark: mark === NONE ? undefined : mark };
}
