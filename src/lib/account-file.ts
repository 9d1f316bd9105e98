/** Accounts of a door, apart from any provider: a file of lines `NAME sha256:SALT:HASH`, changed by the
 * command that adds or removes one. */
import { LccError } from './errors.js';
import { KeyedLines } from './keyed-lines.js';
import { tryLock } from './lock.js';
import { generatePassword, hashPassword } from './password.js';

const NAME = /^[\w.@-]{1,64}$/;
const STORED = /^sha256:\S+$/;

/** Words of messages for the accounts of a file. */
interface AccountWords {
  /** One of them: `reader`. */
  one: string;
  /** The option that makes an account: `--add-reader`. */
  madeBy: string;
}

export class AccountFile {
  readonly #words: AccountWords;
  readonly #lines: KeyedLines;

  constructor(path: string, words: AccountWords) {
    this.#words = words;
    this.#lines = new KeyedLines(path, {
      mode: 0o640,
      fits: (name, stored) => NAME.test(name) && STORED.test(stored),
      misfit: `not NAME sha256:SALT:HASH; make it with ${words.madeBy}`,
    });
  }

  get path(): string {
    return this.#lines.path;
  }

  /**
   * The stored password of an account, as the file has it now.
   * @throws LccError `io` when the file cannot be read, `config` with the line that makes no sense
   */
  password(name: string): string | undefined {
    return this.#lines.all().get(name);
  }

  /** In the order of the alphabet; none where there is no file. @throws LccError as `password` */
  names(): string[] {
    return [...this.#lines.all().keys()].sort();
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
      const accounts = new Map(this.#lines.all());
      edit(accounts);
      this.#lines.replace(accounts);
    } finally {
      lock.release();
    }
  }
}
