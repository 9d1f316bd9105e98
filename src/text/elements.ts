/** What elements of HTML mean to somebody who wants the words. */

const names = (list: string): ReadonlySet<string> => new Set(list.split(' '));

/** They do not separate words: `un<b>believ</b>able` is one. Every other tag does. */
export const INLINE = names(
  'a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark q rp rt ruby s samp small span ' +
    'strike strong sub sup time tt u var wbr',
);

/** They have no end tag, and no content. */
export const VOID = names(
  'area base basefont br col embed frame hr img input link meta param source track wbr',
);

/** Their content is nothing to read. */
export const SILENT = names('script style template');

/** The same, for readers: what stands in for the content, beside it, or takes input. */
export const BESIDE = names(
  'nav aside footer form button dialog menu select datalist noscript iframe object audio video canvas svg',
);

/** `role` attributes (WAI-ARIA landmarks and windows) that say the same. */
export const BESIDE_ROLES = names(
  'navigation banner contentinfo search complementary dialog alert alertdialog menu menubar toolbar',
);

/** Left open, the next one of their kind ends them (HTML, 13.1.2.4 Optional tags). */
export const ENDED_BY_NEXT = names('p li dt dd td th tr option');
