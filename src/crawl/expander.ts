/**
 * Pages into links: what a row of lccq says of a page, its file, its links, and of these the ones that
 * somebody owns, that are no trap and that are neither held nor waiting. It keeps nothing: what was done
 * before is done again, and finds that all is there.
 */
import type { CrawlReader } from '../db/cache/crawl.js';
import type { Clock } from '../lib/clock.js';
import { decodedOf, rawOf } from '../text/content.js';
import type { Raw } from '../text/decode.js';
import { urlsOfCss } from '../text/link-values.js';
import { jsonFeedLinks, listLinks, xmlListLinks } from '../text/list-links.js';
import { pageLinks, type PageLink } from '../text/page-links.js';
import { SITE_WISHES } from '../wire/codes.js';
import { canonicalUrl, type CanonicalUrl } from '../wire/canonical-url.js';
import { isDelete, type UrlRecord } from '../wire/url.js';
import type { LinkOwners } from './owners.js';
import { BEGINNING_BYTES, beginsAsList, isMaybeList, isXml, unpacked } from './packed-list.js';
import type { FoundLink, ExpandOptions } from './options.js';
import { baseOf, resolveLink, spellings } from './resolve.js';
import { robotsSaid } from '../robots/page-words.js';
import type { UrlSink } from './sinks.js';
import { readBeginning, StoredPages } from './stored-page.js';
import { trapOf, type Trap, type TrapLimits } from './traps.js';

interface ExpanderParts {
  options: ExpandOptions;
  db: Pick<CrawlReader, 'atOnce' | 'standingOf' | 'queriesOf' | 'copiesOf'>;
  owners: LinkOwners;
  sink: UrlSink<FoundLink>;
  clock: Clock;
  /** Called for a page of which not everything could be read. */
  complain(message: string): void;
  /** Called for each link that is left out as a trap. */
  explain?: ((message: string) => void) | undefined;
}

/** The outcome for a url that begins a crawl. */
export type SeedOutcome =
  /** `failed`: why it was not to be had before. */
  | { is: 'sent'; failed: number | undefined }
  | { is: 'held' | 'waiting' | 'repeated' | 'excluded' | 'unowned' }
  | { is: 'forbidden'; code: number; untilS: number }
  | { is: 'ambiguous'; why: string }
  | { is: 'trap'; trap: Trap };

/** Counts of pages and links by their outcome. */
export interface LinksCounts {
  /** Pages whose links were looked at. */
  pages: number;
  /** Links in them, each once a page. */
  links: number;
  sent: number;
  /** Pages that ask not to be kept. */
  unwanted: number;
  /** Rows whose content is missing, altered, larger than the limit, or not text. */
  unread: number;
  traps: Map<Trap, number>;
}

/** May be a feed or a sitemap. */
const LIST =
  /^(?:(?:text|application)\/xml|application\/(?:rss|atom|rdf|feed)\+(?:xml|json)|application\/json)$/;
const HTML = /^(?:text\/html|application\/xhtml\+xml)$/;
/** Places for links as they are written, to be remembered. */
const WRITTEN_PLACES = 2 ** 17;
const SECONDS_MS = 1000;

export class Expander {
  readonly counts: LinksCounts = { pages: 0, links: 0, sent: 0, unwanted: 0, unread: 0, traps: new Map() };
  readonly #parts: ExpanderParts;
  readonly #sent: SentLinks;
  /** Links as they were written: what was looked at once need not be resolved again. */
  readonly #written: SentLinks;
  readonly #queries: PathQueries;
  readonly #stored: StoredPages;

  constructor(parts: ExpanderParts) {
    this.#parts = parts;
    this.#sent = new SentLinks(parts.options.sentPlaces);
    this.#written = new SentLinks(Math.min(parts.options.sentPlaces, WRITTEN_PLACES));
    this.#queries = new PathQueries(parts.db, parts.options.maxQueries);
    this.#stored = new StoredPages(parts.options.maxPageBytes);
  }

