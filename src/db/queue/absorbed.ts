/** The sets taken from UNSes, whole or in part (table `absorbed`): one sent again counts once, and one cut
 * off goes on. */
import { SqlStore } from '../sqlite/sql-store.js';

export interface SetCounts {
  /** Urls that got a row in the queue. */
  queued: number;
  /** Urls that waited already. */
  duplicate: number;
  /** Urls that need nothing done. */
  unchanged: number;
  /** Urls whose content or waiting fetch was removed, those a full set does not name included. */
  deleted: number;
}

/** Where a set stands: the row of `absorbed`. */
export interface SetState extends SetCounts {
  psetid: number;
  pid: number;
  firstpos: number;
  lastpos: number;
  rowsdone: number;
  complete: number;
  files: number;
  space: number;
  /** The set has no row yet, for it began in this transaction. */
  begun?: { uns: string; entry: string; atS: number; full: boolean } | undefined;
}

export function countsOf({ queued, duplicate, unchanged, deleted }: SetState): SetCounts {
  return { queued, duplicate, unchanged, deleted };
}

/** A UNS forgets an entry as soon as it is told that it was absorbed: far fewer than these can come again. */
const REMEMBERED_SETS = 10_000;
const PRUNE_EVERY = 1000;

export class AbsorbedSets extends SqlStore {
  // safeguard: memory of what was absorbed
  readonly #insertSet = this.sql.run<[state: SetState, uns: string, entry: string, atS: number, full: 0 | 1]>(
    `INSERT INTO absorbed(uns, entry, at, isfull, psetid, pid, firstpos, lastpos, rowsdone, complete, queued, duplicate,
       unchanged, deleted, files, space)
     VALUES (?, ?, ?, ?, $psetid, $pid, $firstpos, $lastpos, $rowsdone, $complete, $queued, $duplicate, $unchanged, $deleted,
       $files, $space)`,
  );
  readonly #updateProgress = this.sql.run<[state: SetState]>(
    `UPDATE absorbed SET rowsdone = $rowsdone, complete = $complete, queued = $queued, duplicate = $duplicate,
       unchanged = $unchanged, deleted = $deleted, files = $files, space = $space WHERE psetid = $psetid`,
  );
  readonly #markComplete = this.sql.run<[psetid: number]>(
    'UPDATE absorbed SET complete = 1 WHERE psetid = ?',
  );
  readonly #deleteForgotten = this.sql.run<[uns: string, psetid: number]>(
    'DELETE FROM absorbed WHERE uns = ? AND psetid < ? AND complete = 1',
  );

  /** State of an entry; undefined when nothing is known of it. */
  readonly find = this.sql.row<[uns: string, entry: string], SetState>(
    'SELECT * FROM absorbed WHERE uns = ? AND entry = ?',
  );

  /** Those of a provider that were cut off. */
  readonly begun = this.sql.rows<[pid: number], SetState>(
    'SELECT * FROM absorbed WHERE complete = 0 AND pid = ?',
  );
  /** The sets that have begun and are not complete. */
  readonly open = this.sql.rows<[], SetState>('SELECT * FROM absorbed WHERE complete = 0 ORDER BY psetid');

  /** Writes the state back. Inside a transaction. */
  save(state: SetState): void {
    const { begun } = state;
    if (begun === undefined) return this.#updateProgress(state);
    this.#insertSet(state, begun.uns, begun.entry, begun.atS, begun.full ? 1 : 0);
    state.begun = undefined;
  }

  /** The set will not be taken again. Inside a transaction. */
  complete({ psetid, complete }: SetState): void {
    if (complete === 0) this.#markComplete(psetid);
  }

  /** Rows of sets that have begun and are not complete: they are not fetched. */
  readonly unfinished = this.sql.number('SELECT total(queued) FROM absorbed WHERE complete = 0');

  /**
   * Forgets complete sets of a UNS that it cannot send again, its last thousands kept. Inside a transaction.
   */
  prune(uns: string, psetid: number): void {
    if (psetid % PRUNE_EVERY === 0) this.#deleteForgotten(uns, psetid - REMEMBERED_SETS);
  }
}
