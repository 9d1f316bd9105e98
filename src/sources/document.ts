/** Reads one document, whatever it is: what kind it is its content says, not its name or type. */
import { LccError } from '../lib/errors.js';
import { decoded, unpacked, type Packing } from '../lib/unpack.js';
import { readFeed } from '../wire/feed.js';
import type { Extras, Found } from './found.js';
import type { SourceLimits } from './limits.js';
import { SitemapXml } from './sitemap-xml.js';
import { TextList } from './text-list.js';

interface DocumentOptions {
  /** Url of the document, for relative ones in feeds. */
  where: string | undefined;
  extras: Extras;
  limits: SourceLimits;
  /** Nothing but feeds, and these also in JSON. */
  feedsOnly: boolean;
  /** Nothing but the document itself says where it ends: its last line may have been cut. */
  isOpenEnded?: boolean;
}

const ROOTS: Readonly<Record<string, 'sitemap' | 'feed'>> = {
  urlset: 'sitemap',
  sitemapindex: 'sitemap',
  rss: 'feed',
  feed: 'feed',
  RDF: 'feed',
  rdf: 'feed',
};

/** @throws LccError `data.malformed`, `data.cut`, `limit`: what was found until then may count */
export async function readDocument(
  pieces: AsyncIterable<Uint8Array>,
  found: Found,
  options: DocumentOptions,
): Promise<void> {
  const { limits, feedsOnly } = options;
  const packing: Packing = { isPacked: false, hasRest: false };
  const texts = decoded(counted(unpacked(pieces, limits.documentBytes, packing), found));
  let reader: Reader | undefined;
  for await (const text of texts) {
    reader ??= feedsOnly
      ? new FeedReader(found, options)
      : text.startsWith('<')
        ? new XmlDocument(found, options)
        : new TextList(found, limits.tokenBytes);
    reader.write(text);
  }
  if (reader === undefined) throw new LccError('data.malformed', 'it is empty');
  if (packing.hasRest && reader instanceof TextList) found.leave('what follows its gzip, which is none');
  reader.end(options.isOpenEnded === true && !packing.isPacked);
}

async function* counted(
  pieces: AsyncIterable<Buffer>,
  found: Found,
): AsyncGenerator<Buffer, void, undefined> {
  for await (const piece of pieces) {
    found.bytes += piece.length;
    yield piece;
  }
}

interface Reader {
  write(text: string): void;
  /** @param isOpenEnded a last line without its end may be cut */
  end(isOpenEnded: boolean): void;
}

class FeedReader implements Reader {
  readonly #found: Found;
  readonly #options: DocumentOptions;
  #text = '';

  constructor(found: Found, options: DocumentOptions) {
    this.#found = found;
    this.#options = options;
  }

  write(text: string): void {
    const { feedBytes } = this.#options.limits;
    this.#text += text;
    if (this.#text.length > feedBytes.most)
      throw new LccError('limit', `it is a feed of more than ${feedBytes.text}`);
  }

  end(): void {
    this.#found.isWindow = true;
    readFeed(this.#text, this.#options.where, this.#options.extras.enclosures, this.#found);
  }
}

/** A sitemap, or a feed in XML: the root says which. */
class XmlDocument implements Reader {
  readonly #found: Found;
  readonly #options: DocumentOptions;
  readonly #xml: SitemapXml;
  /** The text that has come, until the root is known. */
  #begun = '';
  #format: 'sitemap' | 'feed' | undefined;
  #feed: FeedReader | undefined;

  constructor(found: Found, options: DocumentOptions) {
    this.#found = found;
    this.#options = options;
    this.#xml = new SitemapXml(found, options.extras, options.limits.tokenBytes);
  }

  write(text: string): void {
    if (this.#feed !== undefined) return this.#feed.write(text);
    if (this.#format === undefined) this.#begun += text;
    try {
      this.#xml.write(text);
    } catch (error) {
      // A feed is read by another parser, which forgives more.
      if (this.#kind() !== 'feed') throw error;
    }
    if (this.#kind() !== 'feed') return;
    this.#feed = new FeedReader(this.#found, this.#options);
    this.#feed.write(this.#begun);
    this.#begun = '';
  }

  end(): void {
    if (this.#feed !== undefined) return this.#feed.end();
    this.#xml.end();
    if (this.#kind() === undefined) throw new LccError('data.malformed', 'it has no element');
  }

  /** Undefined until the root has come. @throws LccError `data.malformed` for another root than those of
   * lists */
  #kind(): 'sitemap' | 'feed' | undefined {
    const { root } = this.#xml;
    if (this.#format !== undefined || root === undefined) return this.#format;
    this.#format = Object.hasOwn(ROOTS, root) ? ROOTS[root] : undefined;
    if (this.#format === undefined)
      throw new LccError('data.malformed', `its root is <${root.slice(0, 40)}>; is it a sitemap?`);
    if (this.#format !== 'feed') this.#begun = '';
    return this.#format;
  }
}
