/** Files that need not be there. */
import { readFileSync } from 'node:fs';
import { errnoOf } from './errors.js';

/** The text of a file; undefined when there is none. @throws system errors other than ENOENT */
export function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}
