/** When a full set goes out, and when not: the LCC removes all that it does not name. The whole state is sent
 * where one is wanted; what is only a part of a site, or nothing, is never sent as one. */
import { LccError } from '../lib/errors.js';
import type { ProviderReport } from '../wire/cp-uns/client.js';
import type { SetKind } from '../wire/cp-uns/names.js';
import type { DeliveryInput } from './delivery-input.js';

/** The state of the site in the pipe. */
export interface SiteState {
  /** Where it is as a whole; undefined where that is on another machine. */
  whole: string | undefined;
  /** True if it counts urls as delivered: in its first run everything is on the input anyway. */
  hasDelivered: boolean;
}

/** How a state and its LCC came apart, and what the state is of its provider. */
export interface SiteStanding {
  /** The LCC was put back to an earlier time. */
  isSetBack: boolean;
  /** The state was. */
  isReplaced: boolean;
  /** Other states announce for the provider, too, or none can name all; undefined: it is the whole of it. */
  sharedWith: string | undefined;
  /** All of such a state was sent since a full set is wanted. */
  isAnswered: boolean;
}

/** Ways to end that several states share a provider, for messages. */
export const FULL_OF_STATES =
  'remove a state that nobody uses any more, or send all states as one, where they have one urlprefix: sort -u FILE... | lcccp --set=full ...';

/** The command that sends a full set of what an LCC holds, for messages. */
export const FULL_OF_CACHE =
  'with the same --pid, --prefix and --mime and nothing else: lccq -- lcccp --set=full …';

/**
 * @throws LccError where part of what is held would be sent as all there is: the LCC would remove everything
 * else
 */
export function refusePartAsFull({ partOfCache, set }: DeliveryInput, asked: SetKind | undefined): void {
  if (partOfCache === undefined || (asked ?? set) !== 'full') return;
  throw new LccError(
    asked === undefined ? 'data.refused' : 'usage',
    `${asked === undefined ? 'set="full"' : '--set=full'}: standard input is only a part of what is held ` +
      `(${partOfCache}), and all else would be removed; send the whole ${FULL_OF_CACHE}`,
  );
}

/**
 * @throws LccError `data.refused` where a full set would remove what only the end of the stream says is
 * missing from it
 */
export function refusePartialEnd({ endsPartial }: DeliveryInput, set: SetKind): void {
  if (set === 'full' && endsPartial)
    throw new LccError(
      'data.refused',
      'standard input is only a part of the site (its end says set="partial"), and a full set of it would remove the rest; ' +
        'the set was not sent',
    );
}

/**
 * @throws LccError `usage`, `data.refused` where a state that is not the whole of its provider would be sent
 * as that
 */
function refuseShareAsFull(sharedWith: string | undefined, wanted: SetKind | undefined): void {
  if (sharedWith === undefined) return;
  throw new LccError(
    wanted === undefined ? 'data.refused' : 'usage',
    `${wanted === undefined ? 'set="full"' : '--set=full'}: ${sharedWith}, and a full set of this state would remove what they ` +
      `have announced; ${FULL_OF_STATES}`,
  );
}

/**
 * Which kind of set goes out, and where the state is that is sent as a whole in place of what is on the
 * input.
 * @param wanted undefined: as the input says, else partial
 * @throws LccError `usage`, `data.refused` when what was asked for would delete what was not named, or keep
 * what is gone
 */
export function planOf(
  status: ProviderReport,
  urls: DeliveryInput,
  site: SiteState | undefined,
  wanted: SetKind | undefined,
  { isSetBack, isReplaced, sharedWith, isAnswered }: SiteStanding,
): { set: SetKind; whole?: string } {
  const asked = wanted ?? urls.set ?? 'partial';
  if (asked === 'full' && site !== undefined) refuseShareAsFull(sharedWith, wanted);
  if (urls.set === 'full' && asked === 'partial' && site !== undefined)
    throw new LccError('usage', '--set=partial: the input is a full set, from which deletions are missing');
  if (urls.isStatePartial && asked === 'full')
    throw new LccError(
      'usage',
      '--set=full: the list that lcccpstate read names a part of the site only, and all else would be removed',
    );
  if (urls.set !== 'partial' || site?.whole === undefined) {
    if (urls.set === 'partial' && asked === 'full')
      throw new LccError('usage', '--set=full: the input holds changes only; run lcccpstate with --full');
    if (urls.set === 'partial' && site !== undefined && site.hasDelivered && status.isNew)
      throw new LccError(
        'data.refused',
        'the LCC never had a set of this provider, and the input holds changes only: run lcccpstate, once, with --full',
      );
    return { set: asked };
  }
  const cameApart = isSetBack || isReplaced;
  const isNeeded = status.fullset.wanted || (cameApart && status.fullset.allowed !== 0);
  // All of a share, once: it brings back what is missing there, and removes nothing.
  if (
    sharedWith !== undefined &&
    wanted === undefined &&
    (cameApart || (status.fullset.wanted && !isAnswered))
  )
    return { set: 'partial', whole: site.whole };
  const mayBeFull = wanted === undefined && !urls.isStatePartial && sharedWith === undefined;
  if (asked === 'full' || (isNeeded && mayBeFull)) return { set: 'full', whole: site.whole };
  // The urls that the state counts as delivered went to another LCC, or to this one before the provider was
  // added again. A partial set does: nothing is here that a full one would remove, and it costs no ration.
  return status.isNew && site.hasDelivered ? { set: 'partial', whole: site.whole } : { set: 'partial' };
}

/** @throws LccError `peer.rejected` for a full set nobody wants and the ration does not cover */
export function refuseUnrationed(set: SetKind, { fullset }: ProviderReport, state: string | undefined): void {
  if (set !== 'full' || fullset.allowed !== 0 || fullset.wanted) return;
  const way =
    state === undefined
      ? 'send a partial one'
      : `run again when there is one, or remove ${state}: all of it is sent as a partial set then, which removes nothing`;
  throw new LccError(
    'peer.rejected',
    `no full sets are left for now (code 201): the set was not sent; ${way}`,
  );
}

/**
 * An input that is empty because something upstream failed must not remove everything.
 * @throws LccError `data.refused` for a full set without a url, unless that is permitted; with a state in the
 * pipe, `lcccpstate` has refused an empty site before
 */
export function refuseEmpty(
  { isEmpty }: DeliveryInput,
  set: SetKind,
  site: SiteState | undefined,
  allowEmpty: boolean,
): void {
  if (set === 'full' && isEmpty && site === undefined && !allowEmpty)
    throw new LccError(
      'data.refused',
      'a full set without a url would remove everything that is held; --allow-empty means just that',
    );
}
