/** A cursor that begins with the next change: what is there already is nobody's news (`lccq --from-now`). */
import { LccError } from '../lib/errors.js';
import { advanceCursor, lockCursor, readCursor, type CursorPlace, type FileCursor } from './cursor.js';
import type { RemoteOptions } from './remote/link.js';
import { openSource } from './open-source.js';
import type { WhenShipped } from '../daemon/when-shipped.js';

/**
 * Makes the cursor, durably.
 * @returns it
 * @throws LccError `usage` where there is one; as lockCursor and openSource
 */
export async function beginCursor(
  at: { dbPath: string; from: RemoteOptions | undefined; shipped?: WhenShipped | undefined },
  { file, of }: CursorPlace,
): Promise<FileCursor> {
  const source = await openSource({ ...at, machineId: '' });
  try {
    const lock = lockCursor(file);
    try {
      const there = readCursor(file);
      if (there !== undefined)
        throw new LccError(
          'usage',
          `${file}: is a cursor already, at change ${there.seq}; leave out --from-now to go on from there, or remove it`,
        );
      const { storeId } = source;
      const cursor = { storeId, seq: await source.look(), ...(of === undefined ? {} : { of }) };
      advanceCursor(file, cursor);
      return cursor;
    } finally {
      lock.release();
    }
  } finally {
    source.close();
  }
}
