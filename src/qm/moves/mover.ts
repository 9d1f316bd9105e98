/**
 * Moves of providers from this home and to it (docs/design/moves.md). The stage of each is in the engine;
 * the work in it is done by one of the two homes, and begun again by its next owner:
 *
 *     asked ──source: nothing is taken, fetched, changed──▶ closed
 *     closed ──destination: rows and content come──▶ copied ─▶ moved
 *     moved ──source: its rows go, nobody is told──▶ cleared ──destination: it goes on──▶ served
 *     cancelled ──destination: what came goes──▶ withdrawn ──source: it goes on──▶ served
 *
 * A stage is noted when all that it says is in the engine.
 */
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Kept } from '../../daemon/kept.js';
import type { Move, MoveBook, MoveStage } from '../../db/engine/moves.js';
import type { MoveWay } from '../../db/moves/moving.js';
import { Parcel } from '../../db/moves/parcel.js';
import type { QueueStore } from '../../db/queue/store.js';
import { SCHEMA_VERSION } from '../../db/sqlite/open.js';
import { stayFor, type Clock } from '../../lib/clock.js';
import { LccError, messageOf } from '../../lib/errors.js';
import type { Log } from '../../lib/log.js';
import { step } from '../../lib/steps.js';
import type { Dispatcher } from '../dispatch.js';
import type { Intake } from '../intake.js';
import { NoSuchStore, type Adoptions } from './adoptions.js';

/** Parts that a home does not have by itself. */
export interface MovesElsewhere {
  book: MoveBook;
  /** The number of the last shipment of a home's lcc.db. */
  shipped: (shard: number, stop: AbortSignal) => Promise<number>;
  /** Packs a provider as its source has it, by shipment `n` or a later one. */
  pack: (move: Move, file: string, stop: AbortSignal) => Promise<void>;
}

export interface MoverOptions extends MovesElsewhere {
  shard: number;
  /** Between two looks at the moves. */
  lookMs: number;
  /** A folder for parcels. */
  dir: string;
  store: QueueStore;
  dispatcher: Pick<Dispatcher, 'isAtRest' | 'reload'>;
  intake: Pick<Intake, 'end'>;
  adoptions: Pick<Adoptions, 'adopt'>;
  kept: Pick<Kept, 'shipped'>;
  clock: Clock;
  log: Log;
  /** Something was committed: there may be files to delete. */
  onCommit: () => void;
  /** A transaction failed; true: try again later. */
  failed: (error: unknown) => boolean;
}

const REST_MS = 20;
/** After a failure. */
const RETRY_MS = 10_000;
/** Moves at a time; others wait. */
const MOST = 4;
const SLICE_ROWS = 200;
/** Failures by which the process would only end again. */
const OF_MOVE: readonly string[] = [
  'try.later',
  'input.missing',
  'config',
  'data.malformed',
  'peer.unavailable',
];

type Side = 'src' | 'dst';

