/** Reads feeds: RSS, Atom, RDF, JSON Feed. What makes a change of an item is what it says: its dates do not
 * move with edits. */
import { createHash } from 'node:crypto';
import { decodeXML } from 'entities';
import { parseFeed } from 'feedsmith';
import { LccError, messageOf } from '../lib/errors.js';
import { isLink, isPermalink } from '../lib/item-links.js';

type Parsed = ReturnType<typeof parseFeed>;
type Feed<F extends Parsed['format']> = Extract<Parsed, { format: F }>['feed'];

export interface ItemFacts {
  /** The item, as its feed calls it. */
  id?: string | undefined;
  /** Another one where the item says something else. */
  mark?: string | undefined;
  /** By which a relative one is resolved; left out: it must be absolute. */
  base?: string | undefined;
}

/** Reports of the reader. */
export interface FeedFound {
  /** The page of an item, or an enclosure. */
  location(text: string, facts: ItemFacts): void;
  /** Something was left out. */
  leave(what: string): void;
}

/** An item that is gone, in the words of its feed (RFC 6721). */
export interface GoneItem {
  id: string;
  link: string | undefined;
  mark: string;
}

/** The part of a feed that is of no item. */
export interface FeedHead {
  /** Urls as they are written: the first hub, and the address that it knows the feed by. */
  hub: string | undefined;
  self: string | undefined;
  gone: readonly GoneItem[];
}

interface Item {
  id: string | undefined;
  url: string | undefined;
  /** The `xml:base` of the item. */
  base?: string | undefined;
  facts: readonly unknown[];
  enclosures: readonly { url: string | undefined; facts: readonly unknown[] }[];
}

/**
 * @param where the feed's url, by which relative ones are resolved; undefined where it is a file
 * @throws LccError `data.malformed` for what is no feed, or one that is damaged
 */
export function readFeed(
  text: string,
  where: string | undefined,
  withEnclosures: boolean,
  found: FeedFound,
): FeedHead {
  const parsed = parse(withInnerBases(text));
  const root = baseOf('xml' in parsed.feed ? parsed.feed.xml?.base : undefined, where);
  const base = baseOf(valueIn(CHANNEL_BASE.exec(text)), root);
  for (const { id, url, base: own, facts, enclosures } of itemsOf(parsed)) {
    const itsBase = baseOf(own, base);
    const tell = (written: string, of: readonly unknown[]): void => {
      const [link = '', ...bases] = written.split(BASE_MARK).reverse();
      found.location(link, {
        id,
        base: bases.reverse().reduce((outer, one) => baseOf(one, outer), itsBase),
        mark: md5Of(of),
      });
    };
    if (url === undefined) found.leave('an item without a link');
    else tell(url, facts);
    if (withEnclosures) for (const one of enclosures) if (one.url !== undefined) tell(one.url, one.facts);
  }
  const links = linksOf(parsed);
  const linked = (rel: string) =>
    links.find(link => link.rel?.toLowerCase() === rel)?.href?.replace(UP_TO_MARK, '');
  return { hub: linked('hub'), self: linked('self'), gone: goneIn(text) };
}

/** In front of a link stands the base of its own element, which the parser does not tell; a character that no
 * url has is between. */
