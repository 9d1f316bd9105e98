/** Reads feeds: RSS, Atom, RDF, JSON Feed. What makes a change of an item is what it says: its dates do not move with edits. */
import { createHash } from 'node:crypto';
import { parseFeed } from 'feedsmith';
import { LccError, messageOf } from '../lib/errors.js';
import { parseUrl } from '../fetch/target.js';
import type { Found } from './found.js';

type Parsed = ReturnType<typeof parseFeed>;
type Feed<F extends Parsed['format']> = Extract<Parsed, { format: F }>['feed'];

interface Item {
  url: string | undefined;
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
  found: Found,
): void {
  const parsed = parse(text);
  const base = baseOf(parsed, where);
  for (const { url, facts, enclosures } of itemsOf(parsed)) {
    if (url === undefined) found.leave('an item without a link');
    else found.location(url, { base, mark: md5Of(facts) });
    if (withEnclosures)
      for (const one of enclosures)
        if (one.url !== undefined) found.location(one.url, { base, mark: md5Of(one.facts) });
  }
}

/** The parser makes the best of a feed that is cut: whether it is, its last tag says. */
const LAST_TAG = /^<\/(?:[\w.-]+:)?(?:rss|feed|rdf)\s*>/i;

function parse(text: string): Parsed {
  let parsed: Parsed;
  try {
    parsed = parseFeed(text);
  } catch (error) {
    throw new LccError('data.malformed', `it is no feed, or a damaged one: ${messageOf(error)}`, {
      cause: error,
    });
  }
  if (parsed.format !== 'json' && !LAST_TAG.test(text.slice(text.lastIndexOf('</'))))
    throw new LccError('data.cut', 'it is cut off');
  return parsed;
}

function baseOf({ feed }: Parsed, where: string | undefined): string | undefined {
  const base = 'xml' in feed ? feed.xml?.base : undefined;
  if (base === undefined) return where;
  return parseUrl(base, where)?.href ?? where;
}

function itemsOf(parsed: Parsed): Item[] {
  switch (parsed.format) {
    case 'rss':
      return rssItems(parsed.feed);
    case 'atom':
      return atomItems(parsed.feed);
    case 'rdf':
      return (parsed.feed.items ?? []).map(({ link, rdf, title, description, dc, content }) => ({
        url: link ?? rdf?.about,
        facts: [rdf?.about, dc, title, description, content],
        enclosures: [],
      }));
    case 'json':
      return jsonItems(parsed.feed);
  }
}

function rssItems(feed: Feed<'rss'>): Item[] {
  return (feed.items ?? []).map(item => {
    const { link, guid, pubDate, title, description, content, enclosures = [] } = item;
    // Anything but false in it says that it is a link.
    const permalink = guid?.isPermaLink === false ? undefined : guid?.value;
    return {
      url: link ?? permalink,
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
      url: page?.href,
      facts: [id, published, updated, title, summary, content],
      enclosures: links
        .filter(({ rel }) => rel?.toLowerCase() === 'enclosure')
        .map(({ href, length, type }) => ({ url: href, facts: [href, length, type] })),
    };
  });
}

function jsonItems(feed: Feed<'json'>): Item[] {
  return (feed.items ?? []).map(item => ({
    url: item.url,
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

/** Of what is there: fields that are missing are null. */
function md5Of(facts: readonly unknown[]): string {
  return createHash('md5').update(JSON.stringify(facts)).digest('hex');
}
