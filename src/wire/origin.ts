/**
 * Who announced the urls of a set: its owner, when nothing is said; links on pages that are held, a scan, or
 * an audit, all of which come by the spider door alone. Classes order the sets of a provider
 * (docs/design/spidering.md).
 */
import { LccError } from '../lib/errors.js';

/** Source of a set that its owner did not send. */
export type SetOrigin = 'links' | 'scan' | 'audit';
export const ORIGINS: readonly SetOrigin[] = ['links', 'scan', 'audit'];

/** 0 its owner's, 1 links, 2 scan, 3 audit: fetched in this order. */
export type SetClass = 0 | 1 | 2 | 3;

export function classOf(origin: SetOrigin | undefined): SetClass {
  return origin === undefined ? 0 : ((ORIGINS.indexOf(origin) + 1) as SetClass);
}

/** Above every number of a set. */
const CLASS_RANKS = 2 ** 42;

/** Rank of a set in the order of fetching: by its class, then by its number. */
export function rankOf({ class: setClass, psetid }: { class: SetClass; psetid: number }): number {
  return setClass * CLASS_RANKS + psetid;
}

/** The class and the number that a rank is of. */
export function ofRank(rank: number): { class: number; psetid: number } {
  return { class: Math.floor(rank / CLASS_RANKS), psetid: rank % CLASS_RANKS };
}

/** The attribute `origin` of a set; `owner` is as if it were missing. @throws LccError `peer.protocol` */
export function readOrigin(text: string | undefined): SetOrigin | undefined {
  if (text === undefined || text === '' || text === 'owner') return undefined;
  const origin = ORIGINS.find(one => one === text);
  if (origin === undefined)
    throw new LccError(
      'peer.protocol',
      `<set>: attribute origin="${text.slice(0, 40)}": give links, scan or audit`,
    );
  return origin;
}
