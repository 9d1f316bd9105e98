/** The floors, typed: `scripts/floors.mjs` has them. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT } from './tree.js';

interface Floors {
  MAY_IMPORT: Readonly<Record<string, readonly string[]>>;
  CLOSED_TO: Readonly<Record<string, readonly string[]>>;
  MOST_DEEP: number;
  walled(text: string): string;
}

export const FLOORS = (await import(pathToFileURL(join(ROOT, 'scripts/floors.mjs')).href)) as Floors;
