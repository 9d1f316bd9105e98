/** Which texts in the items of a feed are links: where there is none, feeds have a number, a name or a word
 * for nothing. */

const ABSOLUTE = /^https?:\/\//i;
/** `N/A` and the like. */
const NOTHING = /^(?:n\.?\/?a\.?|none|nil|null|undefined|unknown|nan|false|tba|tbd|todo|[-–—_#?.*]+)$/i;

/** True if a guid is where the item is: that is absolute by its definition. */
export function isPermalink(text: string): boolean {
  return ABSOLUTE.test(text.trim());
}

/** True if the text of a link is one, be it relative. */
export function isLink(text: string): boolean {
  const trimmed = text.trim();
  if (ABSOLUTE.test(trimmed)) return true;
  return trimmed !== '' && !/\s/.test(trimmed) && !NOTHING.test(trimmed);
}
