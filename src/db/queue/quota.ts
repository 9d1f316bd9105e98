/**
 * Quotas at intake, as far as announced lengths tell (semantics.md, rule 14): by how much a provider's content will grow
 * when everything its set queues arrives as announced. A full set starts from nothing, since what it does not name goes.
 *
 * Between two settlements sums are upper bounds (a url that waits already counts again); only when they come near the
 * limit must they be made exact, so that a set well within its quota costs no look-ups.
 */
import type { Held } from '../cache/content.js';
import type { ProviderUse } from '../cache/tally.js';
import type { QueuedUrl } from './row.js';

/** Growth so far, kept with the set across restarts. */
export interface Growth {
  files: number;
  space: number;
}

/** A provider that was removed. */
const UNLIMITED: ProviderUse = { filesmax: Infinity, spacemax: Infinity, filesused: 0, spaceused: 0 };

export class IntakeQuota {
  readonly #use: Readonly<ProviderUse>;
  readonly #full: boolean;
  readonly #growth: Growth;
  #boundFiles = 0;
  #boundSpace = 0;
  #heldFiles = 0;
  #heldSpace = 0;

  /** @param use what is held now: deletes of the same set make room @param growth settled sums; written to */
  constructor(use: Readonly<ProviderUse> | undefined, full: boolean, growth: Growth) {
    this.#use = use ?? UNLIMITED;
    this.#full = full;
    this.#growth = growth;
  }

  /** Content held stays. */
  keeps(held: Held): void {
    if (!this.#full) return;
    this.#growth.files++;
    this.#growth.space += held.len;
  }

  /** The code (202 files, 203 space) with which the url would break the quota; exact only after a settlement. */
  refuses(url: QueuedUrl, held: Held | undefined): 202 | 203 | undefined {
    const { filesused, filesmax, spaceused, spacemax } = this.#use;
    const files = this.#full ? 0 : filesused;
    if (files + this.#growth.files + this.#boundFiles + this.#files(held) > filesmax) return 202;
    const bytes = this.#bytes(url, held);
    const space = this.#full ? 0 : spaceused;
    if (bytes > 0 && space + this.#growth.space + this.#boundSpace + bytes > spacemax) return 203;
    return undefined;
  }

  textOf(code: 202 | 203): string {
    return code === 202
      ? `file quota exceeded: ${this.#use.filesmax} files allowed`
      : `space quota exceeded: ${this.#use.spacemax} bytes allowed`;
  }

  /** The url is queued. */
  takes(url: QueuedUrl, held: Held | undefined): void {
    this.#boundFiles += this.#files(held);
    this.#boundSpace += this.#bytes(url, held);
    if (held !== undefined && !this.#full) {
      this.#heldFiles++;
      this.#heldSpace += held.len;
    }
  }

  /** Makes the sums exact: of what was taken since the last settlement so many rows, with so many bytes, were new. */
  settle(rows: number, bytes: number): void {
    this.#growth.files += Math.max(0, rows - this.#heldFiles);
    this.#growth.space += bytes - Math.min(bytes, this.#heldSpace);
    this.#boundFiles = this.#boundSpace = this.#heldFiles = this.#heldSpace = 0;
  }

  #files(held: Held | undefined): number {
    return this.#full || held === undefined ? 1 : 0;
  }

  #bytes(url: QueuedUrl, held: Held | undefined): number {
    const announced = url.len ?? held?.len ?? 0;
    return this.#full ? announced : announced - (held?.len ?? 0);
  }
}
