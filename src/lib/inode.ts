/** Which file a path leads to. */
import { statSync } from 'node:fs';

/** The number of its inode; undefined when there is none. @throws system errors other than ENOENT */
export function inodeOf(path: string): bigint | undefined {
  return statSync(path, { bigint: true, throwIfNoEntry: false })?.ino;
}
