/** Who operates: names and passwords of their own, in `rs/operators`; and how a login is judged. */
import { join } from 'node:path';
import type { Home } from '../../config/home.js';
import { AccountFile } from '../../lib/account-file.js';
import type { Clock } from '../../lib/clock.js';
import { LoginBackoff } from '../../lib/login-backoff.js';
import { passwordMatches } from '../../lib/password.js';

export function operatorsOf(home: Home): AccountFile {
  return new AccountFile(join(home.rs, 'operators'), {
    one: 'operator',
    madeBy: 'lccrs operator add',
  });
}

export interface OperatorLoginsOptions {
  accounts: Pick<AccountFile, 'password'>;
  clock: Clock;
}

export class OperatorLogins {
  readonly #accounts: OperatorLoginsOptions['accounts'];
  readonly #clock: Clock;
  readonly #backoff: LoginBackoff;

  constructor({ accounts, clock }: OperatorLoginsOptions) {
    this.#accounts = accounts;
    this.#clock = clock;
    this.#backoff = new LoginBackoff(clock);
  }

  /**
   * True if name and password belong together; guesses are answered ever more slowly.
   * @param address of the client
   * @throws LccError as AccountFile.password
   */
  async areRight(name: string, password: string, address: string): Promise<boolean> {
    const delayMs = this.#backoff.delayMs(name, address);
    if (delayMs > 0) await new Promise<void>(resolve => this.#clock.after(delayMs, resolve));
    const isRight = passwordMatches(password, this.#accounts.password(name));
    this.#backoff[isRight ? 'succeeded' : 'failed'](name, address);
    return isRight;
  }

  /** Stored form of an operator's password, for sessions to end with it; undefined: there is none of that
   * name. */
  stored(name: string): string | undefined {
    return this.#accounts.password(name);
  }
}
