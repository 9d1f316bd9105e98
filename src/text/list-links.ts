/**
 * The links of lists that a site keeps of itself: sitemaps, RSS, Atom, RDF and JSON feeds. Elements count by
 * their local name, for real lists spell their namespaces in many ways. Nothing is refused: of a list that is
 * damaged the links that can be read count.
 */
import { decodeXML } from 'entities';
import { Tokenizer } from 'htmlparser2';
import { UNHEARD } from './attributes.js';
import { isLink, isPermalink } from '../lib/item-links.js';

interface ListLinks {
  /** As written; relative ones to `base`, or to where the list came from. */
  hrefs: readonly string[];
  /** The list's own `xml:base`. */
  base: string | undefined;
  /** `xml:base` of elements in it that hold a link, by the index of that: from the outermost on. Left out:
   * there is none. */
  innerBases?: ReadonlyMap<number, readonly string[]>;
  /** True if the list has more than the limit. */
  isCut: boolean;
}

/** The root element, by which an XML document is a list. */
const ROOTS: ReadonlySet<string> = new Set(['urlset', 'sitemapindex', 'rss', 'feed', 'rdf']);
/** Length up to which text between two tags is looked at. */
const MAX_TEXT_LENGTH = 8192;
/** Elements in each other with a base of their own: more than any list has. */
const MAX_BASES = 16;

const FIRST_URL = /^\s*https?:\/\/\S+[^\S\r\n]*(?:[\r\n]|$)/i;
const URL_LINE = /^https?:\/\/\S+$/i;
const LINE = /[^\r\n]+/g;

/** @returns undefined for an XML document that is no list */
export function xmlListLinks(document: string, maxLinks: number): ListLinks | undefined {
  const list = new XmlList(maxLinks);
  list.read(document);
  return list.isList ? list : undefined;
}

/** Links of a JSON Feed; undefined for another document. */
export function jsonFeedLinks(document: string, maxLinks: number): ListLinks | undefined {
  let feed: unknown;
  try {
    feed = JSON.parse(document);
  } catch {
    return undefined;
  }
  const items =
    isObject(feed) && typeof feed['version'] === 'string' && feed['version'].includes('jsonfeed')
      ? feed['items']
      : undefined;
  if (!Array.isArray(items)) return undefined;
  const urls = items.flatMap((item: unknown) =>
    isObject(item) && typeof item['url'] === 'string' && isLink(item['url']) ? [item['url']] : [],
  );
  return { hrefs: urls.slice(0, maxLinks), base: undefined, isCut: urls.length > maxLinks };
}

/** Links of a list of whatever kind, by its beginning. */
export function listLinks(document: string, maxLinks: number): ListLinks | undefined {
  const start = document.trimStart();
  if (start.startsWith('<')) return xmlListLinks(start, maxLinks);
  return start.startsWith('{') ? jsonFeedLinks(start, maxLinks) : textListLinks(start, maxLinks);
}

/** Links of a text with a url a line; undefined where the first line with something is none. */
export function textListLinks(document: string, maxLinks: number): ListLinks | undefined {
  if (!FIRST_URL.test(document)) return undefined;
  const hrefs: string[] = [];
  for (const [line] of document.matchAll(LINE)) {
    const href = line.trim();
    if (!URL_LINE.test(href)) continue;
    if (hrefs.length >= maxLinks) return { hrefs, base: undefined, isCut: true };
    hrefs.push(href);
  }
  return { hrefs, base: undefined, isCut: false };
}

/** A link, and what it is relative to within the list. */
interface Link {
  href: string;
  bases: readonly string[];
}

/** Place of the item that is being read, as it gives it. */
interface Item {
  link?: Link | undefined;
  guid?: Link | undefined;
  about?: Link | undefined;
  /** Atom: its pages, those in HTML apart. */
  html?: Link | undefined;
  page?: Link | undefined;
}

class XmlList implements ListLinks {
  readonly hrefs: string[] = [];
  readonly innerBases = new Map<number, readonly string[]>();
  base: string | undefined;
  isCut = false;
  /** Bases of the open elements. */
  #bases: readonly string[] = [];
  /** Those of the elements around, for each open element with one of its own. */
  readonly #outer: { depth: number; bases: readonly string[] }[] = [];
  readonly #maxLinks: number;
  readonly #open: string[] = [];
  #root: string | undefined;
  #name = '';
  #attribute = '';
  readonly #values = new Map<string, string>();
  /** Text of the element that is read. */
  #text: string | undefined;
  #isPermalink = true;
  #item: Item | undefined;

  constructor(maxLinks: number) {
    this.#maxLinks = maxLinks;
  }

  get isList(): boolean {
    return this.#root !== undefined && ROOTS.has(this.#root);
  }

