/** Which blocks of a page are its content, and which are what every page of its site says. docs/design/text.md */

/** A paragraph, a heading, a cell: text that a browser sets apart. */
export interface Block {
  text: string;
  /** How many characters of it are links. */
  linkLength: number;
  /** Inside `<main>`, inside an `<article>`. */
  main: boolean;
  article: boolean;
}

/** A `<main>` with less than this holds a teaser, or nothing but script made it. */
const MAIN_LEAST_LENGTH = 250;
/** Articles with less than this share of a page's text are those of a list of links. */
const ARTICLE_LEAST_SHARE = 0.3;
/** More of a block in links than this, and it leads elsewhere. */
const LINKS_MOST_SHARE = 0.5;

/** The blocks of the content; all of them where a page has nothing but links. */
export function readableOf(blocks: readonly Block[]): readonly Block[] {
  const some = contentOf(blocks);
  const words = some.filter(block => block.linkLength <= LINKS_MOST_SHARE * block.text.length);
  return words.length > 0 ? words : some;
}

function contentOf(blocks: readonly Block[]): readonly Block[] {
  const main = blocks.filter(block => block.main);
  if (lengthOf(main) > MAIN_LEAST_LENGTH) return main;
  const articles = blocks.filter(block => block.article);
  return lengthOf(articles) > ARTICLE_LEAST_SHARE * lengthOf(blocks) ? articles : blocks;
}

function lengthOf(blocks: readonly Block[]): number {
  return blocks.reduce((sum, block) => sum + block.text.length, 0);
}
