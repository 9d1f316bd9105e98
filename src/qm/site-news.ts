/** What a result says of its site, besides what comes of its url: who waits for it now. */
import type { Request } from './in-flight.js';
import type { Known } from './known-providers.js';
import type { RefusedLogins } from './refused-logins.js';
import type { Arrival } from './results.js';
import type { LaneTable } from './schedule/lanes.js';
import type { Waits } from './waits.js';

export class SiteNews {
  readonly #waits: Pick<Waits, 'heed'>;
  readonly #refusedLogins: Pick<RefusedLogins, 'heard'>;
  readonly #table: Pick<LaneTable, 'recallAll'>;

  constructor(
    waits: Pick<Waits, 'heed'>,
    refusedLogins: Pick<RefusedLogins, 'heard'>,
    table: Pick<LaneTable, 'recallAll'>,
  ) {
    this.#waits = waits;
    this.#refusedLogins = refusedLogins;
    this.#table = table;
  }

  /** @param known its provider, if it is still there */
  heard(
    { lane: { pid }, arrival, url, login }: Request,
    { result, news }: Arrival,
    known: Known | undefined,
  ): void {
    if (result !== undefined || news?.robots?.failures === 0) known?.silent.heard(url, result);
    if (login !== undefined && result !== undefined && login === known?.terms.login)
      this.#refusedLogins.heard(pid, login, result);
    // What nobody announced waits by itself (robots-gate/waiting-origins.ts).
    // safeguard: calling back what has not begun where an origin does not answer
    if (news?.pause !== undefined) this.#table.recallAll(pid);
    // safeguard: what nobody announced delaying nothing that an owner did
    if (result?.status === 'error' && known !== undefined && arrival.set.class === 0)
      this.#waits.heed(known, arrival.backoffs, result, url);
  }
}
