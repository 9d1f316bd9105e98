/**
 * Reads `<urlset>` and `<sitemapindex>`. Names count without their namespace, which real sitemaps spell in many ways or leave
 * out; what tells the location of a page from that of an image is where it stands, and that its prefix is that of its `<url>`.
 * DOCTYPE is skipped, and no entity but XML's own is expanded.
 */
import { SaxesParser, type SaxesTagPlain } from 'saxes';
import { LccError, messageOf } from '../lib/errors.js';
import { endOfReferences, mayBecomeReference } from '../lib/xml/references.js';
import type { Extras, Found } from './found.js';
import type { SourceLimit } from './limits.js';
import { readPlainUrls } from './plain-urls.js';

export type Root = 'urlset' | 'sitemapindex';

/** Elements in each other: more than any sitemap has. */
const MOST_DEEP = 64;
const URL_START = '<url>';
const URL_END = '</url>';
/** What begins markup in which tags are none. */
const OTHER_MARKUP = /<[!?]/;
const UNKNOWN_ENTITY = 'undefined entity';

interface Entry {
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
  /** Of the element that is being read, where its text matters. */
  #text: string | undefined;
  /** Characters given to the parser since it found something. */
  #silent = 0;
  /** Plain entries may be read without the parser; not any more once there was markup in which tags are none. */
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
    this.#parser.on('closetag', () => this.#close());
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
    this.#guarded(() => this.#parser.close());
  }

  /** Gives what stands in front of the first entry to the parser. @returns where that begins; -1 where it has not come */
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
    return readPlainUrls(text, from, (loc, lastmod) => this.#found.location(loc, { lastmod }));
  }

  #release(): string {
    const held = this.#held;
    this.#held = '';
    this.#isPlain = false;
    return held;
  }

  #parse(text: string): void {
    if (this.#root !== undefined) this.#refuseBareAmpersand(text);
    this.#silent += text.length;
    this.#guarded(() => this.#parser.write(text));
    if (this.#silent > this.#mostToken.most)
      throw new LccError('limit', `it has a piece of markup or text of more than ${this.#mostToken.text}`);
  }

  /** The parser would look for the end of the reference as far as the document goes. */
  #refuseBareAmpersand(text: string): void {
    this.#sawOther ||= OTHER_MARKUP.test(text);
    if (this.#sawOther) return;
    const at = endOfReferences(text, 0, text.length);
    if (at < text.length && !mayBecomeReference(text, at))
      throw new LccError('data.malformed', 'it is no XML: an & stands for itself; it must be &amp;');
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
    const message = error.message.replace(/^[^:]*: /, '').replace(/\.$/, '');
    if (message === UNKNOWN_ENTITY && this.#names.length > 0) {
      if (this.#entry !== undefined && this.#text !== undefined) this.#entry.hasEntity = true;
      return;
    }
    throw new LccError('data.malformed', `it is no XML: ${message}`);
  }

  #open({ name, attributes }: SaxesTagPlain): void {
    this.#silent = 0;
    const [prefix, local] = split(name);
    const depth = this.#names.push(name);
    if (depth > MOST_DEEP) throw new LccError('data.malformed', `elements of more than ${MOST_DEEP} levels`);
    if (depth === 1) this.#root = local;
    this.#text = undefined;
    const entry = this.#entry;
    if (depth === 2 && local === (this.#root === 'urlset' ? 'url' : 'sitemap'))
      this.#entry = { prefix, loc: undefined, lastmod: undefined, others: [], hasEntity: false };
    else if (entry === undefined) return;
    else if (depth === 3 && prefix === entry.prefix && (local === 'loc' || local === 'lastmod'))
      this.#text = '';
    else if (this.#isOther(depth, local)) this.#text = '';
    else if (depth === 3 && local === 'link' && this.#extras.alternates) alternate(attributes, entry);
  }

  /** Whether an element holds the location of an image or a video that is asked for. */
  #isOther(depth: number, local: string): boolean {
    if (depth !== 4) return false;
    const [, parent] = split(this.#names[2] ?? '');
    return (
      (this.#extras.images && parent === 'image' && local === 'loc') ||
      (this.#extras.videos && parent === 'video' && local === 'content_loc')
    );
  }

  #addText(text: string): void {
    this.#silent = 0;
    if (this.#text !== undefined) this.#text += text;
    if ((this.#text?.length ?? 0) > this.#mostToken.most)
      throw new LccError('limit', `it has a piece of markup or text of more than ${this.#mostToken.text}`);
  }

  #close(): void {
    this.#silent = 0;
    const [, local] = split(this.#names.pop() ?? '');
    const entry = this.#entry;
    const text = this.#text;
    this.#text = undefined;
    if (entry === undefined) return;
    const depth = this.#names.length + 1;
    if (depth === 2) this.#endEntry(entry);
    else if (text === undefined) return;
    else if (depth === 4) entry.others.push(text);
    else if (local === 'lastmod') entry.lastmod = text.trim();
    else entry.loc ??= text;
  }

  #endEntry(entry: Entry): void {
    this.#entry = undefined;
    const { loc, lastmod, others, hasEntity } = entry;
    if (hasEntity) this.#found.leave(`${loc?.trim() ?? 'a url'} has an entity that XML does not know`);
    else if (loc === undefined) this.#found.leave('a url without location');
    else if (this.#root === 'sitemapindex') this.#found.child(loc);
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
