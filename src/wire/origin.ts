/** Who announced the urls of a set: its owner, when nothing is said; a push, that something happened to them,
 * by whoever says so; links on pages that are held, a scan, or an audit. All but the owner's come by the
 * spider door alone. Classes order the sets of a provider (docs/design/spidering.md, docs/design/push.md). */
import { SHARD_NUMBERS } from '../config/shards.js';
import { LccError } from '../lib/errors.js';

/** Source of a set that its owner did not send. Of a push, `push-feed`: news of one of its feeds. */
export type SetOrigin = 'push' | 'push-feed' | 'links' | 'scan' | 'audit';

/** 0 its owner's, 1 push, 2 links, 3 scan, 4 audit, 5 push of a provider whose pushes are worth little:
 * fetched in this order. */
export type SetClass = 0 | 1 | 2 | 3 | 4 | 5;

export const LINKS = 2;
/** The class of pushes that are seldom true. */
export const SLOW_PUSH = 5;

const CLASSES: Readonly<Record<SetOrigin, SetClass>> = {
  push: 1,
  'push-feed': 1,
  links: LINKS,
  scan: 3,
  audit: 4,
};

export function classOf(origin: SetOrigin | undefined): SetClass {
  return origin === undefined ? 0 : CLASSES[origin];
}

export function isPush(origin: SetOrigin | undefined): origin is 'push' | 'push-feed' {
  return origin === 'push' || origin === 'push-feed';
}

/** Rank of a set in the order of fetching: by its class, then by its number among those of its home. */
export function rankOf({ class: setClass, psetid }: { class: SetClass; psetid: number }): number {
  return setClass * SHARD_NUMBERS + (psetid % SHARD_NUMBERS);
}

/** The class and the number, among those of its home, that a rank is of. */
export function ofRank(rank: number): { class: number; number: number } {
  return { class: Math.floor(rank / SHARD_NUMBERS), number: rank % SHARD_NUMBERS };
}

const FEED = 'feed';

/** The attributes of a set that say its origin: a push names the door that it came by where it is a feed. */
export function originAttributes(origin: SetOrigin | undefined): { origin?: string; door?: string } {
  if (origin === undefined) return {};
  return origin === 'push-feed' ? { origin: 'push', door: FEED } : { origin };
}

/** The origin of a set by its attributes, or by its name in a spool; `owner` is as if it were missing.
 * @throws LccError `peer.protocol` */
export function readOrigin({
  origin: text,
  door,
}: Readonly<Record<string, string | undefined>>): SetOrigin | undefined {
  if (text === undefined || text === '' || text === 'owner') return undefined;
  if (text === 'push' && door === FEED) return 'push-feed';
  if (text in CLASSES) return text as SetOrigin;
  throw new LccError(
    'peer.protocol',
    `<set>: attribute origin="${text.slice(0, 40)}": give push, links, scan or audit`,
  );
}
