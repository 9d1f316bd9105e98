/**
 * The hosts of one provider that did not answer when they were asked last. Where its roots name several,
 * those that do not answer must not keep the others waiting: their urls are asked for when nothing else is
 * left.
 */
import type { WaitingRow } from '../db/queue/row.js';
import type { FetchDone } from '../wire/fetch.js';
import { originOf } from './hosts-of.js';

const MAX_HOSTS = 1000;

export class SilentHosts {
  readonly #hosts = new Set<string>();
  #isSpread = false;

  /** Roots of the provider; of one origin nothing is remembered. */
  set roots(roots: readonly string[]) {
    this.#isSpread = new Set(roots.map(originOf)).size > 1;
    if (!this.#isSpread) this.#hosts.clear();
  }

  /** True if the provider has several hosts. */
  get isSpread(): boolean {
    return this.#isSpread;
  }

  /** True if some are silent, and one of these rows is of another. */
  areOthersIn(rows: readonly Pick<WaitingRow, 'furl' | 'curl'>[]): boolean {
    return this.#hosts.size > 0 && rows.some(({ furl, curl }) => !this.#hosts.has(originOf(furl ?? curl)));
  }

  /** True if the row is of such a host; one that has failed otherwise before has a turn of its own. */
  has({ tries, furl, curl }: Pick<WaitingRow, 'tries' | 'furl' | 'curl'>): boolean {
    return this.#hosts.size > 0 && tries === 0 && this.#hosts.has(originOf(furl ?? curl));
  }

  /** A url was asked for. @param result undefined: its robots.txt has come */
  heard(url: string, result: FetchDone | undefined): void {
    const answered = result?.status !== 'error' || result.reach !== 'provider';
    if (!this.#isSpread || (answered && this.#hosts.size === 0)) return;
    if (answered) this.#hosts.delete(originOf(url));
    else if (this.#hosts.size < MAX_HOSTS) this.#hosts.add(originOf(url));
  }

  /** The operator wants them to be asked. */
  clear(): void {
    this.#hosts.clear();
  }
}
