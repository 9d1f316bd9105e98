/**
 * Reads `<url>` and `<sitemap>`, wherever they stand in an `<urlset>` or a `<sitemapindex>`. Names count
 * without their namespace, which real sitemaps spell in many ways or leave out; what tells the location of a
 * page from that of an image is where it stands, and that its prefix is that of its `<url>`. A location, or
 * text, that stands elsewhere is left out with a word: it may be what somebody meant. DOCTYPE is skipped, and
 * no entity but XML's own is expanded. What follows the root is not read.
 */
import { SaxesParser, type SaxesTagPlain } from 'saxes';
import { LccError, messageOf } from '../lib/errors.js';
import { endOfReferences, mayBecomeReference } from '../lib/xml/references.js';
import type { Extras, Found } from './found.js';
import type { SourceLimit } from './limits.js';

/** Elements in each other: more than any sitemap has. */
const MOST_DEEP = 64;
const URL_START = '<url>';
const URL_END = '</url>';
/** Beginnings of markup in which tags are none. */
const OTHER_MARKUP = /<[!?]/;
const UNKNOWN_ENTITY = 'undefined entity';
const WRONG_END = 'unexpected close tag';
/** Elements that are an entry. */
const ENTRIES: readonly string[] = ['url', 'sitemap'];
/** Where more of the list stands after its root. */
const LIST_TAG = /<(?:[\w.-]+:)?(?:urlset|sitemapindex|sitemap|url|loc)[\s/>]/;
/** More than a piece of such a tag that ends with a piece of text. */
const TAG_LENGTH = 64;
const NEWS_SCHEMA = /sitemap-news/;

interface Entry {
  isList: boolean;
  depth: number;
  prefix: string;
  loc: string | undefined;
  lastmod: string | undefined;
  others: string[];
  hasEntity: boolean;
}

export class SitemapXml {
  readonly #found: Found;
  readonly #extras: Extras;
  readonly #mostToken: SourceLimit;
  readonly #parser = new SaxesParser<{ xmlns: false; position: false }>({ xmlns: false, position: false });
  readonly #names: string[] = [];
  #root: string | undefined;
  #entry: Entry | undefined;
  /** Entries so far. */
  #entries = 0;
  /** The name of a child of the root that is not known. */
  #unknown: string | undefined;
  /** Something that belongs to no entry was said. */
  #saidStray = false;
  /** The schema of news is declared. */
  #hasNewsSchema = false;
  /** The root has ended; what still comes, as far as a tag of a list may be in it. */
  #after: string | undefined;
  /** Something came after it. */
  #isBehind = false;
  /** Text of the element that is being read, where it matters. */
  #text: string | undefined;
  /** Characters given to the parser since it found something. */
  #silent = 0;
  /**
   * Plain entries may be read without the parser; not any more once there was markup in which tags are none.
   */
  #isPlain = true;
  /** Markup in which an & is one has been seen since the root. */
  #sawOther = false;
  /** Text from the end of an entry on, not given to the parser yet. */
  #held = '';

  constructor(found: Found, extras: Extras, mostToken: SourceLimit) {
    this.#found = found;
    this.#extras = extras;
    this.#mostToken = mostToken;
    this.#parser.on('opentag', tag => this.#open(tag));
    this.#parser.on('closetag', ({ isSelfClosing }) => this.#close(isSelfClosing));
    this.#parser.on('text', text => this.#addText(text));
    this.#parser.on('cdata', text => this.#addText(text));
    this.#parser.on('comment', () => (this.#silent = 0));
    this.#parser.on('processinginstruction', () => (this.#silent = 0));
    this.#parser.on('error', error => this.#refuse(error));
  }

  /** Name of the root element without its prefix, once it has come. */
  get root(): string | undefined {
    return this.#root;
  }

