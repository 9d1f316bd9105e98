/** Reading the options of a rail: JSON that an administrator wrote. Messages name the rail and the option. */
import { LccError } from '../../lib/errors.js';
import type { DriverRail } from './types.js';

/** @throws LccError `usage` for an option that no driver of this kind has */
export function onlyOptions({ name, opts }: DriverRail, known: readonly string[]): void {
  const other = Object.keys(opts).find(key => !known.includes(key));
  if (other === undefined) return;
  const list = known.length === 0 ? 'its driver has none' : `its driver has ${known.join(', ')}`;
  throw new LccError('usage', `rail ${name}: no option ${other}; ${list}`);
}

/** Undefined where it is left out. @throws LccError `usage` when it is no object */
export function objectOption({ name, opts }: DriverRail, key: string): DriverRail['opts'] | undefined {
  const value = opts[key];
  if (value === undefined) return undefined;
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw wrong(name, key, 'an object');
  return value as DriverRail['opts'];
}

/** @throws LccError `usage` when it is no text on one line */
export function textOption({ name, opts }: DriverRail, key: string, otherwise: string): string {
  const value = opts[key] ?? otherwise;
  if (typeof value !== 'string' || /[\r\n\0]/.test(value)) throw wrong(name, key, 'a text on one line');
  return value;
}

/** The option `header`, in lower case. @throws LccError `usage` when it is no name of a header */
export function headerOption(rail: DriverRail, otherwise: string): string {
  const header = textOption(rail, 'header', otherwise).toLowerCase();
  if (/^[\w-]+$/.test(header)) return header;
  throw new LccError('usage', `rail ${rail.name}: option header: no name of a header`);
}

/** @throws LccError `usage` when it is no number within the bounds */
export function numberOption(
  { name, opts }: DriverRail,
  key: string,
  { otherwise, min, max }: { otherwise: number; min: number; max: number },
): number {
  const value = opts[key] ?? otherwise;
  if (typeof value !== 'number' || !(value >= min && value <= max))
    throw wrong(name, key, `a number from ${min} to ${max}`);
  return value;
}

export function wrong(rail: string, key: string, what: string): LccError {
  return new LccError('usage', `rail ${rail}: option ${key}: give ${what}`);
}
