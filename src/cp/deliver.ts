/** Ships urls to a UNS. What stands or falls together: the set is ended only when the input was whole, and
 * the state in the pipe is committed only when the UNS has accepted the set. */
import { closeSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { formatEndpoint } from '../lib/endpoint.js';
import { errnoOf, LccError } from '../lib/errors.js';
import type { Advance } from '../lib/progress.js';
import { readChunksAt } from '../lib/stdio.js';
import { step } from '../lib/steps.js';
import type { ProviderReport } from '../wire/cp-uns/client.js';
import { setStart } from '../wire/cp-uns/client.js';
import type { SetKind } from '../wire/cp-uns/names.js';
import { withRoot } from '../wire/urlprefix.js';
import { DeliveryInput } from './delivery-input.js';
import {
  planOf,
  refuseEmpty,
  refusePartAsFull,
  refusePartialEnd,
  refuseUnrationed,
  type SiteState,
  type SiteStanding,
} from './full-set.js';
import { measureState, refuseOverQuota, type SiteSize } from './quota.js';
import { UnsSession, type SessionOptions } from './session.js';
import {
  lastConnection,
  noteConnection,
  statesBeside,
  wasReplaced,
  wentBack,
  type LastConnection,
  type NumberedConnection,
} from './state/connection.js';
import { pendingPath } from './state/kept.js';
import { isElsewhere } from './state/elsewhere.js';
import { MadeSet, overtaken, settle } from './state/outcome.js';
import { openState } from './state/statefile.js';
import {
  acceptedAs,
  firstRelative,
  isOtherPrefix,
  noteAccepted,
  otherPrefix,
  type AcceptedAs,
} from './state/urlprefix.js';

export interface DeliveryOptions extends SessionOptions {
  /** Undefined: as a one-shot document on the input says. */
  pid: string | undefined;
  password: string | undefined;
  /** Undefined: as the input says, else partial, or none. */
  set: SetKind | undefined;
  urlprefix: string | undefined;
  progress?: Advance | undefined;
  /** Told what is done. */
  explain?: ((what: string) => void) | undefined;
  /** Let a full set without a url remove everything. */
  allowEmpty: boolean;
}

export interface DeliveryOutcome {
  status: ProviderReport;
  /** The set that was sent; undefined when there was nothing to send. */
  sent: { set: SetKind; urls: number; accepted: number } | undefined;
  /** Not a byte was on the input: its writer may have been killed. */
  wasBlank: boolean;
  /**
   * The LCC was new to a site that counted urls as delivered: all of them were sent, not only what changed.
   */
  wasNew: boolean;
  /** True if the state of the site was kept; undefined when there was none in the pipe. */
  committed: boolean | undefined;
  /** Where the state of the site is, and was not kept: on another machine. */
  elsewhere: { state: string; host: string } | undefined;
  /** The UNS wants a full set and did not get one. */
  stillWanted: boolean;
  /** True if the set names what another LCC holds. */
  isOfCache: boolean;
  /** True if the set is of a list that names a part of the site only. */
  isStatePartial: boolean;
  /** Why the state is not the whole of its provider; undefined: it is. */
  sharedWith: string | undefined;
  /** The urlprefix of what a full set under another one has removed. */
  movedFrom: string | undefined;
  /** The statefile is not the one that the last run left, and whether all was sent for that. */
  replaced: { isHealed: boolean } | undefined;
  /** Numbers of connections that show that the LCC was put back to an earlier time, and whether all was sent
   * for that. */
  setBack: { from: number; to: number; isHealed: boolean } | undefined;
}

/**
 * @param talk gets the status as soon as it is known
 * @throws LccError: nothing was committed then
 */
export async function deliver(
  input: AsyncIterable<Buffer>,
  options: DeliveryOptions,
  talk: (status: ProviderReport) => void,
): Promise<DeliveryOutcome> {
  const urls = new DeliveryInput(input, options.limits);
  // Connecting waits for the input: its writer may take longer than a UNS is willing to wait for us.
  await urls.begin();
  refusePartAsFull(urls, options.set);
  const { pid, password } = credentials(options, urls);
  const site = siteOf(urls);
  let session: UnsSession | undefined;
  try {
    options.explain?.(`connects to ${formatEndpoint(options.uns)}`);
    session = await UnsSession.open(options);
    const status = await session.init(pid, password);
    talk(status);
    const now = { numbering: status.numbering ?? '', pid: String(Number(pid)), seq: status.seq };
    return await ship(session, { status, now }, urls, site, options);
  } catch (error) {
    session?.drop();
    if (session === undefined || session.fate === 'unsent' || session.fate === 'rejected')
      site?.made?.notAccepted();
    throw error;
  }
}

interface Site extends SiteState {
  /** The state that the input leads to; undefined when there is nothing to commit, or not by us. */
  made: MadeSet | undefined;
  elsewhere: { state: string; host: string } | undefined;
  /** Where the last connection is noted; undefined on another machine. */
  state: string | undefined;
  last: LastConnection | undefined;
  /** The statefile is another than the last run left. */
  isReplaced: boolean;
  /** How it was last accepted; undefined: not known. */
  lastAs: AcceptedAs | undefined;
}

/** @throws LccError `try.later` when another run has taken its place */
function siteOf({ state: named }: DeliveryInput): Site | undefined {
  if (named === undefined) return undefined;
  const { state, id, base, host = '' } = named;
  if (isElsewhere(named))
    return {
      whole: undefined,
      made: undefined,
      elsewhere: { state, host },
      hasDelivered: base !== '',
      state: undefined,
      last: undefined,
      isReplaced: false,
      lastAs: undefined,
    };
  const last = lastConnection(state);
  return {
    whole: id === '' ? state : pendingPath(state, id),
    made: id === '' ? undefined : MadeSet.find(named),
    elsewhere: undefined,
    hasDelivered: (statSync(state, { throwIfNoEntry: false })?.size ?? 0) > 0,
    state,
    last,
    isReplaced: wasReplaced(last, state),
    lastAs: acceptedAs(state),
  };
}

function standingOf(
  status: ProviderReport,
  now: NumberedConnection,
  urls: DeliveryInput,
  site: Site | undefined,
): SiteStanding & Pick<AcceptedAs, 'sharedIn'> {
  const beside = site?.state === undefined ? [] : statesBeside(site.state, now);
  const sharedIn = site && sharedFolder(site, beside);
  const others =
    beside.length > 0
      ? `${beside.join(', ')} beside this state ${beside.length === 1 ? 'announces' : 'announce'}`
      : sharedIn && `the states that were beside this one in ${sharedIn} announce`;
  const sharedWith = others ?? (urls.isShare ? 'other pipes or earlier lists announce' : undefined);
  // One that is new to the provider gets everything anyway.
  const isComparable = site !== undefined && !status.isNew;
  return {
    isSetBack: isComparable && wentBack(site.last, now),
    isReplaced: isComparable && site.isReplaced,
    sharedWith: sharedWith === undefined ? undefined : `${sharedWith} for provider ${now.pid}, too`,
    sharedIn,
    isAnswered: site?.last?.isAnswered === true,
  };
}

/** The folder where a state is one of several: where others are, or were before it was put elsewhere. */
function sharedFolder({ state, lastAs }: Site, beside: readonly string[]): string | undefined {
  if (state === undefined) return undefined;
  const here = dirname(state);
  if (beside.length > 0) return here;
  return lastAs?.sharedIn === here ? undefined : lastAs?.sharedIn;
}

async function ship(
  session: UnsSession,
  { status, now }: { status: ProviderReport; now: NumberedConnection },
  urls: DeliveryInput,
  site: Site | undefined,
  options: DeliveryOptions,
): Promise<DeliveryOutcome> {
  const standing = standingOf(status, now, urls, site);
  const { isSetBack, isReplaced, sharedWith } = standing;
  const urlprefix = prefixOf(options, urls, site);
  const last = site?.lastAs?.urlprefix;
  const { state, hasDelivered = false } = site ?? {};
  const isOther = state !== undefined && hasDelivered && isOtherPrefix(state, last, urlprefix);
  // A full set that was asked for moves all of it; to an LCC that is new all of it goes.
  if (isOther && !status.isNew && (options.set ?? urls.set) !== 'full')
    throw otherPrefix(state, { last, urlprefix, isShare: sharedWith !== undefined });
  const { set, whole } = planOf(status, urls, site, options.set, standing);
  options.explain?.(whole === undefined ? `sends a ${set} set` : `sends all of ${whole} as a ${set} set`);
  const start = setStart(set, urlprefix);
  let sent: DeliveryOutcome['sent'];
  let removed = 0;

  if (whole !== undefined) {
    // The input is not what will be sent, but only a whole input makes the state worth sending.
    await urls.drain();
    const size = sizeOf(whole);
    refuseOverQuota(size, status);
    await session.send(start);
    await sendState(session, whole, sent => options.progress?.(sent, size.urls));
    sent = { set, urls: size.urls, accepted: await finish(session, site, options) };
  } else if (set === 'full' || !urls.isEmpty) {
    refuseEmpty(urls, set, site, options.allowEmpty);
    if (site?.whole !== undefined) refuseOverQuota(sizeOf(site.whole), status);
    refuseUnrationed(set, status, site?.state);
    await session.send(start);
    const rest = urls.rest();
    let told = 0;
    for (;;) {
      // A rejection must not have to wait for an input that stalls.
      const next = await Promise.race([rest.next(), session.failed]);
      if (next.done === true) break;
      await session.send(next.value);
      options.progress?.(urls.size.urls - told);
      told = urls.size.urls;
      if (set === 'full') refuseOverQuota(urls.size, status);
    }
    refusePartialEnd(urls, set);
    sent = { set, urls: urls.size.urls, accepted: await finish(session, site, options) };
    if (urls.deletes < sent.urls) removed = urls.deletes - session.refusedDeletes;
  }
  await session.close();
  const isHealed =
    sent?.set === 'full' || (sharedWith !== undefined && sent !== undefined && whole !== undefined);
  // Until it is healed the next run is to notice it, too.
  const noted = isHealed || !(isSetBack || isReplaced) ? site?.state : undefined;
  if (noted !== undefined && sent !== undefined) noteConnection(noted, now);
  const committed = site && settle(site, sent, { urlprefix, removed });
  if (noted !== undefined && committed === true)
    noteConnection(noted, now, {
      isAnswered: status.fullset.wanted && (isHealed || standing.isAnswered),
    });
  if (noted !== undefined && committed === true && sent !== undefined)
    noteAccepted(noted, { urlprefix, sharedIn: standing.sharedIn });
  const wasNew = status.isNew && whole !== undefined && set === 'partial';
  const stillWanted = status.fullset.wanted && sent?.set !== 'full';
  const { isBlank, isOfCache, isStatePartial } = urls;
  const elsewhere = urls.state?.id === '' ? undefined : site?.elsewhere;
  const setBack = isSetBack ? { from: site?.last?.seq ?? 0, to: now.seq, isHealed } : undefined;
  return {
    setBack,
    replaced: isReplaced ? { isHealed } : undefined,
    sharedWith,
    status,
    sent,
    wasBlank: isBlank,
    wasNew,
    committed,
    elsewhere,
    stillWanted,
    isOfCache,
    isStatePartial,
    movedFrom: isOther && sent?.set === 'full' ? last : undefined,
  };
}

/** The prefix of relative urls. Where the input has none yet, the whole state says what they are like. */
function prefixOf(options: DeliveryOptions, urls: DeliveryInput, site: Site | undefined): string {
  const given = options.urlprefix ?? urls.urlprefix ?? '';
  if (withRoot(given, undefined) === given) return given;
  const { whole } = site ?? {};
  return withRoot(given, urls.firstRelative ?? (whole && present(whole, () => firstRelative(whole))));
}

/** Ends the set, and with it lets it count. */
async function finish(
  session: UnsSession,
  site: Site | undefined,
  { errorsKept, explain }: DeliveryOptions,
): Promise<number> {
  errorsKept();
  site?.made?.aboutToSend();
  explain?.('sends the end of the set, and waits for the answer');
  await session.endSet();
  step('cp.set.sent');
  const accepted = await session.accepted();
  step('cp.set.accepted');
  // Those that came after the end: the set counts, but the state is not kept, and the next run is told them
  // again.
  errorsKept();
  return accepted;
}

async function sendState(session: UnsSession, whole: string, progress: Advance): Promise<void> {
  const fd = present(whole, () => openState(whole));
  try {
    for (const chunk of readChunksAt(fd, 0, whole)) {
      await session.send(chunk);
      progress(linesIn(chunk));
    }
  } finally {
    closeSync(fd);
  }
}

/** @throws LccError `try.later` when it is gone */
function sizeOf(whole: string): SiteSize {
  return present(whole, () => measureState(whole));
}

/** The result of `read` on a state, if another run, which was faster, has not taken its place. */
function present<T>(whole: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (errnoOf(error) !== 'ENOENT') throw error;
    throw overtaken(whole);
  }
}

function linesIn(chunk: Buffer): number {
  let lines = 0;
  for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) lines++;
  return lines;
}

function credentials(options: DeliveryOptions, urls: DeliveryInput): { pid: string; password: string } {
  const pid = options.pid ?? urls.init?.['id'];
  if (pid === undefined) throw new LccError('usage', '--pid=N is required');
  const password = options.password ?? urls.init?.['password'] ?? urls.init?.['passwd'];
  if (password === undefined)
    throw new LccError('usage', 'a password is required: --pwdfile, LCC_PWD in the environment, or --pwd');
  return { pid, password };
}
