/**
 * Files beside a statefile: for every set that may have been accepted, and is not known to have been or not,
 * the set itself and the state that it leads to. docs/design/site-state.md says why, and draws the states of
 * a set.
 *
 *     FILE                     the state that the UNS was last known to have
 *     FILE.pending.ID          the state that set ID leads to; ID is that file's identity, kept by a rename
 *     FILE.made.ID             set ID, written by lcccpstate; what reads it may be on another machine
 *     FILE.unsent.ID           the same, certainly not accepted
 *     FILE.sent.ID.PROCESS     the same, sent to its end by that process: accepted or not
 *     FILE.doubt.ID            several such sets, merged, whose states are given up
 *     FILE.run.PROCESS.tmp     that process is at work on them (hold.ts)
 *
 * The rule: for every url that no set of fate made, sent or doubt names, the UNS has what FILE says.
 */
import { readdirSync, rmSync, statSync, unlinkSync, type BigIntStats } from 'node:fs';
import { basename, dirname } from 'node:path';
import { errnoOf } from '../../lib/errors.js';
import { isRunning } from '../../lib/process-mark.js';

type Fate = 'made' | 'unsent' | 'sent' | 'doubt';

export interface KeptSet {
  id: string;
  fate: Fate;
  path: string;
  /** The process that sent it, when the fate is `sent`. */
  sender: string | undefined;
}

const KEPT = /^\.(made|unsent|sent|doubt)\.(\d+-\d+)(?:\.(\d+-\d+))?$/;
const PENDING = /^\.pending\.(\d+-\d+)$/;
const TEMPORARY = /^\.(pending|made|doubt|run)\.(\d+-\d+)\.tmp$/;

/** An inode alone is not enough: a later file may get the number of one that was replaced. */
export function identityOf(stats: BigIntStats): string {
  return `${stats.ino}-${stats.mtimeNs}`;
}

/** The identity of a statefile; '' where there is none. */
export function statefileId(state: string): string {
  const stats = statSync(state, { bigint: true, throwIfNoEntry: false });
  return stats === undefined ? '' : identityOf(stats);
}

export function pendingPath(state: string, id: string): string {
  return `${state}.pending.${id}`;
}

export function setPath(state: string, fate: 'made' | 'unsent' | 'doubt', id: string): string {
  return `${state}.${fate}.${id}`;
}

export function sentPath(state: string, id: string, sender: string): string {
  return `${state}.sent.${id}.${sender}`;
}

export function temporaryPath(
  state: string,
  what: 'pending' | 'made' | 'doubt' | 'run',
  mark: string,
): string {
  return `${state}.${what}.${mark}.tmp`;
}

/** Processes that have a run under way on a statefile, or had one when they were killed. */
export function runMarks(state: string): string[] {
  return suffixesOf(state).flatMap(suffix => {
    const [, what, mark = ''] = TEMPORARY.exec(suffix) ?? [];
    return what === 'run' ? [mark] : [];
  });
}

/** All sets beside a statefile, whatever their fate. */
export function keptSets(state: string): KeptSet[] {
  return suffixesOf(state).flatMap(suffix => {
    const [, fate, id = '', sender] = KEPT.exec(suffix) ?? [];
    if (fate === undefined || (fate === 'sent') !== (sender !== undefined)) return [];
    return [{ id, fate: fate as Fate, path: state + suffix, sender }];
  });
}

/** True if the process that sent a set may still hear that it was accepted, or have bytes of it under way. */
export function isUnderWay({ sender }: KeptSet): boolean {
  return sender !== undefined && isRunning(sender);
}

/** Sets that the UNS may have accepted. The one that led to the statefile is among them unless it is alone:
 * another that is just being committed could take the statefile's place. */
export function doubtfulSets(state: string): KeptSet[] {
  const sets = keptSets(state).filter(({ fate }) => fate !== 'unsent');
  const current = statefileId(state);
  return sets.every(({ id }) => id === current) ? [] : sets;
}

/**
 * Removes a set and its state; what would have sent it finds that out before it does.
 * @returns false when it is not under this name any more: its fate has changed
 */
export function forget(state: string, { id, path }: KeptSet): boolean {
  try {
    unlinkSync(path);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return false;
    throw error;
  }
  rmSync(pendingPath(state, id), { force: true });
  return true;
}

/** Removes what nobody needs: sets that were certainly not accepted, states without a set, files of killed
 * runs. */
export function tidy(state: string): void {
  for (const set of keptSets(state)) if (set.fate === 'unsent') forget(state, set);
  forgetCurrent(state);
  // Files first: a set has its name before its state has.
  const suffixes = suffixesOf(state);
  const known = new Set(keptSets(state).map(({ id }) => id));
  for (const suffix of suffixes) {
    const pending = PENDING.exec(suffix)?.[1];
    const maker = TEMPORARY.exec(suffix)?.[2];
    const isStale = pending === undefined ? maker !== undefined && !isRunning(maker) : !known.has(pending);
    if (isStale) rmSync(state + suffix, { force: true });
  }
}

/** Removes the set that led to the statefile, where no other is in doubt. */
export function forgetCurrent(state: string): void {
  if (doubtfulSets(state).length > 0) return;
  const current = statefileId(state);
  for (const set of keptSets(state)) if (set.id === current) forget(state, set);
}

function suffixesOf(state: string): string[] {
  const name = basename(state);
  return readdirSync(dirname(state))
    .filter(entry => entry.startsWith(`${name}.`))
    .map(entry => entry.slice(name.length))
    .sort();
}
