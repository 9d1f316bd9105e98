/** The word of an operator about a provider's score: whether it has effects. */
import type { Db } from '../sqlite/open.js';

/** With none, a priority that the score has lowered is what it was. Inside a transaction, or as one
 * statement. */
export function setTruthEffects(db: Db, pid: number, hasEffects: boolean): void {
  const sql = hasEffects
    ? 'UPDATE pidb SET truthmode = 1 WHERE pid = ? AND truthmode = 0'
    : 'UPDATE pidb SET priority = min(2, priority + (truthmode = 2)), truthmode = 0 WHERE pid = ?';
  db.prepare<[number]>(sql).run(pid);
}

/** A priority was given: it is not the score that has lowered it. */
export function keepPriority(db: Db, pid: number): void {
  db.prepare<[number]>('UPDATE pidb SET truthmode = 1 WHERE pid = ? AND truthmode = 2').run(pid);
}
