/**
 * The position up to which the engine has a database, as its column `pos` has it: a place in the log of
 * SQLite, and how things stood there. Home and engine cannot be of different mind about it.
 *
 *     SALT1 SALT2 OFFSET SUM1 SUM2 BYTES [whole] [ended MACHINE INODE SIZE TIME]
 */
import { statSync } from 'node:fs';
import { LccError } from '../lib/errors.js';

/** A place between two frames. */
export interface LogPlace {
  /** By which one log is told from the next. */
  salts: readonly [number, number];
  /** Where the next frame begins; 0: before the first log. */
  offset: number;
  /** The running checksum. */
  sums: readonly [number, number];
}

export const BEGINNING: LogPlace = { salts: [0, 0], offset: 0, sums: [0, 0] };

export interface ShippedPosition {
  place: LogPlace;
  /** Bytes of pages shipped since the base was noted. */
  sinceBytes: number;
  /** The log ends at the place and goes into the database as a whole: it may have begun again since. */
  isWhole: boolean;
  /** The file after an end in order (`fileMark`). */
  ended?: string | undefined;
}

export function textOfPosition({ place, sinceBytes, isWhole, ended }: ShippedPosition): string {
  const { salts, offset, sums } = place;
  const numbers = [...salts, offset, ...sums, sinceBytes].join(' ');
  return `${numbers}${isWhole ? ' whole' : ''}${ended === undefined ? '' : ` ended ${ended}`}`;
}

/** @param text '' before the first shipment @throws LccError `data.malformed` */
export function readPosition(text: string): ShippedPosition | undefined {
  if (text === '') return undefined;
  const found = /^((?:\d{1,16} ){5}\d{1,16})( whole)?(?: ended (\S+ \d+ \d+ \d+))?$/.exec(text);
  if (found === null)
    throw new LccError('data.malformed', `the engine: "${text.slice(0, 100)}" is no position in a log`);
  const [numbers = '', whole, ended] = found.slice(1);
  const [salt1 = 0, salt2 = 0, offset = 0, sum1 = 0, sum2 = 0, sinceBytes = 0] = numbers
    .split(' ')
    .map(Number);
  const place: LogPlace = { salts: [salt1, salt2], offset, sums: [sum1, sum2] };
  return { place, sinceBytes, isWhole: whole !== undefined, ended };
}

/** Identity and state of a database that nobody has open; undefined: there is none. @param machine a name
 * without blanks */
export function fileMark(path: string, machine: string): string | undefined {
  const file = statSync(path, { bigint: true, throwIfNoEntry: false });
  return file && `${machine} ${file.ino} ${file.size} ${file.ctimeNs}`;
}
