/** An LCC as programs read it. */
import { SETTINGS } from '../../config/settings/index.js';
import type { ColumnValue } from '../../db/cache/fields.js';
import { CacheReader } from '../../db/cache/read.js';
import { storageError } from '../../db/sqlite/open.js';
import { DatabaseWatch } from '../../db/sqlite/watch.js';
import { systemClock } from '../../lib/clock.js';
import { LccError } from '../../lib/errors.js';
import { beganOf, cursorAt, startOf } from '../cursor.js';
import type { WhenShipped } from '../../daemon/when-shipped.js';
import { rowWindows, type Range, type Window } from '../windows.js';
import { changeOf, CHANGE_COLUMNS, REPLACED, selectionOf } from './changes.js';
import { parseCursor } from './cursors.js';
import { CHANGES_OPTIONS, checkOptions } from './options.js';
import { PeerContents, type PeersOptions } from '../peers/contents.js';
import { keepOrigin, type ChangeOrigin } from './content.js';
import type { Change, ChangesOptions, Cursor } from './types.js';

const CHECK_AGAIN = 'lccfsck --repair --recheck has it fetched again';

/** Where an LCC lies. */
export interface LccLocation {
  /** Path of the database, `lcc.db`. */
  db: string;
  /** Path of the store of content. */
  store: string;
  /** Name of this machine in the LCC: its content is here. */
  machineId: string;
  /** Longest content that `pageTextOf` makes text of. Default: that of `cu.max_text_bytes` in lcc.toml(5). */
  maxTextBytes?: number | undefined;
  /** Other machines of the LCC, which are asked for their content; `openLcc` has them from lcc.toml(5). */
  machines?: PeersOptions | undefined;
  /** Resolves when all that is committed by now is in the engine, where the LCC has one. */
  shipped?: (() => Promise<void>) | undefined;
}

/** An LCC that is open for reading. Nothing in it is locked, nobody is hindered: a program may take hours
 * over one change. Any number of iterations may be under way at a time. */
export class Lcc {
  readonly #reader: CacheReader;
  readonly #db: string;
  readonly #store: string;
  readonly #closed = new AbortController();
  readonly #origin: ChangeOrigin;
  readonly #peers: PeerContents | undefined;
  readonly #shipped: WhenShipped | undefined;
  /** Identity of the store: cursors of another one are refused. */
  readonly storeId: string;