  /** Sends the links of a page. @param record of lccq @throws LccError `try.later`; what the sink throws */
  async expand(record: UrlRecord): Promise<void> {
    const pid = Number(record.pid);
    if (isDelete(record) || record.file === undefined || !this.#parts.owners.isFollowed(pid)) return;
    const isCss = record.mimetype === 'text/css';
    const isMaybe = isMaybeList(record.mimetype);
    if (
      !HTML.test(record.mimetype) &&
      !LIST.test(record.mimetype) &&
      !isMaybe &&
      !(isCss && this.#parts.options.assets)
    )
      return;
    if (isMaybe && !beginsAsList(readBeginning(record.file, BEGINNING_BYTES))) return;
    if (this.#isCopy(pid, record)) return;
    const page = this.#read(record, record.file);
    if (page === undefined) return;
    this.counts.pages++;
    const found = isCss
      ? this.#ofStyleSheet(record, page)
      : (this.#ofList(record, page) ?? this.#ofPage(record, page));
    const hops = Number(valueOf(record, 'hops') ?? 0) + 1;
    const limits = this.#trapLimits();
    const look = () => found.links.flatMap(({ url }) => this.#wanted(url, hops, limits) ?? []);
    for (const link of found.links.length === 0 ? [] : this.#parts.db.atOnce(look)) {
      const sent = this.#parts.sink.add(link);
      if (sent !== undefined) await sent;
    }
    if (!found.isUnwanted) return;
    this.counts.unwanted++;
    await this.#parts.sink.unwanted({ pid, curl: record.curl, mimetype: record.mimetype, md5: record.md5 });
  }

  /** Begins a crawl with a url; one that is known not to be had is asked for all the same, unless its site
   * forbids it. */
  async seed(url: string): Promise<SeedOutcome> {
    const { options, owners, db, sink, clock } = this.#parts;
    const canonical = canonicalUrl(url);
    const pid = canonical && owners.ownerOf(canonical.curl);
    const doubt = canonical && owners.doubtOf(canonical.curl);
    if (doubt !== undefined) return { is: 'ambiguous', why: doubt };
    if (canonical === undefined || pid === undefined) return { is: 'unowned' };
    const { curl, furl } = canonical;
    if (this.#sent.wasSent(curl)) return { is: 'repeated' };
    if (options.excluded.some(isExcluded => isExcluded(curl))) return { is: 'excluded' };
    const trap = trapOf(curl, this.#trapLimits());
    if (trap !== undefined) return { is: 'trap', trap };
    const standing = db.standingOf(pid, curl, clock.nowMs() / SECONDS_MS);
    if (typeof standing === 'string') return { is: standing };
    if (standing !== undefined && SITE_WISHES.includes(standing.code))
      return { is: 'forbidden', ...standing };
    this.counts.sent++;
    await sink.add({ pid, curl, furl, hops: 0 });
    return { is: 'sent', failed: standing?.code };
  }

  /** The link that is sent for a url; undefined for one that is left out. */
  #wanted({ curl, furl }: CanonicalUrl, hops: number, limits: TrapLimits): FoundLink | undefined {
    const { options, owners, db, clock } = this.#parts;
    if (this.#sent.wasSent(curl)) return undefined;
    const pid = owners.ownerOf(curl);
    if (options.excluded.some(isExcluded => isExcluded(curl))) return undefined;
    if (pid === undefined)
      return owners.doubtOf(curl) === undefined ? undefined : this.#trapped('ambiguous', curl);
    const trap = hops > options.maxHops ? 'hops' : trapOf(curl, limits);
    if (trap !== undefined) return this.#trapped(trap, curl);
    if (db.standingOf(pid, curl, clock.nowMs() / SECONDS_MS) !== undefined) return undefined;
    if (!this.#queries.take(pid, curl)) return this.#trapped('queries', curl);
    this.counts.sent++;
    return { pid, curl, furl, hops };
  }

  #trapLimits(): TrapLimits {
    const year = new Date(this.#parts.clock.nowMs()).getUTCFullYear();
    return { ...this.#parts.options, year };
  }

  #trapped(trap: Trap, curl: string): undefined {
    this.counts.traps.set(trap, (this.counts.traps.get(trap) ?? 0) + 1);
    this.#parts.explain?.(`left out as a trap, ${trap}: ${curl}`);
  }

  /** Sites that show one page under endless urls. */
  #isCopy(pid: number, record: UrlRecord): boolean {
    const { maxCopies } = this.#parts.options;
    const { md5 } = record;
    if (md5 === undefined || valueOf(record, 'hops') === undefined) return false;
    if (this.#parts.db.copiesOf(pid, md5, maxCopies) < maxCopies) return false;
    this.#trapped('copies', record.curl);
    return true;
  }

  #read(record: UrlRecord, file: string): Raw | undefined {
    const { maxPageBytes } = this.#parts.options;
    const stored = this.#stored.read(file, record.md5);
    const mayBePacked = isMaybeList(record.mimetype) || LIST.test(record.mimetype);
    const bytes = mayBePacked && typeof stored !== 'string' ? unpacked(stored, maxPageBytes) : stored;
    if (bytes === 'large')
      this.#parts.complain(`${record.curl}: larger than links.max_page_bytes, its links are not looked at`);
    const isMarkup = isMaybeList(record.mimetype) && typeof bytes !== 'string' && isXml(bytes);
    const source = { mimetype: isMarkup ? 'application/xml' : record.mimetype, charset: record.http_charset };
    if (typeof bytes !== 'string') {
      // Anything but HTML may be a list, whose text is needed.
      const page = record.mimetype === 'text/html' ? rawOf(bytes, source) : decodedOf(bytes, source);
      if (page !== undefined) return { isBytes: false, ...page };
    }
    this.counts.unread++;
    return undefined;
  }

  #ofPage(record: UrlRecord, { text, charset, isBytes }: Raw): PageFound {
    const { options, clock } = this.#parts;
    const page = pageLinks(text, {
      isXml: record.mimetype !== 'text/html',
      isBytes,
      assets: options.assets,
      robotName: options.robotName,
      maxLinks: options.maxPageLinks,
      maxValueLength: options.maxValueLength,
      timeoutMs: options.pageTimeoutMs,
      nowMs: () => clock.monotonicMs(),
    });
    this.counts.links += page.links.length;
    if (page.cut !== undefined)
      this.#parts.complain(`${record.curl}: ${CUT[page.cut]}; those found so far count`);
    if (page.long > 0) this.#trapped('long', record.curl);
    const said = robotsSaid(valueOf(record, 'robots'), page.robots, options.robotName);
    const isUnwanted = said.noindex;
    if (said.nofollow && options.nofollow !== 'none') return { links: [], isUnwanted };
    const base = baseOf(page.base, urlOf(record));
    // A page that names another as its own is looked at with all of its links.
    const spelled = record.curl.includes('?') ? () => undefined : spellings(base, charset);
    const links: PageFoundLink[] = [];
    for (const link of page.links) {
      if (link.isNofollow && options.nofollow === 'all') continue;
      const spelling = spelled(link.href);
      if (spelling !== undefined && this.#written.wasSent(spelling)) continue;
      const url = resolveLink(link.href, base, charset);
      if (url !== undefined) links.push({ url, kind: link.kind });
    }
    return { links: this.#ofOwnName(record.curl, links), isUnwanted };
  }

  /** The one link of a page that names its path without the query as its own. */
  #ofOwnName(curl: string, links: PageFoundLink[]): PageFoundLink[] {
    const mark = curl.indexOf('?');
    if (mark < 0) return links;
    const path = curl.slice(0, mark);
    const own = links.filter(({ kind, url }) => kind === 'canonical' && url.curl === path);
    if (own.length === 0) return links;
    this.#trapped('canonical', curl);
    return own;
  }

  /** A feed or a sitemap; undefined for anything else. */
  #ofList(record: UrlRecord, { text, charset }: Raw): PageFound | undefined {
    const { mimetype } = record;
    if (mimetype === 'text/html') return undefined;
    const isMaybe = isMaybeList(mimetype);
    const read = isMaybe ? listLinks : mimetype.endsWith('json') ? jsonFeedLinks : xmlListLinks;
    const list = read(text, this.#parts.options.maxPageLinks);
    if (list === undefined)
      return isMaybe || mimetype.endsWith('json') ? { links: [], isUnwanted: false } : undefined;
    this.counts.links += list.hrefs.length;
    if (list.isCut) this.#parts.complain(`${record.curl}: ${CUT.links}; those found so far count`);
    const base = baseOf(list.base, urlOf(record));
    const links = list.hrefs.flatMap((href, n) => {
      const own = (list.innerBases?.get(n) ?? []).reduce((outer, inner) => baseOf(inner, outer), base);
      const url =
        href.length > this.#parts.options.maxValueLength ? undefined : resolveLink(href, own, charset);
      return url === undefined ? [] : [{ url, kind: 'page' as const }];
    });
    return { links, isUnwanted: false };
  }

  #ofStyleSheet(record: UrlRecord, { text, charset }: Raw): PageFound {
    const links: PageFoundLink[] = [];
    for (const href of urlsOfCss(text)) {
      if (links.length >= this.#parts.options.maxPageLinks) break;
      const url = resolveLink(href, urlOf(record), charset);
      if (url !== undefined) links.push({ url, kind: 'asset' });
    }
    this.counts.links += links.length;
    return { links, isUnwanted: false };
  }
}

interface PageFoundLink {
  url: CanonicalUrl;
  kind: PageLink['kind'];
}

interface PageFound {
  links: readonly PageFoundLink[];
  /** The page asks not to be kept. */
  isUnwanted: boolean;
}

const CUT = {
  links: 'more links than links.max_page_links',
  time: 'its links take longer than 2 s',
} as const;

/** Where a page came from. */
function urlOf(record: UrlRecord): string {
  return valueOf(record, 'finalurl') ?? record.furl ?? record.curl;
}

/** A field that pages of a crawl have; a page that its owner announced has no hops: a crawl begins there. */
function valueOf(record: UrlRecord, name: 'hops' | 'finalurl' | 'robots'): string | undefined {
  return (record as unknown as Record<string, string | undefined>)[name] ?? record.extra?.[name];
}

/** Paths whose number is remembered; of another it is counted again. */
const MAX_PATHS = 10_000;

/**
 * How many queries of a path there are: what a program answers has no end.
 */
export class PathQueries {
  readonly #db: Pick<CrawlReader, 'queriesOf'>;
  readonly #most: number;
  readonly #counts = new Map<string, number>();

  constructor(db: Pick<CrawlReader, 'queriesOf'>, most: number) {
    this.#db = db;
    this.#most = most;
  }

  /** True if there is room for one more; it is taken. Always for a url without a query. */
  take(pid: number, curl: string): boolean {
    const mark = curl.indexOf('?');
    if (mark < 0) return true;
    const path = curl.slice(0, mark);
    const key = `${pid} ${path}`;
    const count = this.#counts.get(key) ?? this.#db.queriesOf(pid, path, this.#most);
    if (this.#counts.size >= MAX_PATHS) this.#counts.clear();
    this.#counts.set(key, count + (count < this.#most ? 1 : 0));
    return count < this.#most;
  }
}

/** Links that were sent a moment ago, or texts of links: a page's navigation is on every page of its site. A
 * newer one takes an older one's place. */
export class SentLinks {
  readonly #hashes: Uint32Array;
  readonly #mask: number;

  /** @param places a power of two, 8 bytes each */
  constructor(places: number) {
    this.#hashes = new Uint32Array(2 * places);
    this.#mask = places - 1;
  }

  /** True if a link was sent, as far as is remembered; from now on it was. */
  wasSent(curl: string): boolean {
    // Two hashes of 32 bits (MurmurHash3's mixing): the chance that two urls have both is 1 to 2^64.
    let one = 0xdeadbeef ^ curl.length;
    let other = 0x41c6ce57 ^ curl.length;
    for (let i = 0; i < curl.length; i++) {
      const code = curl.charCodeAt(i);
      one = Math.imul(one ^ code, 0x9e3779b1);
      other = Math.imul(other ^ code, 0x5f356495);
    }
    one = Math.imul(one ^ (one >>> 16), 0x85ebca6b) ^ Math.imul(other ^ (other >>> 13), 0xc2b2ae35);
    other = Math.imul(other ^ (other >>> 16), 0x85ebca6b) ^ Math.imul(one ^ (one >>> 13), 0xc2b2ae35);
    one >>>= 0;
    // 0 stands for an empty place.
    other = other >>> 0 || 1;
    const at = 2 * (one & this.#mask);
    if (this.#hashes[at] === one && this.#hashes[at + 1] === other) return true;
    this.#hashes[at] = one;
    this.#hashes[at + 1] = other;
    return false;
  }
}
