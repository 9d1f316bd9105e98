/**
 * Who may read over the network, apart from any provider: a file of lines `NAME sha256:SALT:HASH`, replaced whole by
 * the command that adds or removes one, and looked at again by the daemon when it has changed.
 */
import { readFileSync, statSync } from 'node:fs';
import { writeFileDurably } from '../../lib/durable.js';
import { errnoOf, LccError, messageOf } from '../../lib/errors.js';
import { tryLock } from '../../lib/lock.js';
import { generatePassword, hashPassword } from '../../lib/password.js';

const NAME = /^[\w.@-]{1,64}$/;

/** The readers as they are at the moment. */
export class Readers {
  readonly #file: string;
  #seen = '';
  #stored = new Map<string, string>();

  constructor(file: string) {
    this.#file = file;
  }

  /**
   * What is stored of a reader's password.
   * @throws LccError as `readReaders`
   */
  password(name: string): string | undefined {
    const version = versionOf(this.#file);
    if (version !== this.#seen) {
      this.#stored = readReaders(this.#file);
      this.#seen = version;
    }
    return this.#stored.get(name);
  }
}

/**
 * Names and what is stored of their passwords; none where there is no file.
 * @throws LccError `io` when it cannot be read, `config` with the line that makes no sense
 */
export function readReaders(file: string): Map<string, string> {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return new Map();
    throw new LccError('io', `${file}: ${messageOf(error)}`, { cause: error });
  }
  const readers = new Map<string, string>();
  for (const [i, line] of text.split('\n').entries()) {
    if (line.trim() === '' || line.startsWith('#')) continue;
    const [name = '', stored = '', more] = line.split(' ');
    if (!NAME.test(name) || !stored.startsWith('sha256:') || more !== undefined)
      throw new LccError('config', `${file}:${i + 1}: not NAME sha256:SALT:HASH; make it with --add-reader`);
    readers.set(name, stored);
  }
  return readers;
}

/**
 * Adds a reader, or gives one a new password.
 * @returns the password, which is stored nowhere
 * @throws LccError `usage`, `try.later`, and as `readReaders`
 */
export function addReader(file: string, name: string): string {
  if (!NAME.test(name))
    throw new LccError('usage', `reader "${name}": use letters, digits, dots, dashes, @; at most 64`);
  const password = generatePassword();
  change(file, readers => void readers.set(name, hashPassword(password)));
  return password;
}

/** @throws LccError `input.missing` when there is none of that name, and as `addReader` */
export function removeReader(file: string, name: string): void {
  change(file, readers => {
    if (!readers.delete(name)) throw new LccError('input.missing', `${file}: no reader "${name}"`);
  });
}

function change(file: string, edit: (readers: Map<string, string>) => void): void {
  const lock = tryLock(`${file}.lock`);
  if (lock === undefined)
    throw new LccError('try.later', `${file}: being changed by another process; try again`);
  try {
    const readers = readReaders(file);
    edit(readers);
    const text = [...readers].map(([name, stored]) => `${name} ${stored}\n`).join('');
    writeFileDurably(file, text, 0o640);
  } finally {
    lock.release();
  }
}

function versionOf(file: string): string {
  try {
    const { ino, mtimeNs, size } = statSync(file, { bigint: true });
    return `${ino} ${mtimeNs} ${size}`;
  } catch {
    return 'none';
  }
}