const BASE_MARK = '\ue000';
const UP_TO_MARK = /^.*\ue000/s;
const LINK_WITH_BASE = /<(?:[\w.-]+:)?link\s[^<>]*\bxml:base\s*=[^<>]*>/gi;
const BASE_ATTRIBUTE = /\sxml:base\s*=\s*(?:"([^"<>]*)"|'([^'<>]*)')/i;
/** The base of the channel counts neither. */
const CHANNEL_BASE = /<channel(?:\s[^<>]*)?\sxml:base\s*=\s*(?:"([^"<>]*)"|'([^'<>]*)')/i;
const HREF_ATTRIBUTE = /\shref\s*=\s*["']/i;

function withInnerBases(text: string): string {
  if (!text.includes('xml:base')) return text;
  return text.replace(LINK_WITH_BASE, tag => {
    const base = `${valueIn(BASE_ATTRIBUTE.exec(tag)) ?? ''}${BASE_MARK}`;
    // The link of RSS is the text that follows.
    if (!HREF_ATTRIBUTE.test(tag)) return tag.endsWith('/>') ? tag : `${tag}${base}`;
    return tag.replace(HREF_ATTRIBUTE, begin => `${begin}${base}`);
  });
}

function valueIn(found: RegExpExecArray | null): string | undefined {
  return found?.[1] ?? found?.[2];
}

/** CDATA and comments, to their end or that of the document; the end of the root; tags of a feed. */
const PARTS =
  /<!\[CDATA\[[^]*?(?:\]\]>|$)|<!--[^]*?(?:-->|$)|(<\/(?:[\w.-]+:)?(?:rss|feed|rdf)\s*>)|<\/?(?:[\w.-]+:)?(?:item|entry|channel)[\s/>]/gi;

/** Where the root ends, if it does, and no tag of a feed follows: caches and plugins write scripts and
 * comments there. */
function endOf(text: string): number | undefined {
  let end: number | undefined;
  for (const { 0: part, 1: rootEnd, index } of text.matchAll(PARTS))
    if (!part.startsWith('<!')) end = rootEnd === undefined ? undefined : index + part.length;
  return end;
}

function parse(text: string): Parsed {
  const end = text.startsWith('{') ? text.lastIndexOf('}') + 1 : endOf(text);
  let parsed: Parsed;
  try {
    parsed = parseFeed(text.slice(0, end));
  } catch (error) {
    throw new LccError('data.malformed', `it is no feed, or a damaged one: ${messageOf(error)}`, {
      cause: error,
    });
  }
  // The parser makes the best of a feed that is cut.
  if (parsed.format !== 'json' && end === undefined) throw new LccError('data.cut', 'it is cut off');
  return parsed;
}

function baseOf(written: string | undefined, outer: string | undefined): string | undefined {
  return written !== undefined && URL.canParse(written, outer) ? new URL(written, outer).href : outer;
}

/** The first that is a link. */
function linkIn(link: string | undefined, permalink?: string): string | undefined {
  if (link !== undefined && isLink(link.slice(link.lastIndexOf(BASE_MARK) + 1))) return link;
  return permalink !== undefined && isPermalink(permalink) ? permalink : undefined;
}

function itemsOf(parsed: Parsed): Item[] {
  switch (parsed.format) {
    case 'rss':
      return rssItems(parsed.feed);
    case 'atom':
      return atomItems(parsed.feed);
    case 'rdf':
      return (parsed.feed.items ?? []).map(({ link, rdf, title, description, dc, content }) => ({
        id: rdf?.about,
        url: linkIn(link, rdf?.about),
        facts: [rdf?.about, dc, title, description, content],
        enclosures: [],
      }));
    case 'json':
      return jsonItems(parsed.feed);
  }
}

/** Links of the feed itself. */
function linksOf(parsed: Parsed): readonly { rel?: string | undefined; href?: string | undefined }[] {
  switch (parsed.format) {
    case 'atom':
      return parsed.feed.links ?? [];
    case 'json':
      return [
        { rel: 'self', href: parsed.feed.feed_url },
        ...(parsed.feed.hubs ?? []).map(({ url }) => ({ rel: 'hub', href: url })),
      ];
    case 'rss':
    case 'rdf':
      return parsed.feed.atom?.links ?? [];
  }
}

const GONE = /<(?:[\w.-]+:)?deleted-entry(\s[^<>]*?)(\/?)>/gi;
const GONE_END = /<\/(?:[\w.-]+:)?deleted-entry\s*>/i;
const REF_ATTRIBUTE = /\sref\s*=\s*(?:"([^"<>]*)"|'([^'<>]*)')/i;
const GONE_LINK = /<(?:[\w.-]+:)?link\s[^<>]*?\bhref\s*=\s*(?:"([^"<>]*)"|'([^'<>]*)')/i;
/** A deleted-entry has a few short elements. */
const MAX_GONE_LENGTH = 4096;
const MOST_GONE = 10_000;

/** The parser knows nothing of them. */
function goneIn(text: string): GoneItem[] {
  if (!text.includes('deleted-entry')) return [];
  const tags = [...text.matchAll(GONE)].slice(0, MOST_GONE);
  return tags.flatMap(({ 0: tag, 1: attributes = '', 2: isEmpty, index }) => {
    const id = valueIn(REF_ATTRIBUTE.exec(attributes));
    const rest = isEmpty === '/' ? '' : text.slice(index + tag.length, index + MAX_GONE_LENGTH);
    const link = valueIn(GONE_LINK.exec(rest.split(GONE_END, 1)[0] ?? ''));
    return id === undefined
      ? []
      : [{ id: decodeXML(id), link: link && decodeXML(link), mark: md5Of([attributes]) }];
  });
}

function rssItems(feed: Feed<'rss'>): Item[] {
  return (feed.items ?? []).map(item => {
    const { link, guid, pubDate, title, description, content, enclosures = [] } = item;
    // Anything but false in it says that it is a link.
    const permalink = guid?.isPermaLink === false ? undefined : guid?.value;
    return {
      id: guid?.value,
      url: linkIn(link, permalink),
      base: item.xml?.base,
      facts: [guid?.value, pubDate, item.dc, title, description, content],
      enclosures: enclosures.map(({ url, length, type }) => ({ url, facts: [url, length, type] })),
    };
  });
}

function atomItems(feed: Feed<'atom'>): Item[] {
  return (feed.entries ?? []).map(entry => {
    const { links = [], id, published, updated, title, summary, content } = entry;
    const pages = links.filter(({ rel }) => rel === undefined || rel.toLowerCase() === 'alternate');
    const page = pages.find(({ type }) => type === undefined || /html/i.test(type)) ?? pages[0];
    return {
      id,
      url: linkIn(page?.href),
      base: entry.xml?.base,
      facts: [id, published, updated, title, summary, content],
      enclosures: links
        .filter(({ rel }) => rel?.toLowerCase() === 'enclosure')
        .map(({ href, length, type }) => ({ url: href, facts: [href, length, type] })),
    };
  });
}

function jsonItems(feed: Feed<'json'>): Item[] {
  return (feed.items ?? []).map(item => ({
    id: item.id,
    url: linkIn(item.url),
    facts: [
      item.id,
      item.date_published,
      item.date_modified,
      item.title,
      item.summary,
      item.content_html,
      item.content_text,
    ],
    enclosures: (item.attachments ?? []).map(({ url, size_in_bytes, mime_type }) => ({
      url,
      facts: [url, size_in_bytes, mime_type],
    })),
  }));
}

/** The md5 of all facts that are there: fields that are missing are null. */
function md5Of(facts: readonly unknown[]): string {
  return createHash('md5').update(JSON.stringify(facts)).digest('hex');
}
