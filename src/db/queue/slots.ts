/** Rows that wait for a time slot: taken out of their set, one row of qpsdb for each slot, and put back when
 * it comes. Their places stay, so the order of a set is restored by reading it. */
import { crc32 } from 'node:zlib';
import type { ErrorStore } from '../cache/errors.js';
import { AT_MOST } from '../sqlite/paging.js';
import { JointStore } from '../sqlite/sql-store.js';
import { recordOfRow, rowStateOf } from './row.js';
import { NOW_SLOT, SET_COLUMNS, type QueueReader, type WaitingSet } from './sets.js';

/** Beyond all slots: rows that were submitted again while they waited for one, with hours to be looked at. */
export const LOOK_SLOT = 168;

/** The clock when slots were looked at last. */
interface LastLook {
  atMs: number;
  /** Slots of the period then. */
  slots: number;
  /** The other basis of the slots: the time zone, and the hours of all providers. */
  basis: string;
}

const LOOK_KEY = 'slots';
const NEVER = 614;
const NEVER_MEET = 'its hours and those of its provider never meet';

export class SlotStore extends JointStore<{ queue: QueueReader; errors: ErrorStore }> {
  readonly #updateSlot = this.sql.run<[slot: number, pos: number]>(
    'UPDATE queued SET slot = ? WHERE pos = ?',
  );
  readonly #insertPart = this.sql.run<[slot: number, psetid: number]>(
    `INSERT OR IGNORE INTO qpsdb(psetid, starttimeslot, pid, firstpos, lastpos, absorbedat, class)
     SELECT psetid, ?, pid, firstpos, lastpos, absorbedat, class FROM qpsdb WHERE psetid = ? LIMIT 1`,
  );
  readonly #takeBack = this.sql.values<[slot: number, psetid: number, limit: number], number>(
    `UPDATE queued SET slot = ${NOW_SLOT} WHERE pos IN
       (SELECT pos FROM queued WHERE slot = ? AND slot >= 0 AND psetid = ? ORDER BY pos ${AT_MOST}) RETURNING pos`,
  );
  // Rows to be looked at have no part of their own: one of their set must stay to tell its places.
  readonly #deleteEmptyParts = this.sql.run<[psetid: number]>(
    `DELETE FROM qpsdb WHERE psetid = ? AND starttimeslot >= 0 AND NOT EXISTS
       (SELECT 1 FROM queued WHERE slot IN (starttimeslot, ${LOOK_SLOT}) AND slot >= 0 AND psetid = qpsdb.psetid)`,
  );
  readonly #nextSlot = this.sql.value<[starttimeslot: number], number>(
    'SELECT min(starttimeslot) FROM qpsdb INDEXED BY qpsdb_later WHERE starttimeslot > ? AND starttimeslot >= 0',
  );
  readonly #nextProvider = this.sql.value<[slot: number, pid: number], number>(
    'SELECT min(pid) FROM qpsdb INDEXED BY qpsdb_later WHERE starttimeslot = ? AND starttimeslot >= 0 AND pid > ?',
  );
  readonly #selectResubmitted = this.sql.value<[afterPsetid: number], number>(
    `SELECT min(psetid) FROM queued INDEXED BY qdb_slot WHERE slot = ${LOOK_SLOT} AND slot >= 0 AND psetid > ?`,
  );
  readonly #selectAnyPart = this.sql.row<[psetid: number], WaitingSet>(
    `SELECT ${SET_COLUMNS} FROM qpsdb WHERE psetid = ? LIMIT 1`,
  );
  readonly #selectLastLook = this.sql.value<[key: string], string>('SELECT value FROM meta WHERE key = ?');
  readonly #writeLastLook = this.sql.run<[key: string, value: string]>(
    'INSERT OR REPLACE INTO meta VALUES (?, ?)',
  );
  readonly #selectMasks = this.db
    .prepare<[], [number, string]>("SELECT pid, timeofday FROM pidb WHERE timeofday <> '' ORDER BY pid")
    .raw();

  /**
   * Makes a row that was taken wait for a slot. undefined: it never comes, and that is reported as code 614;
   * content that is held stays. @returns false when the row has changed since it was taken. Inside a
   * transaction.
   */
  postpone(taken: { pos: number; gen: number; set: WaitingSet }, slot: number | undefined): boolean {
    const row = this.stores.queue.whole(taken.pos);
    if (row === undefined) return true;
    if (row.gen !== taken.gen || rowStateOf(row, row.slot) === 'cancelled') return false;
    if (slot === undefined) {
      this.stores.errors.add(row.pid, recordOfRow(row), NEVER, NEVER_MEET, row.named);
      this.stores.queue.drop(row);
      return true;
    }
    this.#updateSlot(slot, row.pos);
    this.#insertPart(slot, taken.set.psetid);
    return true;
  }

  /** The slots that anything waits for. */
  slots(): number[] {
    const slots: number[] = [];
    for (let slot = this.#nextSlot(-1); slot != null; slot = this.#nextSlot(slot)) slots.push(slot);
    return slots;
  }

  /** The providers of which anything waits for a slot: a look-up each. */
  *providers(slot: number): Generator<number, void> {
    for (let pid = this.#nextProvider(slot, 0); pid != null; pid = this.#nextProvider(slot, pid)) yield pid;
  }

  /** The slots that anything of a provider waits for. */
  slotsOf(pid: number): number[] {
    return this.slots().filter(slot => this.#nextProvider(slot, pid - 1) === pid);
  }

  /** A provider's next parts of sets after one that wait for a slot, in the order of their absorption. */
  readonly parts = this.sql.rows<[slot: number, pid: number, afterPsetid: number, limit: number], WaitingSet>(
    `SELECT ${SET_COLUMNS} FROM qpsdb INDEXED BY qpsdb_later
     WHERE starttimeslot = ? AND starttimeslot >= 0 AND pid = ? AND psetid > ? ORDER BY psetid ${AT_MOST}`,
  );

  /** The next sets after one with rows that were submitted again while they waited for a slot, as parts to
   * join. */
  resubmitted(afterPsetid: number, limit: number): WaitingSet[] {
    const parts: WaitingSet[] = [];
    for (let psetid = this.#selectResubmitted(afterPsetid); psetid != null && parts.length < limit;) {
      const part = this.#selectAnyPart(psetid);
      if (part !== undefined) parts.push({ ...part, slot: LOOK_SLOT });
      psetid = this.#selectResubmitted(psetid);
    }
    return parts;
  }

  /** Puts the next rows of a part back into its set. @returns their places, ascending, fewer than `limit`
   * when none are left: the part is gone then. Inside a transaction. */
  join(part: WaitingSet, limit: number): number[] {
    this.stores.queue.changed(part.pid);
    const places = this.#takeBack(part.slot, part.psetid, limit).sort((a, b) => a - b);
    if (places.length > 0) this.#insertPart(NOW_SLOT, part.psetid);
    if (places.length < limit) this.#deleteEmptyParts(part.psetid);
    return places;
  }

  /** Rows waiting for a slot. */
  readonly rows = this.sql.number('SELECT count(*) FROM queued WHERE slot >= 0');

  /** undefined: never. */
  lastLook(): LastLook | undefined {
    const [at, of, basis = ''] = this.#selectLastLook(LOOK_KEY)?.split(' ') ?? [];
    const [atMs, slots] = [Number(at), Number(of)];
    return Number.isFinite(atMs) && Number.isFinite(slots) ? { atMs, slots, basis } : undefined;
  }

  /** Inside a transaction. */
  setLastLook({ atMs, slots, basis }: LastLook): void {
    this.#writeLastLook(LOOK_KEY, `${atMs} ${slots} ${basis}`);
  }

  /** Another one when any provider has other hours; 100 000 with hours take some 50 ms. */
  hoursSum(): number {
    let sum = 0;
    for (const row of this.#selectMasks.iterate()) sum = crc32(`${row[0]} ${row[1]}\n`, sum);
    return sum;
  }
}
