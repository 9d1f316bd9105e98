/** The fate of a set that lcccpstate made, in the hands of its deliverer: accepted (its state becomes the
 * statefile), not accepted (the statefile stays as it was), or in doubt. */
import { closeSync, openSync, readSync, renameSync } from 'node:fs';
import { renameDurably } from '../../lib/durable.js';
import { errnoOf, LccError } from '../../lib/errors.js';
import { ownMark } from '../../lib/process-mark.js';
import { step } from '../../lib/steps.js';
import type { SetKind } from '../../wire/cp-uns/names.js';
import { slashRemark } from '../../wire/urlprefix.js';
import type { NamedState } from './elsewhere.js';
import {
  doubtfulSets,
  forget,
  forgetCurrent,
  isUnderWay,
  keptSets,
  pendingPath,
  sentPath,
  setPath,
  statefileId,
  type KeptSet,
} from './kept.js';
import type { Origin } from './pending.js';

/** More than the first line of a set has. */
const HEAD_BYTES = 4096;

export class MadeSet {
  readonly #state: string;
  readonly #id: string;
  readonly #origin: Origin;
  /** Sent before, with an outcome that is not known. */
  readonly #wasInDoubt: boolean;
  #path: string;
  /** Once it is about to be sent: the statefile it may take the place of, and the sets it settles that were
   * not under way then, under the names they had: one that has been sent since has another. */
  #sending: { replaces: string; settled: readonly KeptSet[] } | undefined;

  private constructor(state: string, { id, path, fate }: KeptSet) {
    this.#state = state;
    this.#id = id;
    this.#path = path;
    this.#wasInDoubt = fate === 'sent';
    this.#origin = originOf(path);
  }

  /** @throws LccError `try.later` when another run has taken its place, or is sending it */
  static find({ state, id }: Pick<NamedState, 'state' | 'id'>): MadeSet {
    try {
      const set = keptSets(state).find(kept => kept.id === id && kept.fate !== 'doubt');
      if (set !== undefined && !isUnderWay(set) && statefileId(pendingPath(state, id)) === id)
        return new MadeSet(state, set);
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT') throw error;
    }
    throw overtaken(state);
  }

  /**
   * The one made last, undefined where there is none.
   * @throws LccError `try.later` when there are others that it knows nothing of
   */
  static last(state: string): MadeSet | undefined {
    const sets = doubtfulSets(state);
    const newest = sets
      .filter(set => !isUnderWay(set) && statefileId(pendingPath(state, set.id)) === set.id)
      .sort((a, b) => (timeOf(a) < timeOf(b) ? 1 : -1))[0];
    if (newest === undefined) return undefined;
    const last = new MadeSet(state, newest);
    const known = [newest.id, ...last.#origin.settles];
    if (sets.every(({ id }) => known.includes(id))) return last;
    throw new LccError(
      'try.later',
      `${state}: several runs are under way, nothing was committed; the next one sends the difference again`,
    );
  }

  /**
   * From now on it is in doubt. Called when all but the end of the set has been sent.
   * @throws LccError `try.later` when another run was faster: the end must not be sent then
   */
  aboutToSend(): void {
    const { base, settles } = this.#origin;
    const settled = keptSets(this.#state).filter(set => settles.includes(set.id) && !isUnderWay(set));
    const replaces = statefileId(this.#state);
    const isKnown = replaces === base || settles.includes(replaces);
    const sent = sentPath(this.#state, this.#id, ownMark());
    try {
      // A set that was called unsent must not be found so called after a power cut.
      renameDurably(this.#path, sent);
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT') throw error;
      throw overtaken(this.#state);
    }
    this.#path = sent;
    this.#sending = isKnown ? { replaces, settled } : undefined;
    step('cp.set.doubtful');
  }

  /** The set was certainly not accepted this time. Its state stays, for the same stream to be delivered
   * again. */
  notAccepted(): void {
    if (this.#wasInDoubt) return;
    const unsent = setPath(this.#state, 'unsent', this.#id);
    try {
      renameSync(this.#path, unsent);
      this.#path = unsent;
    } catch (error) {
      if (errnoOf(error) !== 'ENOENT') throw error;
    }
  }

  /**
   * The set was accepted: its state becomes the statefile, and what it settles is forgotten.
   * @returns false when the statefile is not what it was made from any more: it stays in doubt, and the next
   * run settles it
   */
  commit(): boolean {
    if (this.#sending === undefined) return false;
    const { replaces, settled } = this.#sending;
    if (statefileId(this.#state) !== replaces) return false;
    try {
      renameDurably(pendingPath(this.#state, this.#id), this.#state);
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return false;
      throw error;
    }
    step('state.committed');
    for (const set of settled) forget(this.#state, set);
    forgetCurrent(this.#state);
    return true;
  }

  /** Nobody has got it to its end. */
  forget(): void {
    for (const set of keptSets(this.#state)) if (set.id === this.#id) forget(this.#state, set);
  }
}

/**
 * The set was accepted, or there was nothing to send: its state is kept, whatever of its urls was rejected or
 * of its removals the LCC holds back (code 205); but not when all urls were rejected, or all but removals: an
 * LCC takes those of urls outside the roots, too.
 * @param sent undefined: nothing was to be sent
 * @param removed removals that were accepted beside other urls; urlprefix of the set, empty: none
 * @returns as `MadeSet.commit`; undefined: the state is on another machine
 * @throws LccError `data.refused` when all urls were rejected
 */
export function settle(
  { made, elsewhere }: { made?: MadeSet | undefined; elsewhere?: unknown },
  sent: { set: SetKind; urls: number; accepted: number } | undefined,
  { urlprefix, removed }: { urlprefix: string; removed: number },
): boolean | undefined {
  // A wrong urlprefix would otherwise count as delivered, and the corrected run would find nothing to send.
  if (sent !== undefined && sent.urls > 0 && sent.accepted === removed) {
    if (sent.set === 'partial') made?.notAccepted();
    throw new LccError(
      'data.refused',
      `${urlprefix === '' ? '' : `with urlprefix ${urlprefix} `}all ${sent.urls - removed} urls were rejected: the state was not kept, the next run sends them again${slashRemark(urlprefix)}`,
    );
  }
  if (sent === undefined) made?.aboutToSend();
  return elsewhere === undefined ? (made?.commit() ?? true) : undefined;
}

export function overtaken(state: string): LccError {
  return new LccError('try.later', `${state}: another run was faster; nothing was sent, run again`);
}

function originOf(path: string): Origin {
  const buffer = Buffer.alloc(HEAD_BYTES);
  const fd = openSync(path, 'r');
  try {
    const bytes = readSync(fd, buffer);
    const head = buffer.toString('latin1', 0, bytes).split('\n', 1)[0] ?? '';
    const [, base = '', settles = ''] = / base="([\d-]*)" settles="([\d -]*)"/.exec(head) ?? [];
    return { base, settles: settles.split(' ').filter(id => id !== '') };
  } finally {
    closeSync(fd);
  }
}

/** Nanoseconds, from its identity. */
function timeOf({ id }: KeptSet): bigint {
  return BigInt(id.split('-')[1] ?? 0);
}
