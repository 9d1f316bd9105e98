/** A gate that opens when a test says so, without a keeper. */
import type { Kept, Lease } from '../../src/daemon/kept.js';
import { until } from './until.js';

export class HeldGate implements Kept {
  readonly isKept = true;
  lease: Lease | undefined = { state: 'owner', epoch: 1, untilMs: Infinity };
  /** Names that were asked for. */
  readonly asked: string[] = [];
  isHeld = false;
  readonly #waiting: { open: () => void; refuse: (error: Error) => void }[] = [];
  readonly #watchers = new Set<(lease: Lease) => void>();

  shipped(name: string): Promise<void> {
    this.asked.push(name);
    if (!this.isHeld) return Promise.resolve();
    return new Promise((open, refuse) => void this.#waiting.push({ open, refuse }));
  }

  /** Those that wait. */
  get waiting(): number {
    return this.#waiting.length;
  }

  hold(): void {
    this.isHeld = true;
  }

  /** Resolves when somebody waits, or `isTold`: all too early. */
  async holds(isTold = () => false): Promise<void> {
    await until('somebody asks the gate', () => this.waiting > 0 || isTold());
  }

  /** Opens it for all that wait, and from now on. */
  release(): void {
    this.isHeld = false;
    for (const { open } of this.#waiting.splice(0)) open();
  }

  /** It will never open for those that wait. */
  refuse(error: Error): void {
    for (const { refuse } of this.#waiting.splice(0)) refuse(error);
  }

  tell(lease: Lease): void {
    this.lease = lease;
    for (const changed of this.#watchers) changed(lease);
  }

  watch(changed: (lease: Lease) => void): () => void {
    this.#watchers.add(changed);
    if (this.lease !== undefined) changed(this.lease);
    return () => void this.#watchers.delete(changed);
  }

  close(): void {}
}
