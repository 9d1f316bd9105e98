/**
 * What was asked unasked and is not held (table `known`): until its time has come, `ifabsent` of what nobody announced takes it
 * for present, so that a crawl ends. All methods run inside the caller's transaction.
 */
import type { Db } from '../sqlite/open.js';

export class KnownStore {
  readonly #selectUntil;
  readonly #selectAny;
  readonly #delete;

  constructor(db: Db) {
    this.#selectUntil = db
      .prepare<[number, string], number>('SELECT until FROM known WHERE pid = ? AND curl = ?')
      .pluck();
    this.#selectAny = db.prepare<[number], number>('SELECT 1 FROM known WHERE pid = ? LIMIT 1').pluck();
    this.#delete = db.prepare<[number, string]>('DELETE FROM known WHERE pid = ? AND curl = ?');
  }

  /** Whether anything is known so of a provider. */
  hasAny(pid: number): boolean {
    return this.#selectAny.get(pid) !== undefined;
  }

  /** Its owner has announced it, or content has come. */
  forget(pid: number, curl: string): void {
    this.#delete.run(pid, curl);
  }

  /** Whether it is known that a page is not to be had. */
  isKnown(pid: number, curl: string, nowS: number): boolean {
    return (this.#selectUntil.get(pid, curl) ?? 0) > nowS;
  }
}
