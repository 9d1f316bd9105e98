/** Providers with a site that refuses the login it is given. All of their urls are answered so, and go: only
 * the operator can mend that, and must hear of it once, not with each url. */
import type { Clock } from '../lib/clock.js';
import type { Log } from '../lib/log.js';
import { setNewest } from '../lib/newest.js';
import type { FetchDone } from '../wire/fetch.js';

/** Remembered; of more the oldest are forgotten. */
const MAX_PROVIDERS = 1000;
/** Interval at most at which a site that takes the login for some urls only is told. */
const TOLD_MS = 3_600_000;
const UNAUTHORIZED = 401;

interface Refusal {
  login: string;
  /** Monotonic. */
  toldMs: number;
  /** Nothing was fetched since. */
  stands: boolean;
}

export class RefusedLogins {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #refusals = new Map<number, Refusal>();

  constructor({ clock, log }: { clock: Clock; log: Log }) {
    this.#clock = clock;
    this.#log = log;
  }

  /** Their numbers. */
  get pids(): number[] {
    return [...this.#refusals].filter(([, { stands }]) => stands).map(([pid]) => pid);
  }

  /** A url was asked for. @param login that its provider has now, and had when the url was sent */
  heard(pid: number, login: string, result: FetchDone): void {
    const refusal = this.#refusals.get(pid);
    if (result.status !== 'error') {
      if (refusal !== undefined) refusal.stands = false;
    } else if (result.code === UNAUTHORIZED) {
      const nowMs = this.#clock.monotonicMs();
      if (refusal?.login === login && (refusal.stands || nowMs - refusal.toldMs < TOLD_MS)) {
        refusal.stands = true;
        return;
      }
      setNewest(this.#refusals, pid, { login, toldMs: nowMs, stands: true }, MAX_PROVIDERS);
      this.#log.warn(
        'login of a provider refused by its site: what the site refuses is removed; set another login (lccpidb set --loginfile), then run lccctl want-full',
        { pid, code: UNAUTHORIZED },
      );
    }
  }

  /** Providers may have been changed: forgets those with another login now. */
  reload(loginOf: (pid: number) => string | null | undefined): void {
    for (const [pid, { login }] of this.#refusals) if (loginOf(pid) !== login) this.#refusals.delete(pid);
  }
}
