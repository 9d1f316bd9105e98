/** How many files this process may have open (`ulimit -n`), Infinity where the system does not tell. */
import { readFileSync } from 'node:fs';

export function openFilesLimit(path = '/proc/self/limits'): number {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    return Infinity;
  }
  const found = /^Max open files\s+(\d+|unlimited)/m.exec(text);
  return found === null || found[1] === 'unlimited' ? Infinity : Number(found[1]);
}
