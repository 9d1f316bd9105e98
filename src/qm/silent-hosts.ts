/**
 * The hosts of one provider that did not answer when they were asked last. Where its roots name several,
 * those that do not answer must not keep the others waiting: their urls are asked for when nothing else is
 * left.
 */
import type { WaitingRow } from '../db/queue/row.js';
import type { FetchDone } from '../wire/fetch.js';
import { hostOf } from './hosts-of.js';

const MAX_HOSTS = 1000;

export class SilentHosts {
  readonly #hosts = new Set<string>();
  /** True if the provider has several hosts. */
  isSpread = false;

  /** Roots of the provider; of one host nothing is remembered. */
  set roots(roots: readonly string[]) {
    this.isSpread = new Set(roots.map(hostOf)).size > 1;
    if (!this.isSpread) this.#hosts.clear();
  }

  /** True if some are silent, and one of these rows is of another. */
  areOthersIn(rows: readonly Pick<WaitingRow, 'furl' | 'curl'>[]): boolean {
    return this.#hosts.size > 0 && rows.some(({ furl, curl }) => !this.#hosts.has(hostOf(furl ?? curl)));
  }

  /** True if the row is of such a host; one that has failed otherwise before has a turn of its own. */
  has({ tries, furl, curl }: Pick<WaitingRow, 'tries' | 'furl' | 'curl'>): boolean {
    return this.#hosts.size > 0 && tries === 0 && this.#hosts.has(hostOf(furl ?? curl));
  }

  /** A url was asked for. @param result undefined: its robots.txt has come */
  heard(url: string, result: FetchDone | undefined): void {
    const answered = result?.status !== 'error' || result.reach !== 'provider';
    if (!this.isSpread || (answered && this.#hosts.size === 0)) return;
    if (answered) this.#hosts.delete(hostOf(url));
    else if (this.#hosts.size < MAX_HOSTS) this.#hosts.add(hostOf(url));
  }

  /** The operator wants them to be asked. */
  clear(): void {
    this.#hosts.clear();
  }
}
