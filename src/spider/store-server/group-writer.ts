/**
 * A group of records on its way to the disk, in the order that nothing can be lost in:
 *
 *     synced in tmp/ ──▶ named, the names synced ──▶ rows committed, the log of the database synced
 *
 * A kill before the commit leaves files that no row knows, which the next start reads back (read-back.ts).
 */
import type { StoreDatabase } from '../../db/spider/database.js';
import type { DocumentFile, DocumentRow } from '../../db/spider/documents.js';
import { writeAllAside } from '../../lib/durable.js';
import { isNoRoom, LccError, messageOf } from '../../lib/errors.js';
import { step } from '../../lib/steps.js';
import { compressed } from './received-record.js';
import type { RowChange } from './what-counts.js';
import type { Draft, RecordFiles } from './record-files.js';

export interface GroupParts {
  db: StoreDatabase;
  files: RecordFiles;
  isCompressed: boolean;
}

/** Where the record of a change was put. */
export interface RecordPlace {
  file: number;
  position: number;
  storedBytes: number;
}

/** True if an error says that the disk is full: what was meant to be written may be so later. */
export function isFull(error: unknown): boolean {
  return isNoRoom(error) || (error instanceof LccError && error.code === 'io.full');
}

export class GroupWriter {
  readonly #parts: GroupParts;
  #nextFile: number;

  constructor(parts: GroupParts) {
    this.#parts = parts;
    this.#nextFile = parts.db.documents.lastFile() + 1;
  }

  /**
   * Resolves with the number of files made when all changes are on disk.
   * @throws what the disk does; where it is full nothing has been changed, and the same may be tried again
   */
  async keep(changes: readonly RowChange[]): Promise<number> {
    const { files, db } = this.#parts;
    const drafts = new Map<DocumentFile, Draft>();
    const places = new Map<RowChange, RecordPlace>();
    let pack: Draft | undefined;
    try {
      const short = changes.filter(({ content }) => content?.kind === 'short');
      if (short.length > 0) pack = await this.#writePack(short, drafts, places);
      for (const change of changes) this.#placeLong(change, drafts, places);
      await syncAll(files, drafts.values());
      step('stored.file.synced');
      await files.name(drafts);
      step('stored.file.named');
      db.write(() => this.#commit(changes, [...drafts.keys()], places));
    } catch (error) {
      if (pack !== undefined) files.discard(pack);
      throw error;
    }
    await this.#synced();
    step('stored.committed');
    return drafts.size;
  }

  /** Puts short records into one file, one after the other. */
  async #writePack(
    changes: readonly RowChange[],
    drafts: Map<DocumentFile, Draft>,
    places: Map<RowChange, RecordPlace>,
  ): Promise<Draft> {
    const file = this.#newFile();
    const stored = await Promise.all(changes.map(change => this.#storedPieces(change)));
    for (const [n, change] of changes.entries()) {
      const storedBytes = sumOf(stored[n] ?? []);
      places.set(change, { file: file.id, position: file.bytes, storedBytes });
      file.bytes += storedBytes;
    }
    const draft = this.#parts.files.begin();
    try {
      if (draft.fd === undefined) throw new Error('a draft that is closed is written');
      await writeAllAside(draft.fd, stored.flat());
    } catch (error) {
      this.#parts.files.discard(draft);
      throw error;
    }
    drafts.set(file, draft);
    return draft;
  }

  async #storedPieces({ content }: RowChange): Promise<Buffer[]> {
    if (content?.kind !== 'short') return [];
    return this.#parts.isCompressed ? [await compressed(Buffer.concat(content.pieces))] : content.pieces;
  }

  #placeLong(change: RowChange, drafts: Map<DocumentFile, Draft>, places: Map<RowChange, RecordPlace>): void {
    const { content } = change;
    if (content?.kind !== 'long') return;
    const file = this.#newFile();
    file.bytes = content.storedBytes;
    places.set(change, { file: file.id, position: 0, storedBytes: content.storedBytes });
    drafts.set(file, content.draft);
  }

  #newFile(): DocumentFile {
    return { id: this.#nextFile++, isCompressed: this.#parts.isCompressed ? 1 : 0, bytes: 0 };
  }

  #commit(
    changes: readonly RowChange[],
    made: readonly DocumentFile[],
    places: ReadonlyMap<RowChange, RecordPlace>,
  ): void {
    const { documents } = this.#parts.db;
    for (const file of made) documents.addFile(file);
    documents.putAll(
      changes.map(change => ({ row: rowOf(change, places.get(change)), before: change.before })),
    );
  }

  /** A commit cannot be taken back: a disk that does not sync it is one to stop at, also when it is full. */
  async #synced(): Promise<void> {
    const { db } = this.#parts;
    try {
      await db.synced();
    } catch (error) {
      throw new LccError('io', `${db.path}: cannot be synced: ${messageOf(error)}`, { cause: error });
    }
  }
}

/** The row of a change whose record, if it brings one, is in that place. */
export function rowOf({ row }: RowChange, place: RecordPlace | undefined): DocumentRow {
  if (place === undefined || row.held === undefined) return row;
  return { ...row, held: { ...row.held, ...place } };
}

/** Syncs drafts side by side. A long record that a full disk may have parts of is lost. */
async function syncAll(files: RecordFiles, drafts: Iterable<Draft>): Promise<void> {
  const synced = [...drafts].map(async draft => {
    try {
      await files.finish(draft);
    } catch (error) {
      draft.isLost = true;
      throw error;
    }
  });
  const failed = (await Promise.allSettled(synced)).flatMap(each =>
    each.status === 'rejected' ? [each.reason as unknown] : [],
  );
  // Any error but a full disk is worse than that.
  if (failed.length > 0) throw failed.find(error => !isFull(error)) ?? failed[0];
}

function sumOf(pieces: readonly Buffer[]): number {
  return pieces.reduce((sum, { length }) => sum + length, 0);
}
