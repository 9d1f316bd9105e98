/**
 * Meaning of elements of HTML to somebody who wants the words, and how they end each other (HTML, 13.2.6).
 */

/** The element does not separate words: `un<b>believ</b>able` is one. */
export const INLINE = 1;
/** The element has no end tag, and no content. */
export const VOID = 2;
/** One of the standard's kinds: `special` elements stop the search for one that is not. */
export const SPECIAL = 4;
export const FORMATTING = 8;
export const HEADING = 16;
/** Elements open outside of it do not concern those within. */
export const SCOPE = 32;
/** The element begins where no paragraph is open, and ends one. */
export const ENDS_P = 64;
/** The end tag ends whatever is open in the element. */
export const BLOCK = 128;
/** Row, cell, section or caption of a table. */
export const TABLE_PART = 256;
/** Browsers show nothing of it. */
export const HIDDEN = 512;
/** Lines and blanks of the element are content. */
export const PRE = 1024;
/** For readers: it stands beside the content, or takes input. */
export const BESIDE = 2048;
/** The element separates words, and no lines. Elements that are not known do the same; all others separate
 * lines. */
export const APART = 4096;

const KINDS: readonly (readonly [kind: number, names: string])[] = [
  [
    INLINE,
    'a abbr acronym area audio b basefont bdi bdo bgsound big body cite code data del dfn em embed font frame head html ' +
      'i iframe img input ins kbd keygen label link map mark meta meter nobr noembed noscript output param picture ' +
      'progress q rb rp rt rtc ruby s samp script slot small source span strike strong style sub sup template textarea ' +
      'time track tt u var video wbr',
  ],
  [
    VOID,
    'area base basefont bgsound br col embed frame hr image img input keygen link meta param source track wbr',
  ],
  [
    SPECIAL,
    'address applet area article aside base basefont bgsound blockquote body br button caption center col colgroup dd ' +
      'details dir div dl dt embed fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header ' +
      'hgroup hr html iframe img input keygen li link listing main marquee menu meta nav noembed noframes noscript object ' +
      'ol p param plaintext pre script search section select source style summary table tbody td template textarea tfoot ' +
      'th thead title tr track ul wbr xmp',
  ],
  [FORMATTING, 'a b big code em font i nobr s small strike strong tt u'],
  [HEADING, 'h1 h2 h3 h4 h5 h6'],
  [SCOPE, 'applet caption html marquee object select table td template th'],
  [
    ENDS_P,
    'address article aside blockquote center dd details dialog dir div dl dt fieldset figcaption figure footer form h1 ' +
      'h2 h3 h4 h5 h6 header hgroup hr li listing main menu nav ol p plaintext pre search section summary ul xmp',
  ],
  [
    BLOCK,
    'address applet article aside blockquote button center details dialog dir div dl fieldset figcaption figure footer ' +
      'header hgroup listing main marquee menu nav object ol pre search section select summary ul',
  ],
  [TABLE_PART, 'caption col colgroup tbody td tfoot th thead tr'],
  [
    HIDDEN,
    'area audio base basefont bgsound datalist embed iframe link meta meter noembed param progress rp ' +
      'script source style template textarea title track video',
  ],
  [PRE, 'listing plaintext pre xmp'],
  [APART, 'applet button canvas marquee math object optgroup option select svg'],
  [BESIDE, 'nav aside footer form button dialog menu select noframes noscript object canvas svg'],
];

const TABLE = new Map<string, number>();
for (const [kind, names] of KINDS)
  for (const name of names.split(' ')) TABLE.set(name, (TABLE.get(name) ?? 0) | kind);

/** The kinds of an element; 0 for one that is not known. */
export function kindsOf(name: string): number {
  return TABLE.get(name) ?? 0;
}

const names = (list: string): ReadonlySet<string> => new Set(list.split(' '));

/** `role` attributes (WAI-ARIA landmarks and windows) that say what BESIDE does. */
export const BESIDE_ROLES = names(
  'navigation banner contentinfo search complementary dialog alert alertdialog menu menubar toolbar',
);

/** Elements of HTML that end SVG and MathML in whose middle they stand. */
export const BREAKOUT = names(
  'b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li listing menu meta nobr ' +
    'ol p pre ruby s small span strong strike sub sup table tt u ul var',
);

/** In SVG and in MathML: HTML may stand in them. */
export const HTML_IN_SVG = names('foreignobject desc title');
export const HTML_IN_MATH = names('mi mo mn ms mtext annotation-xml');
/** In SVG, what shows words: all others draw, or describe. */
export const SVG_SHOWN = names('text foreignobject');
export const SVG_INLINE = names('a tspan textpath');
/** In XML of any kind, what shows no words, under whatever prefix. */
export const XML_HIDDEN = names('style script metadata');
/** In MathML, what stands for what it annotates. */
export const MATH_HIDDEN = names('annotation annotation-xml');
