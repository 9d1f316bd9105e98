/**
 * How long ago content was last confirmed: fetched, or named by a set. Rows say which set named them last,
 * those of the queue where a change of the content waits to be fetched; marks (agemark) say how long ago a
 * set was taken. A mark is made as the Queue Manager runs, so that neither a clock that jumps nor an LCC that
 * was away makes content older than its provider had time to confirm it.
 */
import { placesOf } from '../queue/folders.js';
import { Counter } from '../sqlite/counters.js';
import { JointStore } from '../sqlite/sql-store.js';
import { STAYS } from '../moves/moving.js';
import type { ContentStore } from './content.js';
import { isSameUrl } from '../queue/row.js';
import type { QueueReader } from '../queue/sets.js';

/** Content older than a limit: neither named by a set from `psetid` on, nor fetched since `fetchedS`. */
export interface Cut {
  psetid: number;
  fetchedS: number;
}

interface OldRow {
  id: number;
  pid: number;
  curl: string;
  mimetype: string;
  /** null: its owner announced it. */
  hops: number | null;
}

/** No change of the content waits that such a set has named. */
const NOT_WAITING = `NOT EXISTS (SELECT 1 FROM qdb WHERE pos IN ${placesOf('lccurl.pid', 'lccurl.curl')}
  AND ${isSameUrl('qdb', 'lccurl')} AND coalesce(qdb.named, qdb.psetid) >= $psetid)`;
/** Rows with ids between two that are older than a cut. */
const OLD = `id > ? AND id <= ? AND psetid < $psetid AND fetched_time < $fetchedS AND ${NOT_WAITING}`;

export class AgeStore extends JointStore<{ content: ContentStore; queue: QueueReader }> {
  readonly #psetids = new Counter(this.db, 'psetid');
  readonly #selectLastMark = this.sql.value<[], number>('SELECT at FROM agemark ORDER BY mark DESC LIMIT 1');
  readonly #insertMark = this.sql.run<[psetid: number, nowS: number]>(
    'INSERT INTO agemark(psetid, at) VALUES (?, ?)',
  );
  readonly #deleteOldMarks = this.sql.run<[keep: number]>(
    'DELETE FROM agemark WHERE mark <= (SELECT max(mark) FROM agemark) - ?',
  );
  readonly #selectCut = this.sql.value<[marks: number, at: number], number>(
    `SELECT psetid FROM (SELECT mark, psetid, at FROM agemark ORDER BY mark DESC LIMIT -1 OFFSET ?)
     WHERE at <= ? ORDER BY mark DESC LIMIT 1`,
  );
  readonly #selectPageEnd = this.sql.value<[afterId: number, rows: number], number>(
    'SELECT id FROM lccurl WHERE id > ? ORDER BY id LIMIT 1 OFFSET ?',
  );

  /** True if a mark is due: once in `intervalS`, or when the clock has gone back. */
  isMarkDue(nowS: number, intervalS: number): boolean {
    const last = this.#selectLastMark();
    return last === undefined || nowS >= last + intervalS || nowS < last;
  }

  /** Makes a mark; `keep` older ones stay. Inside a transaction. */
  mark(nowS: number, keep: number): void {
    this.#insertMark(this.#psetids.last() + 1, nowS);
    this.#deleteOldMarks(keep);
  }

  /** The limit for content older than `marks` marks and `ageS` seconds; undefined while nothing can be. */
  cut(marks: number, ageS: number, nowS: number): Cut | undefined {
    const psetid = this.#selectCut(marks, nowS - ageS);
    return psetid === undefined ? undefined : { psetid, fetchedS: nowS - ageS };
  }

  /** The id of the `rows`-th row of content after `afterId`; undefined when there are fewer. */
  pageEnd(afterId: number, rows: number): number | undefined {
    return this.#selectPageEnd(afterId, rows - 1);
  }

  /** Content with ids after `afterId` up to `toId` that is older. */
  readonly old = this.sql.rows<[afterId: number, toId: number, cut: Cut, limit: number], OldRow>(
    `SELECT id, pid, curl, mimetype, hops FROM lccurl WHERE ${OLD} AND ${STAYS} ORDER BY id LIMIT ?`,
  );

  /** Providers of such content, but for those that are asked for a full set already. */
  readonly oldProviders = this.sql.values<[afterId: number, toId: number, cut: Cut], number>(
    `SELECT DISTINCT pid FROM lccurl JOIN pidb USING (pid) WHERE ${OLD} AND hops IS NULL AND fullsetwanted IS NULL`,
  );

  /** Providers that hold content, have not been heard of since, and are not asked for a full set yet. */
  readonly silentProviders = this.sql.values<[sinceS: number], number>(
    // Nobody can be asked where no set was ever accepted: of a site that is only crawled, or pushed.
    `SELECT pid FROM pidb WHERE fullsetwanted IS NULL AND filesused > 0 AND lastset > 0
       AND max(lastset, lastconntime) < ?`,
  );

  /** Lets go of content. Inside a transaction. */
  remove(rows: readonly OldRow[], nowS: number): void {
    for (const { pid, curl, mimetype } of rows) {
      const held = this.stores.content.find(pid, curl, mimetype);
      if (held === undefined) continue;
      this.stores.content.remove(pid, held, nowS);
      this.stores.queue.changed(pid);
    }
  }
}
