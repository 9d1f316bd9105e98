/**
 * The room that replaced documents leave: a file nothing of which is needed is removed, and of one of which
 * less than half is what is left is put into a new file with the next records. So a store takes at most about
 * twice what it holds. Which file is such a one, `spareFile` decides (db/spider/documents.ts).
 */
import type { StoreDatabase } from '../../db/spider/database.js';
import type { Clock } from '../../lib/clock.js';
import { isFull } from './group-writer.js';
import type { PendingRecords } from './pending-records.js';
import type { RecordFiles } from './record-files.js';

const ROUND_MS = 1000;
/** Files removed in a round. */
const ROUND_FILES = 1000;

interface FileUpkeepParts {
  db: StoreDatabase;
  files: RecordFiles;
  pending: PendingRecords;
  clock: Clock;
  fail: (error: unknown) => void;
}

export class FileUpkeep {
  readonly #parts: FileUpkeepParts;
  #round: Promise<void> | undefined;
  #isOver = false;
  #cancel: (() => void) | undefined;

  constructor(parts: FileUpkeepParts) {
    this.#parts = parts;
    this.#plan();
  }

  /** Resolves when nothing is being done any more. */
  async stop(): Promise<void> {
    this.#isOver = true;
    this.#cancel?.();
    await this.#round;
  }

  #plan(): void {
    this.#cancel = this.#parts.clock.after(ROUND_MS, () => {
      this.#round = this.#work().then(
        () => {
          if (!this.#isOver) this.#plan();
        },
        (error: unknown) => this.#parts.fail(error),
      );
    });
  }

  async #work(): Promise<void> {
    try {
      await this.#removeDead();
      this.#emptySpare();
    } catch (error) {
      // The next round will do.
      if (!isFull(error)) throw error;
    }
  }

  /** Removes files that no row refers to, and forgets them once that is on disk. */
  async #removeDead(): Promise<void> {
    const { db, files } = this.#parts;
    const dead = db.documents.deadFiles(ROUND_FILES);
    if (dead.length === 0) return;
    for (const file of dead) files.remove(file);
    await files.removed(dead.map(({ id }) => id));
    db.write(() => {
      for (const { id } of dead) db.documents.forgetFile(id);
    });
  }

  #emptySpare(): void {
    const { db, files, pending } = this.#parts;
    const file = pending.hasRoom ? db.documents.spareFile() : undefined;
    if (file === undefined) return;
    for (const { docId, held } of db.documents.ofFile(file.id)) {
      if (held === undefined) continue;
      const record = files.recordOf(file, held);
      pending.add({
        kind: 'move',
        docId,
        from: { file: file.id, position: held.position },
        content: { kind: 'short', pieces: [record] },
        bytes: record.length,
      });
    }
  }
}
