/** One file name → one `<url>` line, or why there is none. */
import { Md5Lanes } from '../lib/md5-lanes.js';
import { escapeAttribute } from '../lib/xml/escape.js';
import { printedOf } from '../wire/mtime.js';
import { belowRoot } from './below-root.js';
import { factsOf, nameOf } from './find.js';
import { mimeTable } from './mime-types.js';
import { createHasher, statFile, whyGone, type FileFacts, type NoFacts } from './read-file.js';
import { encodePathForXml } from './url-path.js';

/** Plain values, so that a worker thread can be given them. Paths are latin1 strings. */
export interface DescribeOptions {
  docroot: string;
  cwd: string;
  md5: boolean;
  /** Extension (lower case, no dot) and mimetype; they win over the built-in table. */
  types: readonly (readonly [string, string])[];
  defaultType: string;
  /** Names come with facts in front, as find prints them (find.ts); not together with md5. */
  facts?: boolean;
}

/**
 * The outcome for a name besides its line. `gone`: it is not there, or vanished meanwhile; `dangling`: a
 * symbolic link to nothing; `loop`: links lead in a circle; `outside`: not below the document root; `unread`:
 * listed without md5 because its content may not be read; `failed`: it is there and cannot be looked at, so
 * the listing is not whole.
 */
export interface NameProblem {
  kind: 'gone' | 'dangling' | 'loop' | 'outside' | 'unread' | 'failed';
  name: string;
  errno?: string;
}

/** Lines of the names in order (nothing for what is not a file), problems by way of `onProblem`. */
export type Describe = (names: readonly string[], onProblem: (problem: NameProblem) => void) => string;

export function createDescribe(options: DescribeOptions): Describe {
  const below = belowRoot(options.docroot, options.cwd);
  const typeOf = typeAttribute(options);
  const hashFiles = options.md5 ? createHasher(Md5Lanes.start()) : undefined;

  return (names, onProblem) => {
    const paths = names.map(entry => below(options.facts === true ? nameOf(entry) : entry));
    const hashed = hashFiles?.(names.filter((name, n) => name !== '' && paths[n] !== undefined));
    let nextHashed = 0;
    let text = '';
    let at = 0;
    for (const entry of names) {
      const path = paths[at++];
      if (entry === '') continue;
      const name = options.facts === true ? nameOf(entry) : entry;
      if (path === undefined) {
        onProblem({ kind: 'outside', name });
        continue;
      }
      const told = options.facts === true ? factsOf(entry) : hashed?.[nextHashed++];
      let facts = told ?? statFile(name);
      if (isForbidden(facts) && hashed !== undefined) {
        onProblem({ kind: 'unread', name });
        facts = statFile(name);
      }
      if (facts === 'other') continue;
      if (facts === 'gone') {
        onProblem({ kind: whyGone(name), name });
        continue;
      }
      if ('errno' in facts) {
        onProblem({ kind: 'failed', name, errno: facts.errno });
        continue;
      }
      text += `<url curl="${encodePathForXml(path)}"${typeOf(path)}`;
      if (facts.md5 !== undefined) text += ` md5="${facts.md5}"`;
      text += ` len="${facts.len}" mtime="${printedOf(Math.floor(facts.mtimeMs / 1000))}"/>\n`;
    }
    return text;
  };
}

/** There, but its content is not for us: without md5 it can still be listed. */
function isForbidden(facts: FileFacts | NoFacts): boolean {
  return (
    typeof facts === 'object' && 'errno' in facts && (facts.errno === 'EACCES' || facts.errno === 'EPERM')
  );
}

/** ` mimetype="…"` by the extension of a path. */
function typeAttribute(options: DescribeOptions): (path: string) => string {
  const table = mimeTable(options.types);
  const byDefault = ` mimetype="${escapeAttribute(options.defaultType)}"`;
  return path => {
    const dot = path.lastIndexOf('.');
    // No dot in the last segment, or only the one of a hidden file.
    if (dot <= path.lastIndexOf('/') + 1) return byDefault;
    const extension = path.slice(dot + 1);
    const type = table.get(extension.toLowerCase());
    return type === undefined ? byDefault : ` mimetype="${escapeAttribute(type)}"`;
  };
}
