/**
 * Accounts of a door, apart from any provider: a file of lines `NAME sha256:SALT:HASH`, replaced whole by the command that adds or
 * removes one, and looked at again by the daemon when it has changed.
 */
import { readFileSync, statSync } from 'node:fs';
import { writeFileDurably } from './durable.js';
import { errnoOf, LccError, messageOf } from './errors.js';
import { tryLock } from './lock.js';
import { generatePassword, hashPassword } from './password.js';

const NAME = /^[\w.@-]{1,64}$/;

/** What messages call them. */
export interface AccountWords {
  /** One of them: `reader`. */
  one: string;
  /** What makes one: `--add-reader`. */
  madeBy: string;
}

export class AccountFile {
  readonly path: string;
  readonly #words: AccountWords;
  #seen = '';
  #stored = new Map<string, string>();

  constructor(path: string, words: AccountWords) {
    this.path = path;
    this.#words = words;
  }

  /**
   * What is stored of the password of an account, as the file has it now.
   * @throws LccError `io` when the file cannot be read, `config` with the line that makes no sense
   */
  password(name: string): string | undefined {
    const version = versionOf(this.path);
    if (version !== this.#seen) {
      this.#stored = this.#read();
      this.#seen = version;
    }
    return this.#stored.get(name);
  }

  /** In the order of the alphabet; none where there is no file. @throws LccError as `password` */
  names(): string[] {
    return [...this.#read().keys()].sort();
  }

  /**
   * Adds an account, or gives one a new password.
   * @returns the password, which is stored nowhere
   * @throws LccError `usage`, `try.later`, and as `password`
   */
  add(name: string): string {
    if (!NAME.test(name))
      throw new LccError(
        'usage',
        `${this.#words.one} "${name}": use letters, digits, dots, dashes, @; at most 64`,
      );
    const password = generatePassword();
    this.#change(accounts => void accounts.set(name, hashPassword(password)));
    return password;
  }

  /** @throws LccError `input.missing` when there is none of that name, and as `add` */
  remove(name: string): void {
    this.#change(accounts => {
      if (!accounts.delete(name))
        throw new LccError('input.missing', `${this.path}: no ${this.#words.one} "${name}"`);
    });
  }

  #change(edit: (accounts: Map<string, string>) => void): void {
    const lock = tryLock(`${this.path}.lock`);
    if (lock === undefined)
      throw new LccError('try.later', `${this.path}: being changed by another process; try again`);
    try {
      const accounts = this.#read();
      edit(accounts);
      const text = [...accounts].map(([name, stored]) => `${name} ${stored}\n`).join('');
      writeFileDurably(this.path, text, 0o640);
    } finally {
      lock.release();
    }
  }

  #read(): Map<string, string> {
    let text: string;
    try {
      text = readFileSync(this.path, 'utf8');
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return new Map();
      throw new LccError('io', `${this.path}: ${messageOf(error)}`, { cause: error });
    }
    const accounts = new Map<string, string>();
    for (const [i, line] of text.split('\n').entries()) {
      if (line.trim() === '' || line.startsWith('#')) continue;
      const [name = '', stored = '', more] = line.split(' ');
      if (!NAME.test(name) || !stored.startsWith('sha256:') || more !== undefined)
        throw new LccError(
          'config',
          `${this.path}:${i + 1}: not NAME sha256:SALT:HASH; make it with ${this.#words.madeBy}`,
        );
      accounts.set(name, stored);
    }
    return accounts;
  }
}

function versionOf(path: string): string {
  try {
    const { ino, mtimeNs, size } = statSync(path, { bigint: true });
    return `${ino} ${mtimeNs} ${size}`;
  } catch {
    return 'none';
  }
}