export class Mover {
  readonly #options: MoverOptions;
  readonly #stop = new AbortController();
  readonly #under = new Map<number, Promise<void>>();
  #looking: Promise<void> | undefined;
  /** Work of a stage, whose it is, and the stage that it leads to. */
  readonly #work: Partial<
    Record<
      MoveStage,
      { side: Side; to: MoveStage; work: (move: Move) => void | Promise<Move | undefined | void> }
    >
  > = {
    asked: { side: 'src', to: 'closed', work: move => this.#close(move) },
    closed: { side: 'dst', to: 'copied', work: move => this.#copy(move) },
    copied: { side: 'dst', to: 'moved', work: () => undefined },
    moved: { side: 'src', to: 'cleared', work: ({ pid }) => this.#clear(pid, 'out') },
    cleared: { side: 'dst', to: 'served', work: ({ pid }) => this.#settle(pid) },
    cancelled: { side: 'dst', to: 'withdrawn', work: ({ pid }) => this.#clear(pid, 'in') },
    withdrawn: { side: 'src', to: 'served', work: ({ pid }) => this.#settle(pid) },
  };

  constructor(options: MoverOptions) {
    this.#options = options;
  }

  start(): void {
    // A parcel that is left is of a life that was cut off.
    rmSync(this.#options.dir, { recursive: true, force: true });
    this.#looking = this.#look();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all([this.#looking, ...this.#under.values()]);
  }

  async #look(): Promise<void> {
    const { book, shard, clock, lookMs } = this.#options;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      // Without the engine nothing moves; that is reported elsewhere.
      const moves = await book.of(shard, signal).catch((): Move[] => []);
      for (const move of moves) {
        if (this.#under.has(move.pid) || this.#under.size >= MOST) continue;
        this.#under.set(
          move.pid,
          this.#carryOn(move).finally(() => this.#under.delete(move.pid)),
        );
      }
      await stayFor(clock, lookMs, signal);
    }
  }

  /** Does what is this home's, stage by stage. */
  async #carryOn(move: Move): Promise<void> {
    const { shard, book, kept, clock, log, failed } = this.#options;
    const { signal } = this.#stop;
    let now = move;
    try {
      for (let at: Move | undefined = move; at !== undefined && !signal.aborted;) {
        now = at;
        const due = this.#work[now.stage];
        if (due === undefined || now[due.side] !== shard) return;
        const done = (await due.work(now)) ?? now;
        await kept.shipped('lcc');
        const isReached = await book.reach(done, due.to, signal);
        step('qm.move.reached');
        if (isReached)
          log.info('move of a provider', { pid: now.pid, src: now.src, dst: now.dst, stage: due.to });
        at = isReached ? { ...done, stage: due.to } : undefined;
      }
    } catch (error) {
      if (signal.aborted) return;
      const isOfMove = error instanceof LccError && OF_MOVE.includes(error.code);
      if (!isOfMove && !failed(error)) return;
      if (error instanceof NoSuchStore) {
        log.error('move of a provider is taken back', { ...now, error: messageOf(error) });
        // Where that is not noted, the next look finds the same.
        await book.reach(now, 'cancelled', signal).catch(() => false);
        return;
      }
      log.warn('move of a provider does not go on', {
        pid: move.pid,
        stage: move.stage,
        error: messageOf(error),
      });
      await stayFor(clock, RETRY_MS, signal);
    }
  }

  /** @returns the move with the number of the shipment that has all of it */
  async #close(move: Move): Promise<Move> {
    const { store, dispatcher, intake, kept, shipped, clock } = this.#options;
    const { pid, src } = move;
    if (!store.providers.has(pid))
      throw new LccError(
        'input.missing',
        `this home has no provider ${pid}; lccmap move --pid=${pid} --cancel`,
      );
    if (store.moving.wayOf(pid) !== 'out') store.transaction(() => store.moving.leave(pid));
    step('qm.move.left');
    dispatcher.reload(pid);
    await intake.end(pid);
    while (!dispatcher.isAtRest(pid)) await this.#wait(clock, REST_MS);
    await kept.shipped('lcc');
    return { ...move, n: await shipped(src, this.#stop.signal) };
  }

  async #copy(move: Move): Promise<void> {
    const { store, shard, dir, pack, adoptions, clock, log } = this.#options;
    const { pid, src } = move;
    const nowS = () => Math.floor(clock.nowMs() / 1000);
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    const file = join(dir, `${pid}.parcel`);
    await pack(move, file, this.#stop.signal);
    await this.#clear(pid, 'in');
    const parcel = new Parcel(file);
    try {
      if (parcel.version !== SCHEMA_VERSION)
        throw new LccError(
          'try.later',
          `home ${src} has schema ${parcel.version}, this one ${SCHEMA_VERSION}; upgrade both`,
        );
      const arrival = store.arrival(parcel, shard);
      store.transaction(() => {
        store.moving.come(pid);
        arrival.begin();
      });
      step('qm.move.begun');
      let lost = 0;
      for (let slice = arrival.next(SLICE_ROWS); slice !== undefined; slice = arrival.next(SLICE_ROWS)) {
        const rows = slice;
        const files = await Promise.all(rows.files.map(each => adoptions.adopt(each, src)));
        lost += files.filter(each => each === undefined).length;
        this.#stop.signal.throwIfAborted();
        store.transaction(() => arrival.put(rows, files, nowS()));
        step('qm.move.copied');
        await this.#wait(clock, 0);
      }
      if (lost > 0)
        log.warn('content of a provider could not come along, and is fetched again', { pid, urls: lost });
    } finally {
      parcel.close();
    }
    rmSync(file, { force: true });
  }

  /** All that this home has of it goes, if that came, or leaves. */
  async #clear(pid: number, way: MoveWay): Promise<void> {
    const { store, clock, dispatcher, onCommit } = this.#options;
    const nowS = () => Math.floor(clock.nowMs() / 1000);
    if (store.providers.has(pid)) {
      if (store.moving.wayOf(pid) !== way)
        throw new LccError(
          'config',
          `this home serves a provider ${pid} of its own; lccmap where ${pid} says who should`,
        );
      const slices = store.clearing.slices(pid, () => SLICE_ROWS, nowS);
      for (let isOver = false; !isOver;) {
        isOver = store.transaction(() => slices.next().done === true);
        step('qm.move.cleared');
        await this.#wait(clock, 0);
      }
    }
    store.transaction(() => store.clearing.end(pid));
    dispatcher.reload(pid);
    onCommit();
  }

  #settle(pid: number): void {
    const { store, dispatcher } = this.#options;
    store.settle(pid);
    step('qm.move.settled');
    dispatcher.reload(pid);
  }

  /** @throws when it ends */
  async #wait(clock: Clock, ms: number): Promise<void> {
    await stayFor(clock, ms, this.#stop.signal);
    this.#stop.signal.throwIfAborted();
  }
}
