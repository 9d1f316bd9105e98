/** The robots.txt of the site of the model, and what must be kept of it. */
import type { FetchResult } from '../../src/wire/fetch.js';
import { failure } from './support.js';

/** What it forbids, when it does. */
export const FORBIDDEN_CURL = 'd';
const DAY_S = 86_400;

export class ModelRobots {
  /** As the site has it. `away`: it cannot be had. */
  site = { forbids: false, away: false };
  /** When it came, and when it was asked for last. */
  #kept: { forbids: boolean; atS: number; triedS: number } | undefined;

  answer(cost: { id: number; wireBytes: number; elapsedMs: number }): FetchResult {
    if (this.site.away) return failure(503, 'url');
    const rule = this.site.forbids ? `User-agent: *\nDisallow: /${FORBIDDEN_CURL}\n` : '';
    return { ...cost, status: 'inline', http: 200, content: Buffer.from(rule), isCut: false };
  }

  answered(nowS: number): void {
    if (!this.site.away) this.#kept = { forbids: this.site.forbids, atS: nowS, triedS: nowS };
    else if (this.#kept !== undefined) this.#kept.triedS = nowS;
  }

  /** Whether something may be fetched by it: of the last day; or the last that came, while it is asked for each hour. */
  isKnown(nowS: number): boolean {
    if (this.#kept === undefined) return false;
    const { atS, triedS } = this.#kept;
    return nowS - atS <= DAY_S || (nowS - atS <= 30 * DAY_S && nowS - triedS <= DAY_S / 24);
  }

  isForbidden(curl: string): boolean {
    return curl === FORBIDDEN_CURL && this.#kept?.forbids === true;
  }
}
