/**
 * Cursors: how far one consumer has come, as `(store id, sequence)` in a small text file of its own.
 *
 *     lcc-cursor 1 6f3f3c7e-3a0c-4b1c-9b57-5c4c1c2b0a11 48213
 *     of --pid=7
 *
 * A third value is there as long as a consumer reads everything for the first time: where the sequence was
 * when it began. It has nothing of what was deleted before, so that those deletions may be forgotten. The
 * second line is there where the consumer was given a selection only: for another one changes before it are
 * missing. FILE is only ever replaced whole, after the consumer has succeeded. FILE.next is what a complete
 * stream leaves in the pipe form; `commit` renames it. FILE.lock keeps two runs from using one cursor at a
 * time. Where FILE is a symbolic link, all of them lie beside what it leads to.
 */
import type { Selection } from '../db/cache/selection.js';
import { accessSync, closeSync, constants, readFileSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { renameDurably, writeFileDurably } from '../lib/durable.js';
import { errnoOf, isNoRoom, LccError, messageOf, reasonOf } from '../lib/errors.js';
import { tryLock, type Lock } from '../lib/lock.js';
import { realPath } from '../lib/real-path.js';
import { openRegularFile } from '../lib/regular-file.js';
import { writeFailure } from '../lib/stdio.js';
import { step } from '../lib/steps.js';
import type { Cursor } from './library/types.js';

/** State of the store that a cursor is checked against. */
interface StoreState {
  storeId: string;
  /** The last number of the change sequence given out. */
  highWater: number;
  /** The highest number of a deletion that has been forgotten. */
  purged: number;
}

/** A cursor as its file has it. */
export interface FileCursor extends Cursor {
  /** Selection of the changes up to it, as options of lccq; undefined: all, or it is not known. */
  of?: string;
}

/** Where a consumer's cursor is, and what of the changes it is given. */
export interface CursorPlace {
  file: string;
  of: string | undefined;
  /** As `beganOf` has it; of no use to who begins with the next change. */
  began?: number | undefined;
}

const TEXT = /^lcc-cursor 1 ([0-9a-f-]{36}) (\d{1,15})(?: (\d{1,15}))?\n(?:of (.+)\n)?$/;

/** A selection by which changes are left out for good, as options of lccq; undefined: none. */
export function selectionText(selection: Pick<Selection, 'pid' | 'prefix' | 'mime'>): string | undefined {
  const { pid, prefix, mime } = selection;
  const options = Object.entries({ pid, prefix, mime }).filter(([, value]) => value !== undefined);
  if (options.length === 0) return undefined;
  return options.map(([name, value]) => `--${name}=${JSON.stringify(value)}`).join(' ');
}

/**
 * Keeps other runs away from this cursor until the process ends, however it ends.
 * @throws LccError `try.later` when another run has it, `output.create` when its directory is missing or
 * cannot be written
 */
export function lockCursor(file: string): Lock {
  const path = placeOf(file);
  // A file that is no cursor gets no lock.
  readCursor(file);
  // Before a consumer is given anything: its cursor could not be moved.
  output(
    () => accessSync(dirname(path), constants.W_OK),
    error => `${file}: its directory ${dirname(path)} cannot be written: ${reasonOf(error)}`,
  );
  // The message names the file.
  const lock = output(
    () => tryLock(`${path}.lock`),
    error => `${messageOf(error)}; is it the lock of a cursor?`,
  );
  if (lock === undefined) {
    throw new LccError('try.later', `${file}: another run is using this cursor; try again when it is done`);
  }
  return lock;
}

/** Where it lies. @throws LccError `output.create` where its directory is missing, `io` where links lead
 * nowhere */
function placeOf(file: string): string {
  try {
    return realPath(file, 'cursor');
  } catch (error) {
    throw error instanceof LccError ? error : unreadable(file, error);
  }
}

/** @throws LccError `output.create` for whatever is thrown */
function output<T>(work: () => T, say: (error: unknown) => string): T {
  try {
    return work();
  } catch (error) {
    throw new LccError('output.create', say(error), { cause: error });
  }
}

/**
 * The cursor in `file`; undefined when there is none yet: everything is new.
 * @throws LccError `data.malformed` when the file is something else, `io` when it cannot be read
 */
export function readCursor(file: string): FileCursor | undefined {
  let text: string;
  try {
    text = textOf(file);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw error instanceof LccError ? error : unreadable(file, error);
  }
  const [, storeId, seq, began, of] = TEXT.exec(text) ?? [];
  if (storeId === undefined) {
    throw new LccError(
      'data.malformed',
      `${file}:1:1: not a cursor (lcc-cursor 1 STORE SEQ); check the name; where it was one, full resync needed: remove it to start over`,
    );
  }
  return { ...cursorAt(storeId, Number(seq), Number(began ?? 0)), ...(of === undefined ? {} : { of }) };
}

function textOf(file: string): string {
  const fd = openRegularFile(file, 'cursor');
  try {
    return readFileSync(fd, 'utf8');
  } finally {
    closeSync(fd);
  }
}

function unreadable(file: string, cause: unknown): LccError {
  return new LccError('io', `cursor ${file}: ${reasonOf(cause)}`, { cause });
}

/** Where the sequence was when the consumer began with everything; 0 where that no longer matters. */
export const beganOf = (cursor: Cursor | undefined, { highWater }: Pick<StoreState, 'highWater'>): number =>
  cursor === undefined ? highWater : (cursor.began ?? 0);

/** @param began as `beganOf` has it */
export const cursorAt = (storeId: string, seq: number, began: number): Cursor => ({
  storeId,
  seq,
  ...(began > seq && { began }),
});

/**
 * Where a stream begins: after this number of the change sequence.
 * @throws LccError `data.refused` when the changes since the cursor cannot be told any more: full resync
 * needed
 */
export function startOf(file: string, cursor: Cursor | undefined, store: StoreState): number {
  if (cursor === undefined) return 0;
  const refuse = (why: string) =>
    new LccError('data.refused', `${file}: ${why}; full resync needed: remove it to start over`);
  if (cursor.storeId !== store.storeId)
    throw refuse(`cursor of another store (${cursor.storeId}, this is ${store.storeId})`);
  if (cursor.seq > store.highWater)
    throw refuse(`cursor at ${cursor.seq} is ahead of the store, which is at ${store.highWater}`);
  if (Math.max(cursor.seq, beganOf(cursor, store)) < store.purged)
    throw refuse(`cursor at ${cursor.seq} is older than the deletions remembered, from ${store.purged} on`);
  return cursor.seq;
}

/**
 * True if a run may use a cursor for a selection: what other selections left out before it would never come.
 * @returns what the user should know of it
 * @throws LccError `data.refused`
 */
export function adviceOnSelection(
  { file, of }: CursorPlace,
  cursor: FileCursor | undefined,
): string | undefined {
  if (cursor === undefined || cursor.of === of) return undefined;
  if (cursor.of === undefined)
    return `${file}: from now on a cursor of ${of} alone: its consumer is not given other changes`;
  throw new LccError(
    'data.refused',
    `${file}: up to change ${cursor.seq} only what ${cursor.of} selects was read by this cursor, the rest would be missing: use another cursor; or remove it to start over`,
  );
}

/** Moves the cursor on, durably: call it when the consumer has taken everything. @throws LccError `io.full`;
 * system errors */
export function advanceCursor(file: string, cursor: FileCursor): void {
  write(file, cursor);
  step('cu.cursor.advanced');
}

/** Forgets what an earlier stream left to be committed: call it before a new stream begins. @throws LccError
 * `output.create` */
export function dropNext(file: string): void {
  const next = `${placeOf(file)}.next`;
  output(
    () => rmSync(next, { force: true }),
    error => `${next}: ${reasonOf(error)}`,
  );
}

/**
 * Leaves the cursor to be committed once the reader of the pipe has succeeded: call it after the last byte.
 * @throws as `advanceCursor`
 */
export function offerNext(file: string, cursor: FileCursor): void {
  write(`${placeOf(file)}.next`, cursor);
  step('cu.cursor.offered');
}

/**
 * Makes the cursor that the last complete stream left the current one.
 * @throws LccError `input.missing` when no stream was complete, `data.malformed` when it is not a cursor
 */
export function commitNext(file: string): FileCursor {
  const path = placeOf(file);
  const cursor = readCursor(`${path}.next`);
  if (cursor === undefined) {
    throw new LccError(
      'input.missing',
      `${file}.next: nothing to commit: no stream for this cursor was written whole; run the pipe again`,
    );
  }
  const current = readCursor(file);
  if (current !== undefined && current.storeId === cursor.storeId && current.seq > cursor.seq)
    throw new LccError(
      'data.refused',
      `${file}.next: of an earlier run: the cursor is at change ${current.seq} already; run the pipe again`,
    );
  renameDurably(`${path}.next`, path);
  step('cu.cursor.advanced');
  return cursor;
}

function write(file: string, { storeId, seq, began, of }: FileCursor): void {
  try {
    writeFileDurably(
      placeOf(file),
      `lcc-cursor 1 ${storeId} ${seq}${began === undefined ? '' : ` ${began}`}\n${of === undefined ? '' : `of ${of}\n`}`,
    );
  } catch (error) {
    // Only what is said of names names them.
    if (isNoRoom(error)) throw writeFailure(file, error);
    const reason = reasonOf(error);
    throw reason === messageOf(error)
      ? error
      : new LccError('output.create', `${file}: ${reason}`, { cause: error });
  }
}
