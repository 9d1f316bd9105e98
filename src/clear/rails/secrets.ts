/**
 * Logins of rails, in a file that only its owner reads, by the name that a rail has for its own (`auth_ref`):
 *
 *     [fleet]
 *     basic = "cachebot:password"
 *     ca = "/etc/lcc/rails-ca.pem"
 *
 * What is in it is never logged, never in the database, and in no core of a process that has read it.
 */
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { parse } from 'smol-toml';
import { keepMemoryOutOfCores } from '../../lib/core-dumps.js';
import { errnoOf, LccError, messageOf } from '../../lib/errors.js';

export interface Secret {
  /** `user:password`. */
  basic?: string;
  /** A token (RFC 6750). */
  bearer?: string;
  /** Names of headers, in lower case, and values by turns. */
  headers: readonly string[];
  /** Certificates, PEM, of those who may sign that of the rail. */
  ca?: string;
  /** Certificate that the rail is shown, PEM. */
  identity?: { cert: string; key: string };
}

export type Secrets = ReadonlyMap<string, Secret>;

const OTHERS = 0o077;
const KEYS = ['basic', 'bearer', 'headers', 'ca', 'cert', 'key'];

/**
 * Reads the file; there are none where it is missing.
 * @throws LccError `config` when others may read it, or it is not as it must be; no message shows what it
 * holds
 */
export function readSecrets(file: string): Secrets {
  const text = readOwn(file);
  if (text === undefined) return new Map();
  keepMemoryOutOfCores();
  let table: Record<string, unknown>;
  try {
    table = parse(text);
  } catch {
    // The message of the parser shows the line.
    throw new LccError('config', `${file}: no TOML; write [NAME] and below it basic = "user:password"`);
  }
  return new Map(Object.entries(table).map(([name, value]) => [name, secretOf(file, name, value)]));
}

function readOwn(file: string): string | undefined {
  let fd: number;
  try {
    fd = openSync(file, 'r');
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw new LccError('config', `${file}: ${messageOf(error)}`, { cause: error });
  }
  try {
    if ((fstatSync(fd).mode & OTHERS) !== 0)
      throw new LccError('config', `${file}: others may read or write it; chmod 600 ${file}`);
    return readFileSync(fd, 'utf8');
  } finally {
    closeSync(fd);
  }
}

function secretOf(file: string, name: string, value: unknown): Secret {
  const refuse = (why: string) => new LccError('config', `${file}: [${name}]: ${why}`);
  if (typeof value !== 'object' || value === null || Array.isArray(value) || value instanceof Date)
    throw refuse('write a table with basic, bearer, headers, ca, or cert and key');
  const table = value as Record<string, unknown>;
  const other = Object.keys(table).find(key => !KEYS.includes(key));
  if (other !== undefined) throw refuse(`unknown key ${other}; there are ${KEYS.join(', ')}`);
  const text = (key: string): string | undefined => {
    const found = table[key];
    if (found === undefined) return undefined;
    if (typeof found !== 'string' || /[\r\n\0]/.test(found)) throw refuse(`${key}: give a text on one line`);
    return found;
  };
  const pem = (key: string): string | undefined => {
    const path = text(key);
    if (path === undefined) return undefined;
    try {
      return readFileSync(path, 'utf8');
    } catch (error) {
      throw refuse(`${key}: ${messageOf(error)}`);
    }
  };
  const [basic, bearer, ca, cert, key] = [text('basic'), text('bearer'), pem('ca'), pem('cert'), pem('key')];
  if (basic !== undefined && !basic.includes(':')) throw refuse('basic: write user:password');
  if (basic !== undefined && bearer !== undefined)
    throw refuse('basic and bearer are both logins of one header; give one');
  if ((cert === undefined) !== (key === undefined)) throw refuse('cert and key go together');
  return {
    ...(basic !== undefined && { basic }),
    ...(bearer !== undefined && { bearer }),
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && key !== undefined && { identity: { cert, key } }),
    headers: headersOf(table['headers'], refuse),
  };
}

function headersOf(value: unknown, refuse: (why: string) => LccError): string[] {
  if (value === undefined) return [];
  if (typeof value !== 'object' || value === null) throw refuse('headers: write { name = "value" }');
  return Object.entries(value).flatMap(([name, text]) => {
    if (!/^[\w-]+$/.test(name) || typeof text !== 'string' || /[\r\n\0]/.test(text))
      throw refuse('headers: write { name = "value" }, each on one line');
    return [name.toLowerCase(), text];
  });
}
