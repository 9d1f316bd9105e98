/** Words of somebody else, as a part of one line. */

/** Characters of a reason. */
const MOST = 500;

/**
 * Without line ends and whatever else moves the cursor of a terminal. @param most characters that are left
 */
export function oneLine(text: string, most = MOST): string {
  return text.replace(/\p{Cc}+/gu, ' ').slice(0, most);
}
