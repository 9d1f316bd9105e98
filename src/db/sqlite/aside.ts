/**
 * Getting a damaged database out of the way of a new one, whole: it is never overwritten. Its log goes first,
 * each durably before the next: whatever happens, a new database never finds the log of the old.
 *
 *     damaged ──note durable──▶ leaving ──log moved──▶ ──database moved──▶ gone ──▶ note removed
 *
 * A database without its log may well look sound, and be an older one. So a process that opens it looks first
 * whether it was leaving
 * when somebody was killed, and goes on with that (`finishLeaving`, `endLeaving`).
 */
import { existsSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { renameDurably, writeFileDurably } from '../../lib/durable.js';
import { inodeOf } from '../../lib/inode.js';
import { readIfThere } from '../../lib/read-if-there.js';
import { step } from '../../lib/steps.js';

/** A database's files after its name; it goes last. */
export const PARTS = ['-wal', '-shm', ''];

const noteOf = (path: string) => `${path}.leaving`;

/** A name that nothing has, with the time in it. */
export function asideName(path: string, why: 'damaged' | 'replaced', nowMs: number): string {
  const name = `${path}.${why}-${new Date(nowMs).toISOString().replace(/\D/g, '').slice(0, 14)}`;
  if (!existsSync(name)) return name;
  for (let n = 2; ; n++) if (!existsSync(`${name}-${n}`)) return `${name}-${n}`;
}

/** True if one was leaving when its process ended. */
export function isLeaving(path: string): boolean {
  return existsSync(noteOf(path));
}

/**
 * From here on it leaves, whatever happens: `aside` is a name of `asideName`.
 * `finishLeaving` and `endLeaving` must follow.
 */
export function beginLeaving(path: string, aside: string): void {
  writeFileDurably(noteOf(path), `${basename(aside)}\n${inodeOf(path)}\n`);
  step('db.leaving.noted');
}

/** Moves what of a leaving database is still there. @returns its new name; undefined when none is leaving */
export function finishLeaving(path: string): string | undefined {
  const [name, inode] = readIfThere(noteOf(path))?.split('\n') ?? [];
  if (name === undefined) return undefined;
  const aside = join(dirname(path), name);
  // The database itself goes last: under its name there may be the next one already.
  if (inodeOf(path)?.toString() !== inode) return aside;
  for (const part of PARTS) {
    if (!existsSync(path + part)) continue;
    renameDurably(path + part, aside + part);
    step('db.leaving.moved');
  }
  return aside;
}

/** Completes a move aside that a crash cut off. Call before opening the database. */
export function endLeaving(path: string): void {
  rmSync(noteOf(path), { force: true });
}
