/** Checks the options of programs before anything is done: a misspelt name or an empty time must not pass for
 * "no matter". */
import { inspect } from 'node:util';
import { LccError } from '../../lib/errors.js';
import { LEAST_CHUNK_SIZE, MOST_CHUNK_SIZE } from '../../text/chunks.js';

/** Allowed values of an option, and their words. */
interface Kind {
  readonly is: (value: unknown) => boolean;
  readonly allowed: string;
}

export const TEXT: Kind = { is: value => typeof value === 'string', allowed: 'a text' };
const FLAG: Kind = { is: value => typeof value === 'boolean', allowed: 'true or false' };
const TIME: Kind = {
  is: value => value instanceof Date && Number.isFinite(value.getTime()),
  allowed: 'a Date that is one',
};
const POSITIVE: Kind = {
  is: value => Number.isSafeInteger(value) && Number(value) >= 1,
  allowed: 'a whole number, 1 or more',
};
const CURSOR: Kind = {
  is: value => typeof value === 'string' || isCursor(value),
  allowed: 'a cursor, or one as text: STORE:SEQ',
};
const FUNCTION: Kind = { is: value => typeof value === 'function', allowed: 'a function' };
const SIGNAL: Kind = { is: value => value instanceof AbortSignal, allowed: 'an AbortSignal' };

export function oneOf(...words: readonly string[]): Kind {
  return {
    is: value => typeof value === 'string' && words.includes(value),
    allowed: words.map(word => `'${word}'`).join(', '),
  };
}

/** Those of `changes`. */
export const CHANGES_OPTIONS: Readonly<Record<string, Kind>> = {
  cursor: CURSOR,
  since: TIME,
  until: TIME,
  pid: POSITIVE,
  prefix: TEXT,
  mime: TEXT,
  deleted: oneOf('yes', 'no', 'only'),
  limit: POSITIVE,
  follow: FLAG,
  caughtUp: FUNCTION,
  signal: SIGNAL,
};

/** Those of `chunksOf`. */
export const CHUNKS_OPTIONS: Readonly<Record<string, Kind>> = {
  size: {
    is: value =>
      Number.isSafeInteger(value) && Number(value) >= LEAST_CHUNK_SIZE && Number(value) <= MOST_CHUNK_SIZE,
    allowed: `a whole number from ${LEAST_CHUNK_SIZE} to ${MOST_CHUNK_SIZE}`,
  },
};

/**
 * Checks options; one that is left out, or undefined, has its default.
 * @throws LccError `usage` that names the option, its value, and what is allowed
 */
export function checkOptions(options: unknown, kinds: Readonly<Record<string, Kind>>): void {
  if (typeof options !== 'object' || options === null)
    throw new LccError('usage', `options: ${shown(options)}: give an object`);
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(kinds, name))
      throw new LccError('usage', `${name}: no such option; there are ${Object.keys(kinds).join(', ')}`);
    if (value !== undefined) checkValue(name, value, kinds[name]);
  }
}

/** @throws as `checkOptions` */
export function checkValue(name: string, value: unknown, kind: Kind | undefined): void {
  if (kind !== undefined && !kind.is(value))
    throw new LccError('usage', `${name}: ${shown(value)}: give ${kind.allowed}`);
}

function isCursor(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { storeId, seq, began = 0 } = value as Record<string, unknown>;
  return (
    typeof storeId === 'string' && [seq, began].every(each => Number.isSafeInteger(each) && Number(each) >= 0)
  );
}

const MOST_SHOWN = 60;

function shown(value: unknown): string {
  const text = inspect(value, { depth: 1, breakLength: Infinity });
  return text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}…` : text;
}