  /** @throws LccError `input.missing`, `config`, `data.malformed` when the database cannot be read */
  constructor({ db, store, machineId, maxTextBytes, machines, shipped }: LccLocation) {
    this.#peers = machines && new PeerContents(machines);
    this.#shipped = shipped;
    this.#reader = new CacheReader(db, machineId);
    this.#reader.rest();
    this.#db = db;
    this.#store = store;
    this.storeId = this.#reader.storeId;
    this.#origin = {
      isHeldNow: file =>
        this.#closed.signal.aborted || this.#reader.isHeldNow(file.slice(this.#store.length + 1)),
      maxTextBytes: maxTextBytes ?? SETTINGS['cu.max_text_bytes'].default,
    };
  }

  /** How far the LCC has come: a program that begins with this one sees what changes from now on. @throws
   * LccError `usage` where an engine keeps the LCC: `keptNow` waits for that */
  now(): Cursor {
    if (this.#shipped !== undefined)
      throw new LccError('usage', 'this LCC is kept in an engine (store.url): await keptNow()');
    return { storeId: this.storeId, seq: this.#looked().highWater };
  }

  /** The same, when that is in the engine which keeps the LCC, if there is one. @throws LccError `try.later`
   * when it is not after 10 s, or another machine serves the LCC */
  async keptNow(): Promise<Cursor> {
    const { highWater } = this.#looked();
    await this.#shipped?.();
    return { storeId: this.storeId, seq: highWater };
  }

  /**
   * All that is held, or the changes since a cursor, in the order of the changes. A url that changes while
   * the iteration goes on may be missing from it and then comes with the next one, or later in the same one
   * with `follow`; it may come twice, and is never lost.
   * @throws LccError `usage` at once for an option that there is not, or a value that it cannot have; from
   *   the first step `data.refused` where the changes since the cursor cannot be told any more (start again
   *   without one) and where the database is replaced by another while it is followed, `data.malformed` for a
   *   damaged database, `usage` when the LCC was closed; the reason of `signal`
   */
  changes(options: ChangesOptions = {}): AsyncGenerator<Change, void> {
    checkOptions(options, CHANGES_OPTIONS);
    return this.#changes(options);
  }

  async *#changes(options: ChangesOptions): AsyncGenerator<Change, void> {
    const { follow = false, signal, cursor } = options;
    const given = typeof cursor === 'string' ? parseCursor(cursor) : cursor;
    const { storeId, highWater, purged } = this.#looked();
    let since = given === undefined ? 0 : startOf('cursor', given, { storeId, highWater, purged });
    const began = beganOf(given, { highWater });
    let left = options.limit ?? Infinity;
    const stop = AbortSignal.any([this.#closed.signal, ...(signal === undefined ? [] : [signal])]);
    const watch = follow
      ? new DatabaseWatch(this.#db, () => this.#reader.dataVersion(), systemClock)
      : undefined;
    try {
      for (;;) {
        this.#mustBeOpen();
        const seen = this.#reader.dataVersion();
        const to = this.#looked().highWater;
        // safeguard: changes of the library waiting for the engine
        await this.#shipped?.();
        for await (const window of this.#windows(options, { since, to, limit: left, began })) {
          for (const row of window.items) {
            signal?.throwIfAborted();
            const change = changeOf(row, { storeId, began, store: this.#store });
            const fetch = this.#fetcherOf(change, row.at(-1));
            keepOrigin(change, fetch === undefined ? this.#origin : { ...this.#origin, fetch });
            yield change;
            this.#mustBeOpen();
          }
          left -= window.count;
          since = window.reachedSeq;
        }
        if (since === to) {
          await options.caughtUp?.(cursorAt(storeId, since, began));
          this.#mustBeOpen();
        }
        signal?.throwIfAborted();
        if (watch === undefined || left <= 0) return;
        await watch.changedSince(seen, stop);
        signal?.throwIfAborted();
      }
    } finally {
      watch?.close();
    }
  }

  /** One after the other, with a turn for others between them. */
  async *#windows(options: ChangesOptions, range: Range): AsyncGenerator<Window<ColumnValue[]>, void> {
    const selection = selectionOf(options);
    try {
      for (const window of rowWindows(this.#reader, selection, range, CHANGE_COLUMNS)) {
        yield window;
        await new Promise<void>(resolve => void setImmediate(resolve));
        this.#mustBeOpen();
      }
    } catch (error) {
      throw storageError(this.#db, error);
    }
  }

  /** Undefined where the content is here, or there is none, or no machine to ask. */
  #fetcherOf({ curl, file, machineId, md5 }: Change, fileId: ColumnValue | undefined): ChangeOrigin['fetch'] {
    const peers = this.#peers;
    if (peers === undefined || file !== null || typeof fileId !== 'string') return undefined;
    const where = `machine ${machineId}`;
    return async () => {
      const found = await peers.fetch(String(machineId), fileId, String(md5));
      if ('content' in found) return found.content;
      if (found.why === undefined)
        throw new LccError('data.refused', `${curl}: its content is on ${where}, which no machine is`);
      if (!this.#closed.signal.aborted && !this.#reader.isHeldNow(fileId, String(machineId)))
        throw new LccError('try.later', `${curl}: ${REPLACED}`);
      throw new LccError('input.missing', `${curl}: its content on ${where} is ${found.why}; ${CHECK_AGAIN}`);
    };
  }

  /** Lets go of the database; iterations that are under way throw. */
  close(): void {
    this.#closed.abort();
    this.#reader.close();
  }

  /** The reader, at rest after a look at the database as it is now. */
  #looked(): CacheReader {
    this.#mustBeOpen();
    this.#reader.look();
    return this.#reader;
  }

  #mustBeOpen(): void {
    if (this.#closed.signal.aborted) throw new LccError('usage', 'this LCC was closed; open it again');
  }
}
