/** Statements that are asked again and again: what is read for each range of a long answer, and for each
 * window of a slow one, differs in its values only. Preparing took a tenth of the time of an archive. */
import type { Db, Statement } from '../sqlite/open.js';

/** All are forgotten when there would be more: selections make different ones. */
const MAX_KNOWN = 64;

export class Statements {
  readonly #db: Db;
  readonly #known = new Map<string, Statement>();

  constructor(db: Db) {
    this.#db = db;
  }

  /** Callers that ask for the same text must read its rows in the same way (`raw`, `pluck`): that is a state
   * of the statement. */
  prepare<Bind extends unknown[] = unknown[], Row = unknown>(sql: string): Statement<Bind, Row> {
    const known = this.#known.get(sql);
    // Somebody may still be in the middle of its rows.
    if (known !== undefined && !known.busy) return known as Statement<Bind, Row>;
    const made = this.#db.prepare<Bind, Row>(sql);
    if (this.#known.size >= MAX_KNOWN) this.#known.clear();
    this.#known.set(sql, made);
    return made;
  }
}
