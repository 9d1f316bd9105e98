/**
 * How a state was last accepted, beside the statefile: `FILE.urlprefix` has the urlprefix, and in a second
 * line the folder where other states of the provider lay beside it, if any did.
 *
 * Changes that go under another urlprefix would leave the rest of the site where it was. A state that was put
 * into another folder is no whole of its provider because the others did not come along.
 *
 * It is a file of its own: earlier releases read `FILE.uns` as they know it, or not at all.
 */
import { closeSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { LccError } from '../../lib/errors.js';
import { readLinesAt } from '../../lib/line-sequences.js';
import { hasScheme } from '../../wire/urlprefix.js';
import { openState } from './statefile.js';

const CURL = /^<url curl="([^"]*)"/;
const pathOf = (state: string) => `${state}.urlprefix`;

export interface AcceptedAs {
  urlprefix: string;
  /** The folder where others were beside it; undefined: it was the whole of its provider. */
  sharedIn: string | undefined;
}

/** Undefined where nothing is noted: then nothing can be noticed. */
export function acceptedAs(state: string): AcceptedAs | undefined {
  try {
    const [urlprefix = '', sharedIn] = readFileSync(pathOf(state), 'utf8').replace(/\n$/, '').split('\n');
    return { urlprefix, sharedIn };
  } catch {
    return undefined;
  }
}

/** Notes that of an accepted set. Where it cannot be written nothing depends on it. */
export function noteAccepted(state: string, { urlprefix, sharedIn }: AcceptedAs): void {
  const last = acceptedAs(state);
  if (last?.urlprefix === urlprefix && last.sharedIn === sharedIn) return;
  const temporary = `${pathOf(state)}.${process.pid}.tmp`;
  try {
    writeFileSync(temporary, `${urlprefix}\n${sharedIn === undefined ? '' : `${sharedIn}\n`}`);
    renameSync(temporary, pathOf(state));
  } catch {
    rmSync(temporary, { force: true });
  }
}

/** The first url of a state that has no scheme. */
export function firstRelative(state: string): string | undefined {
  const fd = openState(state);
  try {
    for (const line of readLinesAt(fd, 0, state)) {
      const curl = CURL.exec(line)?.[1];
      if (curl !== undefined && !hasScheme(curl)) return curl;
    }
    return undefined;
  } finally {
    closeSync(fd);
  }
}

/** True if a state has urls that were accepted under another urlprefix, `last`. @param last undefined: not
 * known */
export function isOtherPrefix(state: string, last: string | undefined, urlprefix: string): boolean {
  return last !== undefined && last !== urlprefix && firstRelative(state) !== undefined;
}

interface OtherPrefix {
  last: string | undefined;
  urlprefix: string;
  isShare: boolean;
}

/** The refusal of changes that go under another urlprefix than the state was accepted with. */
export function otherPrefix(state: string, { last, urlprefix, isShare }: OtherPrefix): LccError {
  const cure = isShare
    ? `remove ${state}: the next run sends all of it then, and what is under the former stays`
    : 'send all of it, once, with lcccpstate --full';
  return new LccError(
    'data.refused',
    `${state}: --urlprefix was ${last || 'none'} when it was last accepted, and is ${urlprefix || 'none'} now: ` +
      `nothing was sent; correct it, or if this one is right (the site has moved, or the former was wrong), ${cure}`,
  );
}
