/** Finds the enabled providers that a push may concern, each with its roots and the doors that are open. */
import { MAX_PUSHABLE, parseDoors, type Pushable } from '../../wire/push.js';
import { SqlStore } from '../sqlite/sql-store.js';

interface Row {
  pid: number;
  held: number;
  push: string;
}

/** Roots that are compared with a host. */
const MOST_COMPARED = 10_000;

export class PushableStore extends SqlStore {
  readonly #one = this.sql.row<[pid: number], Row>(
    'SELECT pid, filesused AS held, push FROM pidb WHERE pid = ? AND enabled = 1',
  );
  readonly #roots = this.sql.values<[pid: number], string>(
    'SELECT root FROM proots WHERE pid = ? ORDER BY root',
  );
  readonly #near = this.sql.rows<[from: string, to: string], { pid: number; root: string }>(
    `SELECT pid, root FROM proots WHERE root >= ? AND root < ? ORDER BY root LIMIT ${MOST_COMPARED}`,
  );

  /** One provider, with all its roots. */
  of(pid: number): Pushable[] {
    return this.#pushable(pid, this.#roots(pid));
  }

  /** Those with a root at a host, in the order of their numbers; each with its roots there. */
  at(host: string): Pushable[] {
    const roots = new Map<number, string[]>();
    for (const scheme of ['http', 'https'])
      // A slash or the colon of a port follows.
      for (const { pid, root } of this.#near(`${scheme}://${host}`, `${scheme}://${host};`)) {
        if (!URL.canParse(root) || new URL(root).hostname !== host) continue;
        const there = roots.get(pid);
        if (there === undefined) roots.set(pid, [root]);
        else there.push(root);
      }
    return [...roots]
      .toSorted(([a], [b]) => a - b)
      .flatMap(([pid, there]) => this.#pushable(pid, there))
      .slice(0, MAX_PUSHABLE);
  }

  #pushable(pid: number, roots: readonly string[]): Pushable[] {
    const row = this.#one(pid);
    if (row === undefined) return [];
    const { held, push } = row;
    return [{ pid, roots, held, doors: parseDoors(push) ?? [] }];
  }
}
