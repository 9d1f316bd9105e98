/**
 * The last connection to a UNS, beside a statefile: `FILE.uns` holds `NUMBERING PID SEQ IDENTITY ANSWERED`.
 *
 * A UNS gives a provider no number twice, and later ones are higher. One that is not above what was given
 * before says that the LCC was put back to an earlier time, with its marks: it lacks what the state counts as
 * delivered, and cannot know that itself.
 *
 * A statefile of another identity than lcccp left was put back itself, replaced or removed: the LCC has what
 * it does not know of. ANSWERED is 1 while a full set is wanted that this state alone must not be, once all
 * of it was sent.
 */
import { readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { identityOf } from './kept.js';

export interface NumberedConnection {
  /** Numbers with the same one can be compared. */
  numbering: string;
  pid: string;
  seq: number;
}

export interface LastConnection extends NumberedConnection {
  /** Identity of the statefile; undefined: none is noted. */
  identity: string | undefined;
  isAnswered: boolean;
}

const FORM = /^(\w{1,64}) ([1-9]\d{0,14}) (\d{1,15})(?: (\d{1,20}-\d{1,20}-\d{1,20}) ([01]))?\n$/;
const NOTE = '.uns';

/** Undefined where nothing is noted, or nothing that makes sense: then nothing can be noticed. */
export function lastConnection(state: string): LastConnection | undefined {
  let text: string;
  try {
    text = readFileSync(fileOf(state), 'latin1');
  } catch {
    return undefined;
  }
  const [, numbering, pid, seq, identity, answered] = FORM.exec(text) ?? [];
  if (numbering === undefined || pid === undefined) return undefined;
  return { numbering, pid, seq: Number(seq), identity, isAnswered: answered === '1' };
}

/** @param last noted before `now` began: another run may have connected since */
export function wentBack(last: NumberedConnection | undefined, now: NumberedConnection): boolean {
  return last?.numbering === now.numbering && last.pid === now.pid && now.seq <= last.seq;
}

/** True if a statefile is another file than was left, or that one with another content, or gone. */
export function wasReplaced(last: LastConnection | undefined, state: string): boolean {
  const now = birthIdentity(state);
  return last?.identity !== undefined && last.identity !== now;
}

/** With the time of its birth: numbers of files come back, and copies have the times of what they were made
 * of. */
function birthIdentity(state: string): string {
  const stats = statSync(state, { bigint: true, throwIfNoEntry: false });
  return stats === undefined ? '' : `${identityOf(stats)}-${stats.birthtimeNs}`;
}

/**
 * Notes a connection. Where that cannot be written nothing depends on it.
 * @param kept the statefile is noted as it is now; undefined: it is about to be replaced
 */
export function noteConnection(
  state: string,
  { numbering, pid, seq }: NumberedConnection,
  kept?: { isAnswered: boolean },
): void {
  const identity = kept === undefined ? '' : birthIdentity(state);
  const left = identity === '' ? '' : ` ${identity} ${kept?.isAnswered === true ? 1 : 0}`;
  const text = `${numbering} ${pid} ${seq}${left}\n`;
  if (!FORM.test(text)) return;
  const temporary = `${fileOf(state)}.${process.pid}.tmp`;
  try {
    writeFileSync(temporary, text);
    renameSync(temporary, fileOf(state));
  } catch {
    rmSync(temporary, { force: true });
  }
}

/** Statefiles in the same folder that are of the same provider, by their names. */
export function statesBeside(state: string, { numbering, pid }: NumberedConnection): string[] {
  let names: string[];
  try {
    names = readdirSync(dirname(state));
  } catch {
    return [];
  }
  return names.flatMap(note => {
    const name = note.slice(0, -NOTE.length);
    if (!note.endsWith(NOTE) || name === basename(state) || !names.includes(name)) return [];
    const last = lastConnection(join(dirname(state), name));
    return last?.numbering === numbering && last.pid === pid ? [name] : [];
  });
}

function fileOf(state: string): string {
  return `${state}${NOTE}`;
}