  read(source: string): void {
    const add = (start: number, end: number) => {
      if (this.#text !== undefined && this.#text.length < MAX_TEXT_LENGTH)
        this.#text += source.slice(start, Math.min(end, start + MAX_TEXT_LENGTH));
    };
    const tokenizer = new Tokenizer(
      { xmlMode: true, decodeEntities: false },
      {
        ...UNHEARD,
        ontext: add,
        oncdata: (start, end, offset) => add(start, end - offset),
        onopentagname: (start, end) => this.#begin(source.slice(start, end)),
        onattribname: (start, end) => (this.#attribute = source.slice(start, end).toLowerCase()),
        onattribdata: (start, end) => void this.#values.set(this.#attribute, source.slice(start, end)),
        onopentagend: () => {
          this.#opened();
          if (!this.isList || this.isCut) tokenizer.pause();
        },
        onselfclosingtag: () => {
          this.#opened();
          this.#close();
        },
        onclosetag: () => this.#close(),
        oncomment: () => undefined,
      },
    );
    tokenizer.write(source);
    tokenizer.end();
    // One that is cut off.
    this.#endItem();
  }

  #begin(name: string): void {
    this.#name = name.slice(name.indexOf(':') + 1).toLowerCase();
    this.#values.clear();
  }

  #opened(): void {
    const name = this.#name;
    const parent = this.#open.at(-1);
    this.#root ??= name;
    const base = this.#get('xml:base');
    if (this.#open.length === 0) this.base = base;
    else if (base !== undefined && this.#outer.length < MAX_BASES) {
      this.#outer.push({ depth: this.#open.length, bases: this.#bases });
      this.#bases = [...this.#bases, base];
    }
    if (this.#open.length < MAX_TEXT_LENGTH) this.#open.push(name);
    this.#text = this.#isLocation(name, parent) ? '' : undefined;
    if (name === 'guid') this.#isPermalink = this.#get('ispermalink')?.trim().toLowerCase() !== 'false';
    if (name === 'item' || (name === 'entry' && this.#root === 'feed')) this.#beginItem();
    if (this.#root === 'feed' && name === 'link') this.#atomLink(parent);
  }

  #beginItem(): void {
    this.#endItem();
    const about = this.#root === 'rdf' ? (this.#get('rdf:about') ?? this.#get('about')) : undefined;
    this.#item = about === undefined ? {} : { about: this.#link(about) };
  }

  /** An item is one page. */
  #endItem(): void {
    if (this.#item === undefined) return;
    const { link, guid, about, html, page } = this.#item;
    this.#item = undefined;
    this.#add(link ?? guid ?? about ?? html ?? page);
  }

  #atomLink(parent: string | undefined): void {
    const rel = this.#get('rel')?.trim().toLowerCase() ?? 'alternate';
    const href = this.#get('href');
    const item = parent === 'entry' ? this.#item : undefined;
    if (item === undefined) {
      if ((rel === 'alternate' || rel === 'next') && href !== undefined) this.#add(this.#link(href));
    } else if (rel === 'alternate' && href !== undefined && isLink(href)) {
      const type = this.#get('type');
      item.page ??= this.#link(href);
      if (type === undefined || /html/i.test(type)) item.html ??= this.#link(href);
    }
  }

  /** True if the text of an element is where something is. */
  #isLocation(name: string, parent: string | undefined): boolean {
    if (name === 'loc') return parent === 'url' || parent === 'sitemap';
    return (
      (name === 'link' || name === 'guid') && (parent === 'item' || (parent === 'channel' && name === 'link'))
    );
  }

  #close(): void {
    const name = this.#open.pop();
    const text = this.#text;
    this.#text = undefined;
    if (text !== undefined) this.#located(name, decodeXML(text).trim());
    if (name === 'item' || name === 'entry') this.#endItem();
    const outer = this.#outer.at(-1);
    if (outer?.depth !== this.#open.length) return;
    this.#bases = outer.bases;
    this.#outer.pop();
  }

  #located(name: string | undefined, url: string): void {
    const item = this.#open.at(-1) === 'item' ? this.#item : undefined;
    if (item === undefined) this.#add(this.#link(url));
    else if (name === 'link') {
      if (isLink(url)) item.link ??= this.#link(url);
    } else if (this.#isPermalink && isPermalink(url)) item.guid ??= this.#link(url);
  }

  #link(href: string): Link {
    return { href, bases: this.#bases };
  }

  #get(attribute: string): string | undefined {
    const value = this.#values.get(attribute);
    return value === undefined ? undefined : decodeXML(value);
  }

  #add(link: Link | undefined): void {
    if (link === undefined || link.href === '') return;
    if (this.hrefs.length >= this.#maxLinks) this.isCut = true;
    else {
      if (link.bases.length > 0) this.innerBases.set(this.hrefs.length, link.bases);
      this.hrefs.push(link.href);
    }
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
