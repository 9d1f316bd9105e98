/** Cursors as text and in files, for programs. */
import { LccError } from '../../lib/errors.js';
import { formatCuCursor, parseCuCursor } from '../../wire/cu.js';
import { advanceCursor, cursorAt, lockCursor, readCursor, type FileCursor } from '../cursor.js';
import type { Cursor } from './types.js';

/** `STORE:SEQ`, as lccd-cu(8) has it; `STORE:SEQ:BEGAN` while everything is read for the first time. */
export function formatCursor(cursor: Cursor): string {
  return formatCuCursor(cursor);
}

/** @throws LccError `usage` for a text that is none */
export function parseCursor(text: string): Cursor {
  const cursor = parseCuCursor(text);
  if (cursor === undefined) throw new LccError('usage', `"${text.slice(0, 60)}" is no cursor: STORE:SEQ`);
  return cursor;
}

/** A cursor in a file that `lccq --cursor` understands, kept from others while it is open. */
export interface CursorFile {
  /** As it was read, or saved last; undefined while there is none: everything is new. */
  readonly cursor: Cursor | undefined;
  /** Replaces the file, durably. Call it when what came before the cursor has been dealt with for good. */
  save(cursor: Cursor): void;
  close(): void;
}

/**
 * Opens a cursor file, which need not be there.
 * @throws LccError `try.later` while another program has it open, `output.create` when its directory is
 *   missing, `data.malformed` when it is something else
 */
export function openCursor(file: string): CursorFile {
  const lock = lockCursor(file);
  let cursor: FileCursor | undefined;
  try {
    cursor = readCursor(file);
  } catch (error) {
    lock.release();
    throw error;
  }
  return {
    get cursor() {
      return cursor && cursorAt(cursor.storeId, cursor.seq, cursor.began ?? 0);
    },
    save(reached) {
      const moved = { ...(cursor?.of !== undefined && { of: cursor.of }), ...reached };
      advanceCursor(file, moved);
      cursor = moved;
    },
    close: () => lock.release(),
  };
}
