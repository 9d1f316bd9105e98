/** Urls that a person gave to begin with: what is said of those that were not sent, or were not to be had
 * before. */
import { amount, formatUntil } from '../config/words.js';
import { shownBytes } from '../lib/shown-bytes.js';
import { codeText } from '../wire/codes.js';
import type { SeedOutcome } from './expander.js';

const SECOND_MS = 1000;
const REJECTED: readonly SeedOutcome['is'][] = ['unowned', 'forbidden', 'ambiguous', 'trap'];

/** Why a url is not sent that its giver expects to be; undefined: it is, or need not be. */
export function complaintOf(url: string, outcome: SeedOutcome, nowMs: number): string | undefined {
  const shown = shownBytes(url);
  if (outcome.is === 'unowned')
    return /^https?:\/\//i.test(url)
      ? `${shown}: below no root of a provider with spider=yes; add one with lccpidb add --spider=yes`
      : `${shown}: no http or https url; write https://... in front`;
  if (outcome.is === 'trap')
    return `${shown}: not sent, it is a trap: ${outcome.trap}; see Traps in lcclinks(1)`;
  if (outcome.is === 'ambiguous') return `${shown}: not sent: it ${outcome.why}`;
  if (outcome.is !== 'forbidden') return undefined;
  const { code } = outcome;
  const until = formatUntil(outcome.untilS * SECOND_MS, nowMs);
  return `${shown}: not sent, ${codeText(code)} (code ${code}), counts until ${until}; lccctl flush ends that`;
}

/** Counts of what became of all. */
export class SeedCounts {
  rejected = 0;
  #given = 0;
  #sent = 0;
  #held = 0;
  #waiting = 0;
  readonly #failed = new Map<number, number>();

  add(outcome: SeedOutcome): void {
    this.#given++;
    if (outcome.is === 'sent') {
      this.#sent++;
      const { failed } = outcome;
      if (failed !== undefined) this.#failed.set(failed, (this.#failed.get(failed) ?? 0) + 1);
    } else if (outcome.is === 'held') this.#held++;
    else if (outcome.is === 'waiting') this.#waiting++;
    else if (REJECTED.includes(outcome.is)) this.rejected++;
  }

  /** Undefined where all were sent, and none of them had failed before. */
  line(): string | undefined {
    if (this.#sent === this.#given && this.#failed.size === 0) return undefined;
    const again = [...this.#failed].map(([code, count]) => `${count} with code ${code}`);
    return [
      `${this.#sent} of ${amount(this.#given, 'url')} sent`,
      ...(again.length === 0 ? [] : [`asked for again that had failed: ${again.join(', ')}`]),
      ...(this.#held === 0 ? [] : [`held already: ${this.#held}`]),
      ...(this.#waiting === 0 ? [] : [`waiting already: ${this.#waiting}`]),
      ...(this.rejected === 0 ? [] : [`not sent: ${this.rejected}`]),
    ].join('; ');
  }
}
