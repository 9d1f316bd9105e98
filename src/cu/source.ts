/** Where the rows of a stream come from: the database here, or an lccd-cu elsewhere (cu/remote/). */
import { CacheReader, type LineBlock } from '../db/cache/read.js';
import type { ColumnValue } from '../db/cache/fields.js';
import { DatabaseWatch } from '../db/sqlite/watch.js';
import type { Clock } from '../lib/clock.js';
import type { FormatContext, Writer } from './formats/types.js';
import { contextOf, kindOf, selectionOf, type QueryTalk } from './query.js';
import type { Rejects } from './rejects.js';
import type { Query } from './types.js';
import { lineWindows, rowWindows, type Range, type Window } from './windows.js';

export type RowWindow = Window<LineBlock | ColumnValue[]>;

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

  /** @throws LccError as CacheReader */
  constructor(dbPath: string, machineId: string) {
    this.#dbPath = dbPath;
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

  look(): number {
    return this.reader.look();
  }

  windows(query: Query, range: Range, writer: Writer): Iterable<RowWindow> {
    const selection = selectionOf(query);
    return 'template' in writer
      ? lineWindows(this.reader, selection, range, writer.template)
      : rowWindows(this.reader, selection, range, writer.columns, kindOf(query.format));
  }

  context(query: Query, rejects: Rejects, talk: QueryTalk): FormatContext {
    return contextOf(this.reader, query, rejects, talk);
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
