/** Pages that a crawl found by a link and that ask not to be kept (noindex, code 618). */
import { UNWANTED } from '../../wire/codes.js';
import { AS_SERVED } from '../../wire/url.js';
import type { ContentStore, Held } from '../cache/content.js';
import type { AbsentPagesStore } from './absent-pages.js';
import type { QueuedUrl } from './row.js';
import type { QueueReader } from './sets.js';

interface Stores {
  queue: QueueReader;
  content: ContentStore;
  known: AbsentPagesStore;
}

/**
 * Removes what is held of such a page, and keeps it from being asked for again for a time; no provider is
 * told. Inside a transaction.
 * @returns what was held; undefined where it is held no more, is another by now, waits, or was announced by
 *   its owner: nothing is done then
 */
export function removeUnwanted(
  { queue, content, known }: Stores,
  pid: number,
  url: QueuedUrl,
  nowS: number,
): Held | undefined {
  const held = content.find(pid, url.curl, url.mimetype);
  if (held === undefined || held.hops === null || held.md5 !== url.md5) return undefined;
  const waits = [url.mimetype, AS_SERVED].some(
    mimetype => queue.waiting(pid, url.curl, mimetype) !== undefined,
  );
  if (waits) return undefined;
  content.remove(pid, held, nowS);
  const { hops } = held;
  known.note({ pid, curl: url.curl, hops }, { code: UNWANTED, absence: 'unwanted' }, nowS);
  return held;
}
