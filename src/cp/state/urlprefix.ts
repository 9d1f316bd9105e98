/**
 * The urlprefix under which a state was last accepted, beside the statefile: the line of `FILE.urlprefix`.
 * Changes that go under another one would leave the rest of the site where it was.
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

/** Undefined where none is noted: then nothing can be noticed. */
function lastPrefix(state: string): string | undefined {
  try {
    return readFileSync(pathOf(state), 'utf8').replace(/\n$/, '');
  } catch {
    return undefined;
  }
}

/** Notes that of an accepted set. Where it cannot be written nothing depends on it. */
export function notePrefix(state: string, urlprefix: string): void {
  if (lastPrefix(state) === urlprefix) return;
  const temporary = `${pathOf(state)}.${process.pid}.tmp`;
  try {
    writeFileSync(temporary, `${urlprefix}\n`);
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

/** @throws LccError `data.refused` where a state that has urls to be prefixed was accepted under another
 * prefix */
export function refuseOtherPrefix(state: string | undefined, urlprefix: string, isShare: boolean): void {
  if (state === undefined) return;
  const last = lastPrefix(state);
  if (last === undefined || last === urlprefix || firstRelative(state) === undefined) return;
  const cure = isShare
    ? `remove ${state}, and send all states as one: sort -u FILE... | lcccp --set=full ...`
    : 'send all of it, once, with lcccpstate --full';
  throw new LccError(
    'data.refused',
    `${state}: --urlprefix was ${last === '' ? 'none' : last} when it was last accepted, and is ${urlprefix === '' ? 'none' : urlprefix} now: ` +
      `nothing was sent; correct it, or if the site has moved, ${cure}`,
  );
}
