/**
 * Content of other machines, brought here before the record of its row is made, for formats open a content
 * at once. Of one reader of rows, which brings for one row after the other.
 */
import type { ColumnName, ColumnValue } from '../../db/cache/fields.js';
import type { CacheReader } from '../../db/cache/read.js';
import { LccError } from '../../lib/errors.js';
import { isWanted } from '../content-wanted.js';
import type { StoredContent } from '../stored-content.js';
import type { Brought, PeerContents } from './contents.js';

/** Columns by which content is brought, after those of the record. */
export const BRING_COLUMNS = [
  'localfileid',
  'fetched_machineid',
  'fetched_fileid',
  'md5',
  'mimetype',
] as const satisfies readonly ColumnName[];

/** Contents that come at a time, ahead of the row whose turn it is. */
const AHEAD = 4;

/** The content of a row: here now, or why not. */
type BroughtRow = (Brought | { why: LccError }) & { machineId: string; fileId: string };

/**
 * The same, for a writer of records. `isReplaced`: the row has another content by now; a string: missing or
 * altered; undefined: no machine is known that has it.
 */
export type FoundThere =
  | { content: StoredContent }
  | { why: string | LccError | undefined; isReplaced?: boolean };

export class Bringer {
  readonly #peers: PeerContents;
  readonly #skipsAway: boolean;
  #row: BroughtRow | undefined;

  /** @param skipsAway machines that do not answer are passed over */
  constructor(peers: PeerContents, skipsAway: boolean) {
    this.#peers = peers;
    this.#skipsAway = skipsAway;
  }

  /** The content brought for the row now, once. @param reader of the row */
  take(reader: Pick<CacheReader, 'isHeldNow'>): FoundThere {
    const row = this.#row;
    this.#row = undefined;
    if (row === undefined) return { why: undefined };
    if ('content' in row || typeof row.why !== 'string') return row;
    return { why: row.why, isReplaced: !reader.isHeldNow(row.fileId, row.machineId) };
  }

  /**
   * For the row that comes now.
   * @param values those of `BRING_COLUMNS`
   * @returns undefined where there is nothing to wait for
   * @throws as `PeerContents.fetch`
   */
  bring(wanted: boolean | 'text', values: readonly ColumnValue[]): Promise<void> | undefined {
    this.drop();
    return this.#begin(wanted, values)?.then(row => void (this.#row = row));
  }

  /** Lets go of a content that nobody took. */
  drop(): void {
    if (this.#row !== undefined) closeOf(this.#row);
    this.#row = undefined;
  }

  /** Rows in their order, each when its content is here; that of the next few is on its way. @param rows each
   * with the values of `BRING_COLUMNS` at its end */
  async *rows(wanted: boolean | 'text', rows: readonly ColumnValue[][]): AsyncGenerator<ColumnValue[], void> {
    const coming: (Promise<BroughtRow> | undefined)[] = [];
    try {
      for (const [i, row] of rows.entries()) {
        while (coming.length < Math.min(rows.length, i + AHEAD)) {
          const next = this.#begin(wanted, (rows[coming.length] ?? []).slice(-BRING_COLUMNS.length));
          // Should it fail, that is met when it is its turn.
          next?.catch(() => undefined);
          coming.push(next);
        }
        this.drop();
        const ours = coming[i];
        coming[i] = undefined;
        if (ours !== undefined) this.#row = await ours;
        yield row.slice(0, -BRING_COLUMNS.length);
      }
    } finally {
      this.drop();
      for (const left of coming) void left?.then(closeOf, () => undefined);
    }
  }

  #begin(wanted: boolean | 'text', values: readonly ColumnValue[]): Promise<BroughtRow> | undefined {
    const [local, machineId, fileId, md5, mimetype] = values;
    if (typeof local === 'string' || typeof fileId !== 'string') return undefined;
    if (!isWanted(wanted, String(mimetype))) return undefined;
    return this.#fetch(String(machineId), fileId, String(md5));
  }

  async #fetch(machineId: string, fileId: string, md5: string): Promise<BroughtRow> {
    try {
      return { ...(await this.#peers.fetch(machineId, fileId, md5)), machineId, fileId };
    } catch (error) {
      if (!this.#skipsAway || !(error instanceof LccError) || error.code !== 'try.later') throw error;
      return { why: error, machineId, fileId };
    }
  }
}

function closeOf(row: BroughtRow): void {
  if ('content' in row) row.content.close();
}
