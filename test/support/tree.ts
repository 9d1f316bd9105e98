/** The project's own tree, for tests that compare one part of it with another. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The project's root directory (tests run from dist/test/support). */
export const ROOT = join(dirname(fileURLToPath(import.meta.url)), '../../..');

const NOT_OURS = new Set(['node_modules', 'dist', 'coverage', '.git']);

/** Every file of the project below `folder`, relative to the root, sorted; nothing built or installed. */
export function projectFiles(folder = '.'): string[] {
  const found: string[] = [];
  const walk = (dir: string) => {
    for (const entry of readdirSync(join(ROOT, dir), { withFileTypes: true })) {
      if (NOT_OURS.has(entry.name)) continue;
      const path = dir === '.' ? entry.name : `${dir}/${entry.name}`;
      if (entry.isDirectory()) walk(path);
      else if (entry.isFile()) found.push(path);
    }
  };
  walk(folder);
  return found.sort();
}

/** A file of the project as text. */
export function readProjectFile(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}

/** Names of the commands: every module in src/commands that exports a `command`. */
export function commandNames(): string[] {
  return projectFiles('src/commands')
    .filter(path => path.endsWith('.ts') && /^export const command\b/m.test(readProjectFile(path)))
    .map(path => path.slice('src/commands/'.length, -'.ts'.length))
    .sort();
}
