/** An LCC of several homes, as programs read it: one home after the other, each asked when its turn has come
 * and with a cursor of its own. A home that does not answer costs the others nothing. */
import type { ColumnValue } from '../../db/cache/fields.js';
import { stayFor, type Clock } from '../../lib/clock.js';
import { LccError } from '../../lib/errors.js';
import type { AskedShards } from '../asked-shards.js';
import { beganOf, cursorAt, startOf } from '../cursor.js';
import { formatNamed } from '../formats/index.js';
import { Rejects } from '../rejects.js';
import type { RemoteOptions } from '../remote/link.js';
import { RemoteSource } from '../remote/source.js';
import { AwayShards, isOfOne, LOOK_MS, mustBeOwned, type AskedShard } from '../shards.js';
import type { StoredContent } from '../stored-content.js';
import type { Query } from '../types.js';
import { CHANGE_COLUMNS, changeOf, REPLACED, selectionOf } from './changes.js';
import { parseCursor } from './cursors.js';
import { CHANGES_OPTIONS, checkOptions, checkValue } from './options.js';
import { keepOrigin } from './content.js';
import type { Change, Cursor, HomeChange, HomesChangesOptions } from './types.js';

interface HomesParts {
  asked: AskedShards;
  maxTextBytes: number;
  clock: Clock;
}

/** One iteration. */
interface Reading {
  options: HomesChangesOptions;
  reached: Map<number, Cursor>;
  left: number;
  stop: AbortSignal;
}

/** All homes of an LCC, open for reading; `openHomes` makes it. */
export class LccHomes {
  readonly #parts: HomesParts;
  readonly #closed = new AbortController();

  /** @internal */
  constructor(parts: HomesParts) {
    this.#parts = parts;
  }

  /**
   * All that is held, or the changes since each home's cursor: one home after the other; with `follow` again
   * and again. A provider that moves from home to home may come twice, and is never told gone.
   * @throws LccError `usage` at once for an option that there is not; from the first step, when all others
   *   have been read and without `follow`, `try.later` for a home that did not answer; as `Lcc.changes`
   */
  changes(options: HomesChangesOptions = {}): AsyncGenerator<HomeChange, void> {
    const { cursors, ...others } = options;
    checkOptions(others, CHANGES_OPTIONS);
    const reached = new Map<number, Cursor>();
    for (const [shard, cursor] of Object.entries(cursors ?? {})) {
      checkValue(`cursors[${shard}]`, cursor, CHANGES_OPTIONS['cursor']);
      reached.set(Number(shard), typeof cursor === 'string' ? parseCursor(cursor) : cursor);
    }
    return this.#changes(options, reached);
  }

  async *#changes(
    options: HomesChangesOptions,
    reached: Map<number, Cursor>,
  ): AsyncGenerator<HomeChange, void> {
    const { follow = false, limit = Infinity, signal } = options;
    const { asked, clock } = this.#parts;
    const stop = AbortSignal.any([this.#closed.signal, ...(signal === undefined ? [] : [signal])]);
    const reading: Reading = { options, reached, left: limit, stop };
    const away = new AwayShards(clock);
    for (;;) {
      let failure: LccError | undefined;
      this.#goOn(signal);
      for (const home of await asked.list(stop)) {
        if (!away.isDue(home.shard)) continue;
        try {
          yield* this.#changesOf(home, reading);
          away.answered(home.shard);
        } catch (error) {
          if (!isOfOne(error)) throw error;
          failure ??= new LccError('try.later', `home ${home.shard}: ${error.message}`, { cause: error });
          away.failed(home.shard);
        }
        this.#goOn(signal);
        if (reading.left <= 0) return;
      }
      if (!follow && failure !== undefined) throw failure;
      if (!follow) return;
      await stayFor(clock, LOOK_MS, stop);
    }
  }

  async *#changesOf({ shard, from }: AskedShard, reading: Reading): AsyncGenerator<HomeChange, void> {
    const { options, reached, stop } = reading;
    const owned = mustBeOwned(from);
    const source = await RemoteSource.open(owned);
    try {
      const { storeId, purged } = source;
      const given = reached.get(shard);
      const store = { storeId, purged, highWater: source.highWater };
      const since = startOf(`cursor of home ${shard}`, given, store);
      const began = beganOf(given, store);
      if (since === source.highWater && given !== undefined) return;
      const range = { since, to: source.highWater, limit: reading.left, began };
      const { cursors: _cursors, caughtUp, ...selected } = options;
      const { maxTextBytes, clock } = this.#parts;
      const query: Query = {
        selection: selectionOf({ ...selected, cursor: given }),
        format: formatNamed('jsonl'),
        storeDir: '',
        maxTextBytes,
        nowMs: clock.nowMs(),
      };
      for await (const { items } of source.windows(query, range, { columns: CHANGE_COLUMNS }, stop))
        for (const row of items as ColumnValue[][]) {
          this.#goOn(options.signal);
          const change = changeOf(row, { storeId, began, store: undefined });
          const told = { ...change, shard };
          const fetch = change.op === 'delete' ? undefined : () => this.#contentOf(owned, change, query);
          keepOrigin(told, { maxTextBytes, isHeldNow: () => true, fetch });
          reading.left--;
          yield told;
          reached.set(shard, change.cursor);
        }
      this.#goOn(options.signal);
      if (reading.left <= 0) return;
      const cursor = cursorAt(storeId, source.highWater, began);
      await caughtUp?.(cursor, shard);
      reached.set(shard, cursor);
    } finally {
      source.close();
    }
  }

  /** @param query by which it was found @throws LccError as `contentOf` */
  async #contentOf(
    from: RemoteOptions,
    { id, seq, pid, curl, md5 }: Change,
    query: Query,
  ): Promise<StoredContent> {
    const source = await RemoteSource.open(from);
    try {
      const { storeId, highWater } = source;
      const asked: Query = { ...query, content: true, selection: { sides: ['held'], pid } };
      const range = { since: seq - 1, to: seq, limit: 1, began: highWater };
      let why = 'missing';
      const talk = { note: () => undefined, reject: (reason: string) => void (why = reason) };
      const context = source.context(asked, new Rejects(talk), talk);
      for await (const { items } of source.windows(
        asked,
        range,
        { columns: CHANGE_COLUMNS },
        this.#closed.signal,
      ))
        for (const row of items as ColumnValue[][]) {
          const now = changeOf(row, { storeId, began: 0, store: undefined });
          if (now.id !== id || now.md5 !== md5) break;
          const content = context.openContent([curl, row.at(-2) ?? null, now.machineId, md5]);
          if (content !== undefined) return content;
          throw new LccError('input.missing', `${curl}: its content is not to be had: ${why}`);
        }
      throw new LccError('try.later', `${curl}: ${REPLACED}`);
    } finally {
      source.close();
    }
  }

  /** Lets go of the engine; iterations that are under way throw. */
  close(): void {
    this.#closed.abort();
    this.#parts.asked.close();
  }

  /** @throws LccError `usage` once it is closed; the reason of `signal` */
  #goOn(signal: AbortSignal | undefined): void {
    signal?.throwIfAborted();
    if (this.#closed.signal.aborted) throw new LccError('usage', 'this LCC was closed; open it again');
  }
}
