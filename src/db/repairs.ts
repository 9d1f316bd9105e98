/** Changes of `lccfsck --repair` in lcc.db. The caller has the Queue Manager's lock. */
import type { WrongCount } from './fsck-look.js';
import { Counter, raiseCounters } from './sqlite/counters.js';
import { forgetMarks } from './sqlite/marks.js';
import type { Db } from './sqlite/open.js';
import { SqlStore } from './sqlite/sql-store.js';
import { adoptStrayRows, rebuildSets } from './queue/sets-from-urls.js';
import type { Spoilt } from './queue/refetch.js';
import type { QueueStore } from './queue/store.js';
import { beginAnew } from './sqlite/restored.js';

export class Repairs extends SqlStore {
  readonly #store: QueueStore;
  readonly #nowS: () => number;
  readonly #shard: number;

  constructor(db: Db, store: QueueStore, nowS: () => number, shard: number) {
    super(db);
    this.#store = store;
    this.#nowS = nowS;
    this.#shard = shard;
  }

  /** Rows whose content cannot be trusted go, and their urls are queued again. */
  fetchAgain(spoilt: readonly Spoilt[]): void {
    if (spoilt.length > 0) this.#store.transaction(() => this.#store.refetch.again(spoilt, this.#nowS()));
  }

  /** All content of all machines will be read again when they connect (qm/sync-points.ts). */
  recheck(): void {
    this.#store.transaction(() => this.db.prepare('UPDATE store SET syncedseq = 0').run());
  }

  /** The database was put back from a backup: nobody may rely on what was known of it since. */
  beginAnew(): void {
    this.#store.transaction(() => beginAnew(this.db, 'restored from a backup'));
    forgetMarks(this.db.name);
  }

  /**
   * The files of a machine's store are gone: nothing is left to delete, and whichever store comes next is its
   * store.
   * @returns files that waited for deletion
   */
  forgetStore(machineid: string): number {
    return this.#store.transaction(() => {
      this.sql.run<[machineid: string]>('DELETE FROM store WHERE machineid = ?')(machineid);
      return this.sql.changes<[machineid: string]>('DELETE FROM freed WHERE machineid = ?')(machineid);
    });
  }

  /** A file that a row points to is not to be deleted. */
  keepFile(fid: number): void {
    this.#store.transaction(() => this.#store.freed.remove(fid));
  }

  /** Rebuilds the sets of the queue from its urls. */
  rebuildSets(): void {
    this.#store.transaction(() => {
      adoptStrayRows(this.db);
      rebuildSets(this.db);
    });
  }

  setCounts(wrong: readonly WrongCount[]): void {
    this.#store.transaction(() => {
      for (const { pid, column, should } of wrong)
        this.db.prepare(`UPDATE pidb SET ${column} = ? WHERE pid = ?`).run(should, pid);
    });
  }

  /** The change sequence: what is beyond the last number counts as given out, and a deletion whose number a
   * row has too takes the next one, so that everybody reads of it again. */
  mendNumbers(): void {
    this.#store.transaction(() => {
      raiseCounters(this.db, this.#shard);
      const doubled = this.sql.values<[], number>('SELECT seq FROM tombstone JOIN lccurl USING (seq)');
      const renumber = this.db.prepare<[number, number]>('UPDATE tombstone SET seq = ? WHERE seq = ?');
      const seqs = new Counter(this.db, 'seq');
      for (const seq of doubled()) renumber.run(seqs.take(), seq);
    });
  }
}
