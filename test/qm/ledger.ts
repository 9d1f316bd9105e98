/**
 * What CPs were promised, kept apart from the model: whatever was accepted ends stored, reported, or superseded
 * (semantics.md, rule 18).
 */
import assert from 'node:assert/strict';
import type { Url } from './model.js';

export class Ledger {
  /** By provider and key: what the last accepted set that concerns it wants, and whether an error was reported since. */
  readonly #wanted = new Map<string, { op: 'update' | 'delete'; reported: boolean }>();
  /** Providers of which an accepted set was lost by its UNS: they were asked for a full set instead. */
  readonly #given = new Set<number>();
  #sets = 0;

  /** A set is accepted. @returns its number */
  promised(pid: number, full: boolean, urls: readonly Url[]): number {
    if (full) {
      this.#given.delete(pid);
      for (const [id, wanted] of this.#wanted) if (id.startsWith(`${pid} `)) wanted.op = 'delete';
    }
    for (const { key, op } of urls) this.#wanted.set(`${pid} ${key}`, { op, reported: false });
    return ++this.#sets;
  }

  /** One of the provider's sets can never be taken. */
  given(pid: number): void {
    this.#given.add(pid);
  }

  reported(pid: number, key: string): void {
    const wanted = this.#wanted.get(`${pid} ${key}`);
    if (wanted !== undefined) wanted.reported = true;
  }

  /** @param held the keys of what is held, as `pid key` @param allReported whether every error could be seen */
  check(held: ReadonlySet<string>, allReported: boolean): void {
    for (const [id, { op, reported }] of this.#wanted) {
      if (this.#given.has(Number.parseInt(id))) continue;
      if (op === 'delete') assert.ok(!held.has(id), `${id} was deleted and is held`);
      else assert.ok(held.has(id) || reported || !allReported, `${id} was accepted and is lost`);
    }
  }
}
