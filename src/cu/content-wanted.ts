/** Which content records are made of: it is sent, or fetched, before they are made. */
import { holdsText } from '../text/content.js';
import { CONTENT_COLUMNS } from './formats/types.js';
import type { Query } from './types.js';

/** `text`: where it is of a type that is text. @param columns those of the format's records */
export function contentWanted(
  query: Pick<Query, 'format' | 'content' | 'text' | 'markdown' | 'converter'>,
  columns: readonly string[],
): boolean | 'text' {
  if (!CONTENT_COLUMNS.every(column => columns.includes(column))) return false;
  if (query.content === true || query.format.carriesContent === true) return true;
  if (query.format.takesContent === true && query.text === undefined && query.markdown === undefined)
    return false;
  return query.converter === undefined ? 'text' : true;
}

export function isWanted(wanted: boolean | 'text', mimetype: string): boolean {
  return wanted === true || (wanted === 'text' && holdsText(mimetype));
}
