/** Where a file name lies below the document root. All names are latin1 strings of bytes. */
import { realpathSync } from 'node:fs';
import { posix } from 'node:path';

/** Dot segments and empty segments, anywhere. */
const IRREGULAR = /(?:^|\/)(?:\.{0,2})(?:\/|$)/;

function isRegular(path: string): boolean {
  return !IRREGULAR.test(path);
}

/** Gives the part of a name below the root, without dot segments; undefined for a name outside of it. */
type BelowRoot = (name: string) => string | undefined;

/** Names are taken relative to `cwd`; the root may be relative to it as well. A root that is a symbolic link
 * is known by both its names. */
export function belowRoot(root: string, cwd: string): BelowRoot {
  const lexical = posix.resolve(cwd, root);
  const roots = [...new Set([lexical, realOf(lexical)])].map(dir => (dir === '/' ? '/' : `${dir}/`));
  const isCwd = roots.includes(cwd === '/' ? '/' : `${cwd}/`);
  // Names usually begin as the root was written: then what follows is the answer, if it holds no dot
  // segments.
  const written = root === '/' ? '/' : `${root.replace(/\/+$/, '')}/`;
  return name => {
    if (name.startsWith(written)) {
      const rest = name.slice(written.length);
      if (isRegular(rest)) return rest;
    } else if (isCwd && isRegular(name)) return name;
    const absolute = posix.resolve(cwd, name);
    for (const prefix of roots) {
      if (absolute.startsWith(prefix)) return absolute.slice(prefix.length);
      if (`${absolute}/` === prefix) return '';
    }
    return undefined;
  };
}

function realOf(dir: string): string {
  try {
    return realpathSync(Buffer.from(dir, 'latin1'), { encoding: 'buffer' }).toString('latin1');
  } catch {
    return dir;
  }
}
