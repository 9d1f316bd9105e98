/** Reading the options of a rail: JSON that an administrator wrote. Messages name the rail and the option. */
import { LccError } from '../../lib/errors.js';
import type { DriverRail } from './types.js';

type Options = Readonly<Record<string, unknown>>;

/** @throws LccError `usage` for an option that no driver of this kind has */
export function onlyOptions({ name, opts }: DriverRail, known: readonly string[]): void {
  const other = Object.keys(opts).find(key => !known.includes(key));
  if (other === undefined) return;
  const list = known.length === 0 ? 'its driver has none' : `its driver has ${known.join(', ')}`;
  throw new LccError('usage', `rail ${name}: no option ${other}; ${list}`);
}

/** Undefined where it is left out. @throws LccError `usage` when it is no object */
export function objectOption(rail: string, opts: Options, key: string): Options | undefined {
  const value = opts[key];
  if (value === undefined) return undefined;
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw wrong(rail, key, 'an object');
  return value as Options;
}

/** @throws LccError `usage` when it is no text on one line */
export function textOption(rail: string, opts: Options, key: string, otherwise: string): string {
  const value = opts[key] ?? otherwise;
  if (typeof value !== 'string' || /[\r\n\0]/.test(value)) throw wrong(rail, key, 'a text on one line');
  return value;
}

/** @throws LccError `usage` when it is no number within the bounds */
export function numberOption(
  rail: string,
  opts: Options,
  key: string,
  { otherwise, min, max }: { otherwise: number; min: number; max: number },
): number {
  const value = opts[key] ?? otherwise;
  if (typeof value !== 'number' || !(value >= min && value <= max))
    throw wrong(rail, key, `a number from ${min} to ${max}`);
  return value;
}

export function wrong(rail: string, key: string, what: string): LccError {
  return new LccError('usage', `rail ${rail}: option ${key}: give ${what}`);
}
