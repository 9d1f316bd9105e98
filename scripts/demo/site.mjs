// The demo's site: a copy, because the demo changes it.
import {
  chmodSync,
  constants,
  copyFileSync,
  cpSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  statSync,
  utimesSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');

/**
 * Copies the files of `from` to `to`, links followed. What is neither a file nor a directory, cannot be read, or leads
 * back to a directory above itself is left out.
 * @returns the paths left out, with why
 */
export function copyTree(from, to) {
  const skipped = [];
  copyFolder(from, to, [], skipped);
  return skipped;
}

function copyFolder(from, to, above, skipped) {
  const real = realpathSync(from);
  if (above.includes(real)) return void skipped.push(`${from} (leads back)`);
  const names = readdirSync(from);
  mkdirSync(to, { recursive: true });
  for (const name of names) {
    const [source, target] = [join(from, name), join(to, name)];
    try {
      const info = statSync(source);
      if (info.isDirectory()) {
        copyFolder(source, target, [...above, real], skipped);
      } else if (info.isFile()) {
        copyFileSync(source, target, constants.COPYFILE_FICLONE);
        // The demo writes to it, whatever the mode of the original.
        chmodSync(target, 0o644);
        utimesSync(target, info.atime, info.mtime);
      } else skipped.push(`${source} (no file)`);
    } catch (error) {
      if (!['EACCES', 'EPERM', 'ENOENT', 'ELOOP', 'ENAMETOOLONG'].includes(error.code)) throw error;
      skipped.push(`${source} (${error.code})`);
    }
  }
}

/** This project's own documentation, the pages of the manual as plain text. */
export function copyDocumentation(to) {
  mkdirSync(join(to, 'man'), { recursive: true });
  for (const file of readdirSync(root).filter(name => name.endsWith('.md')))
    cpSync(join(root, file), join(to, file));
  cpSync(join(root, 'docs'), join(to, 'docs'), { recursive: true });
  for (const page of readdirSync(join(root, 'man')))
    cpSync(join(root, 'man', page), join(to, 'man', `${page}.txt`));
}

export function countFiles(folder) {
  return readdirSync(folder, { withFileTypes: true, recursive: true }).filter(entry => entry.isFile()).length;
}