  /** @throws LccError `data.malformed`, `limit` */
  write(text: string): void {
    if (this.#after !== undefined) return this.#passOver(text);
    if (!this.#isPlain) return this.#parse(text);
    const held = this.#held + text;
    this.#held = '';
    const from = this.#root === undefined ? this.#begin(held) : 0;
    if (from < 0) return;
    const at = this.#mayBePlain(held, from) ? this.#readPlain(held, from) : this.#leavePlain(from);
    if (!this.#isPlain) return this.#parse(held.slice(at));
    // The parser gets whole entries, so that it always stands between two of them.
    const last = held.lastIndexOf(URL_END);
    const end = last < at ? at : last + URL_END.length;
    if (end > at) this.#parse(held.slice(at, end));
    this.#held = held.slice(end);
    if (this.#held.length > this.#mostToken.most) this.#parse(this.#release());
  }

  /** @throws LccError `data.cut`, `data.malformed` */
  end(): void {
    this.#parse(this.#release());
    if (this.#names.length > 0) throw new LccError('data.cut', 'it is cut off');
    if (this.#after === undefined) return this.#guarded(() => this.#parser.close());
    if (this.#entries > 0) return;
    if (this.#unknown !== undefined)
      this.#stray(`it has <${this.#unknown.slice(0, 40)}>, and no entry that is known`);
    // One without news today has had some, which are still there.
    this.#found.isWindow ||= this.#hasNewsSchema;
  }

  /** Else it may be a feed, which another reader reads. */
  get #isSitemap(): boolean {
    return this.#root === 'urlset' || this.#root === 'sitemapindex';
  }

  /** Gives what stands in front of the first entry to the parser. @returns where that begins; -1 where it has
   * not come */
  #begin(text: string): number {
    const at = text.indexOf(URL_START);
    const head = text.slice(0, at < 0 ? undefined : at);
    this.#parse(head);
    const isAfterTag = !OTHER_MARKUP.test(head.slice(head.lastIndexOf('<urlset')));
    if (at < 0 || !isAfterTag) this.#isPlain = false;
    return at;
  }

  #mayBePlain(text: string, from: number): boolean {
    if (this.#root !== 'urlset' || this.#names.length !== 1 || this.#names[0] !== 'urlset') return false;
    return this.#isPlain && !OTHER_MARKUP.test(from === 0 ? text : text.slice(from));
  }

  #leavePlain(from: number): number {
    this.#isPlain = false;
    return from;
  }

  #readPlain(text: string, from: number): number {
    return readPlainUrls(text, from, (loc, lastmod) => {
      this.#entries += 1;
      this.#found.location(loc, { lastmod });
    });
  }

  #release(): string {
    const held = this.#held;
    this.#held = '';
    this.#isPlain = false;
    return held;
  }

  #parse(text: string): void {
    const bare = this.#root === undefined ? -1 : this.#bareAmpersand(text);
    const readable = bare < 0 ? text : text.slice(0, bare);
    this.#silent += readable.length;
    this.#guarded(() => this.#parser.write(readable));
    if (this.#after !== undefined) return this.#passOver(text.slice(Math.max(0, text.indexOf(this.#after))));
    if (bare >= 0)
      throw new LccError('data.malformed', 'it is no XML: an & stands for itself; it must be &amp;');
    if (this.#silent > this.#mostToken.most)
      throw new LccError('limit', `it has a piece of markup or text of more than ${this.#mostToken.text}`);
  }

  /** Where an & stands for itself, for the parser would look for its `;` as far as the document goes; -1:
   * nowhere. */
  #bareAmpersand(text: string): number {
    this.#sawOther ||= OTHER_MARKUP.test(text);
    if (this.#sawOther) return -1;
    const at = endOfReferences(text, 0, text.length);
    return at < text.length && !mayBecomeReference(text, at) ? at : -1;
  }

  /** After the root may stand anything that a cache or a plugin writes there, but not more of the list. */
  #passOver(text: string): void {
    const seen = `${this.#after ?? ''}${text}`;
    this.#after = seen.slice(-TAG_LENGTH);
    if (LIST_TAG.test(seen)) this.#stray('more of a list after the end of its root');
  }

  /** Something that may have been meant as an entry is none: said once. */
  #stray(what: string): void {
    if (!this.#isSitemap) return;
    if (!this.#saidStray) this.#found.leave(what);
    this.#saidStray = true;
  }

  #guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      if (error instanceof LccError) throw error;
      throw new LccError('data.malformed', messageOf(error), { cause: error });
    }
  }

  #refuse(error: Error): void {
    const message = error.message.replace(/\.$/, '');
    // Said after an element that another one's end has ended: that was not the end of the root.
    if (this.#after !== undefined && (message !== WRONG_END || this.#isBehind)) return;
    if (message === UNKNOWN_ENTITY && this.#names.length > 0) {
      if (this.#entry === undefined) this.#stray('an entity that XML does not know, where entries stand');
      else if (this.#text !== undefined) this.#entry.hasEntity = true;
      return;
    }
    throw new LccError('data.malformed', `it is no XML: ${message}`);
  }

  #open({ name, attributes }: SaxesTagPlain): void {
    if (this.#after !== undefined) return void (this.#isBehind = true);
    this.#silent = 0;
    const [prefix, local] = split(name);
    const depth = this.#names.push(name);
    if (depth > MOST_DEEP) throw new LccError('data.malformed', `elements of more than ${MOST_DEEP} levels`);
    this.#text = undefined;
    const entry = this.#entry;
    if (depth === 1) {
      this.#root = local;
      this.#hasNewsSchema = Object.values(attributes).some(value => NEWS_SCHEMA.test(value));
    } else if (!this.#isSitemap) return;
    else if (entry !== undefined) this.#openIn(entry, depth - entry.depth, prefix, local, attributes);
    else if (ENTRIES.includes(local)) {
      this.#entries += 1;
      const isList = local === 'sitemap';
      this.#entry = {
        isList,
        depth,
        prefix,
        loc: undefined,
        lastmod: undefined,
        others: [],
        hasEntity: false,
      };
    } else if (local.toLowerCase() === 'loc')
      this.#stray(`a location in <${this.#names.at(-2)?.slice(0, 40)}>, which is no entry`);
    else if (depth === 2) this.#unknown ??= local;
  }

  /** @param level 1: a child of the entry */
  #openIn(
    entry: Entry,
    level: number,
    prefix: string,
    local: string,
    attributes: Record<string, string>,
  ): void {
    const isOwn = prefix === entry.prefix;
    if (isOwn && ENTRIES.includes(local)) this.#found.leave('an entry inside another');
    else if (level === 1 && isOwn && (local === 'loc' || local === 'lastmod')) this.#text = '';
    else if (this.#isOther(entry, level, local)) this.#text = '';
    else if (level === 1 && local === 'news') this.#found.isWindow = true;
    else if (level === 1 && local === 'link' && this.#extras.alternates) alternate(attributes, entry);
  }

  /** True if an element holds the location of an image or a video that is asked for. */
  #isOther({ depth }: Entry, level: number, local: string): boolean {
    if (level !== 2) return false;
    const [, parent] = split(this.#names[depth] ?? '');
    return (
      (this.#extras.images && parent === 'image' && local === 'loc') ||
      (this.#extras.videos && parent === 'video' && local === 'content_loc')
    );
  }

  #addText(text: string): void {
    if (this.#after !== undefined) return void (this.#isBehind = true);
    this.#silent = 0;
    if (this.#text !== undefined) this.#text += text;
    else if (this.#entry === undefined && this.#names.length > 0 && text.trim() !== '')
      this.#stray('text where entries stand');
    if ((this.#text?.length ?? 0) > this.#mostToken.most)
      throw new LccError('limit', `it has a piece of markup or text of more than ${this.#mostToken.text}`);
  }

  #close(isSelfClosing: boolean): void {
    if (this.#after !== undefined) return void (this.#isBehind = true);
    this.#silent = 0;
    const name = this.#names.pop() ?? '';
    const entry = this.#entry;
    const text = this.#text;
    this.#text = undefined;
    const level = this.#names.length + 1 - (entry?.depth ?? 0);
    if (this.#names.length === 0) this.#after = isSelfClosing ? '/>' : `</${name}`;
    else if (entry === undefined) return;
    else if (level === 0) this.#endEntry(entry);
    else if (text === undefined) return;
    else if (level === 2) entry.others.push(text);
    else if (split(name)[1] === 'lastmod') entry.lastmod = text.trim();
    else if (entry.loc === undefined) entry.loc = text;
    else this.#found.leave(`a second location of an entry, ${text.trim().slice(0, 200)}`);
  }

  #endEntry(entry: Entry): void {
    this.#entry = undefined;
    const { isList, loc, lastmod, others, hasEntity } = entry;
    if (hasEntity) this.#found.leave(`${loc?.trim() ?? 'a url'} has an entity that XML does not know`);
    else if (loc === undefined) this.#found.leave('a url without location');
    else if (isList) this.#found.child(loc);
    else this.#found.location(loc, { lastmod });
    if (!hasEntity) for (const other of others) this.#found.location(other, {});
  }
}

function alternate(attributes: Record<string, string>, { others }: Entry): void {
  const { rel = '', hreflang, href } = attributes;
  if (hreflang !== undefined && href !== undefined && rel.toLowerCase() === 'alternate') others.push(href);
}

function split(name: string): [prefix: string, local: string] {
  const colon = name.indexOf(':');
  return colon < 0 ? ['', name] : [name.slice(0, colon), name.slice(colon + 1)];
}

const VALUE = String.raw`\s*([!-%'-;=?-~]+)\s*`;
const WORDS = String.raw`[ -%'-;=?-~\s]*`;
const PLAIN_URL = new RegExp(
  String.raw`\s*<url>\s*<loc>${VALUE}</loc>\s*` +
    String.raw`(?:<lastmod>\s*([ -%'-;=?-~]*?)\s*</lastmod>\s*)?` +
    String.raw`(?:<changefreq>${WORDS}</changefreq>\s*)?` +
    String.raw`(?:<priority>${WORDS}</priority>\s*)?</url>`,
  'y',
);

/**
 * Entries of a sitemap as nearly all are written: read by one regular expression, in a third of the time of a
 * parser. It accepts only what an XML parser would read alike: no reference, no markup besides its own,
 * printable ASCII.
 * Reads plain entries from `at` on.
 * @param text between two children of `urlset`, at `at`
 * @returns where the first that is not plain, or not whole, begins
 */
function readPlainUrls(
  text: string,
  at: number,
  entry: (loc: string, lastmod: string | undefined) => void,
): number {
  PLAIN_URL.lastIndex = at;
  for (let end = at; ; end = PLAIN_URL.lastIndex) {
    const found = PLAIN_URL.exec(text);
    if (found === null) return end;
    entry(found[1] ?? '', found[2]);
  }
}
