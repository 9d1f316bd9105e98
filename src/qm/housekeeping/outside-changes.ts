import type { Db } from '../../db/sqlite/open.js';
import type { Chore } from '../housekeeping.js';

const LOOK_MS = 500;

/** Sees what another process (lccpidb) changed in the database. */
export class OutsideChanges implements Chore {
  readonly #version;
  readonly #changed: () => void;
  #seen: number | undefined;

  constructor(db: Db, changed: () => void) {
    this.#version = db.prepare<[], number>('PRAGMA data_version').pluck();
    this.#seen = this.#version.get();
    this.#changed = changed;
  }

  run(): number {
    const version = this.#version.get();
    if (version !== this.#seen) {
      this.#seen = version;
      this.#changed();
    }
    return LOOK_MS;
  }
}
