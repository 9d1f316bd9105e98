/** The thread that reads feeds: what strangers wrote may take it as long as it likes, and nobody else. */
import { createHash } from 'node:crypto';
import type { FeedItem } from '../../db/rs/feeds.js';
import { LccError } from '../../lib/errors.js';
import { serveThread } from '../../lib/thread.js';
import { decoded, unpacked } from '../../lib/unpack.js';
import { canonicalUrl } from '../../wire/canonical-url.js';
import { readFeed, type FeedHead } from '../../wire/feed.js';

/** Items read of a feed, and marks kept of it. */
export const MOST_ITEMS = 10_000;
const MAX_URL_LENGTH = 2048;

export interface FeedDocument {
  bytes: Uint8Array;
  /** Where it was found. */
  url: string;
  /** Most bytes of it, unpacked. */
  most: { most: number; text: string };
}

/** Items with urls in canonical form; of one that is gone and names no link, `curl` is ''. */
export interface ReadFeed extends Pick<FeedHead, 'hub' | 'self'> {
  items: readonly FeedItem[];
  gone: readonly FeedItem[];
  /** Items without a usable link, or beyond the limit. */
  left: number;
}

/** A thread whose question fails is lost: what is wrong with a feed is an answer. */
export type FeedAnswer = ReadFeed | { failed: string };

/** @throws LccError `data.malformed`, `data.cut`, `limit` */
export async function readDocument({ bytes, url, most }: FeedDocument): Promise<ReadFeed> {
  const items = new Map<string, FeedItem>();
  let left = 0;
  let text = '';
  for await (const piece of decoded(unpacked(once(bytes), most))) text += piece;
  if (text === '') throw new LccError('data.malformed', 'it is empty');
  const head = readFeed(text, url, false, {
    location(written, { id = '', mark = '', base }) {
      const curl = urlIn(written, base);
      if (curl === undefined || items.size >= MOST_ITEMS) return void left++;
      const key = shortHash(id === '' ? curl : id) + shortHash(curl);
      const before = items.get(key);
      items.set(key, { key, curl, mark: before === undefined ? mark : shortHash(before.mark + mark) });
    },
    leave: () => void left++,
  });
  const gone = head.gone.map(({ id, link, mark }) => ({
    key: `${shortHash(id)}-`,
    curl: urlIn(link ?? (/^https?:/i.test(id) ? id : ''), url) ?? '',
    mark,
  }));
  return { items: [...items.values()], gone, left, hub: head.hub, self: head.self };
}

function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 20);
}

function urlIn(written: string, base: string | undefined): string | undefined {
  if (written === '') return undefined;
  const { curl = '' } = canonicalUrl(written.trim(), base) ?? {};
  return curl === '' || curl.length > MAX_URL_LENGTH ? undefined : curl;
}

// oxlint-disable-next-line typescript/require-await -- what reads it waits for pieces
async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  yield bytes;
}

/** Serves the thread's owner until ended. */
export function serveFeeds(): void {
  serveThread(() => async (document: FeedDocument): Promise<FeedAnswer> => {
    try {
      return await readDocument(document);
    } catch (error) {
      if (error instanceof LccError) return { failed: error.message };
      throw error;
    }
  });
}
