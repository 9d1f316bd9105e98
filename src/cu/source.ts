/** Where the rows of a stream come from: the database here, or an lccd-cu elsewhere (cu/remote/). */
import { CacheReader } from '../db/cache/read.js';
import type { ColumnName, ColumnValue } from '../db/cache/fields.js';
import { DatabaseWatch } from '../db/sqlite/watch.js';
import type { Clock } from '../lib/clock.js';
import { contentWanted } from './content-wanted.js';
import { CONTENT_COLUMNS, type FormatContext, type Writer } from './formats/types.js';
import { BRING_COLUMNS, type Bringer } from './peers/bringer.js';
import { contextOf, kindOf, selectionOf, type QueryTalk } from './query.js';
import type { Rejects } from './rejects.js';
import type { WhenShipped } from '../daemon/when-shipped.js';
import type { Query } from './types.js';
import { lineWindows, rowWindows, type Range, type RowWindow } from './windows.js';

/** Waits for what is committed. */
export interface Watching {
  /** The state now: to be noted before it is read. */
  seen(): number;
  /** @throws LccError `data.refused` where it is another database since */
  changedSince(seen: number, stop: AbortSignal): Promise<void>;
  close(): void;
}

export interface Source {
  readonly storeId: string;
  /** The last number of the change sequence given out, and that before which deletions were forgotten, as
   * last looked. */
  readonly highWater: number;
  readonly purged: number;
  /** Looks again. @param stop ends the wait for somebody who does not answer @returns the last number, or,
   * stopped, that of the last look */
  look(stop?: AbortSignal): number | Promise<number>;
  /** Rows, or lines, as the writer takes them. */
  windows(
    query: Query,
    range: Range,
    writer: Writer,
    stop: AbortSignal,
  ): Iterable<RowWindow> | AsyncIterable<RowWindow>;
  context(query: Query, rejects: Rejects, talk: QueryTalk): FormatContext;
  watch(clock: Clock, adviceOnAnother: () => string): Watching;
  close(): void;
}

export class LocalSource implements Source {
  readonly reader: CacheReader;
  readonly #dbPath: string;
  readonly #bringer: Bringer | undefined;
  readonly #shipped: WhenShipped | undefined;

  /**
   * @param bringer brings content of other machines
   * @param shipped of a kept home, where numbers will be told
   * @throws LccError as CacheReader
   */
  constructor(dbPath: string, machineId: string, bringer?: Bringer, shipped?: WhenShipped) {
    this.#dbPath = dbPath;
    this.#bringer = bringer;
    this.#shipped = shipped;
    this.reader = new CacheReader(dbPath, machineId);
  }

  get storeId(): string {
    return this.reader.storeId;
  }

  get highWater(): number {
    return this.reader.highWater;
  }

  get purged(): number {
    return this.reader.purged;
  }

  look(): number | Promise<number> {
    const reached = this.reader.look();
    // safeguard: the move of a cursor waiting for the engine
    return this.#shipped === undefined ? reached : this.#shipped().then(() => reached);
  }

  windows(query: Query, range: Range, writer: Writer): Iterable<RowWindow> | AsyncIterable<RowWindow> {
    const selection = selectionOf(query);
    if ('template' in writer) return lineWindows(this.reader, selection, range, writer.template);
    const wanted = contentWanted(query, writer.columns);
    if (this.#bringer !== undefined && wanted !== false)
      return this.#brought(
        query,
        range,
        [...writer.columns, ...BRING_COLUMNS],
        this.#bringer.rows.bind(this.#bringer, wanted),
      );
    return rowWindows(this.reader, selection, range, writer.columns, kindOf(query.format));
  }

  /** Windows of one row, each when its content is here. */
  async *#brought(
    query: Query,
    range: Range,
    columns: readonly ColumnName[],
    bring: (rows: readonly ColumnValue[][]) => AsyncIterable<ColumnValue[]>,
  ): AsyncGenerator<RowWindow, void> {
    const windows = rowWindows(this.reader, selectionOf(query), range, columns, kindOf(query.format));
    for (const { items, reachedSeq } of windows) {
      for await (const row of bring(items)) yield { items: [row], count: 1, reachedSeq: Number(row[0]) };
      yield { items: [], count: 0, reachedSeq };
    }
  }

  /** True if records of the query may need content of other machines: they are made row by row then. */
  brings(query: Query): boolean {
    return this.#bringer !== undefined && contentWanted(query, CONTENT_COLUMNS) !== false;
  }

  context(query: Query, rejects: Rejects, talk: QueryTalk): FormatContext {
    return contextOf(this.reader, query, rejects, talk, undefined, this.#bringer);
  }

  watch(clock: Clock, adviceOnAnother: () => string): Watching {
    const version = () => this.reader.dataVersion();
    const watch = new DatabaseWatch(this.#dbPath, version, clock, adviceOnAnother);
    return {
      seen: () => {
        this.reader.rest();
        return version();
      },
      changedSince: (seen, stop) => watch.changedSince(seen, stop),
      close: () => watch.close(),
    };
  }

  close(): void {
    this.reader.close();
  }
}
