/**
 * The engine, as a list of nodes: a transaction that fails, or is answered by silence, is done again as a
 * whole on the next node of the list, until it is done; one that met another, on the same node first.
 */
import { backoffMs } from '../../lib/backoff.js';
import { stayFor, type Clock } from '../../lib/clock.js';
import { LccError } from '../../lib/errors.js';
import { KeyedLock } from '../../lib/keyed-lock.js';
import type { Log } from '../../lib/log.js';
import type { EngineAccount } from './nodes.js';
import { EngineSession, engineReason, isOfEngine, SILENCE_MS } from './session.js';

const WAIT = { minMs: 50, maxMs: 1000 };
/** Access denied, no such database or table: another try makes no difference. */
const FOR_GOOD: readonly number[] = [1044, 1045, 1049, 1054, 1064, 1142, 1143, 1146, 1698];

/** A row that is locked for long, and a deadlock, as Galera calls it too when another node's transaction came
 * before: the node is well. */
const CONFLICTS: readonly number[] = [1205, 1213];
/** Tries on the same node after such, before it counts as away. */
const MAX_CONFLICTS = 4;

/** The node that was asked lags: again. */
export class Lagging extends Error {
  readonly errno = 0;
}

export type Work<T> = (session: EngineSession) => Promise<T>;

/** How all lanes find the engine. */
export class Engine {
  readonly account: EngineAccount;
  readonly clock: Clock;
  readonly #log: Log;
  /** Times that a lane went on at another node than before. */
  failovers = 0;
  /** undefined: it answers. */
  away: { sinceMs: number; reason: string } | undefined;
  readonly #lanes: EngineLane[] = [];

  constructor(account: EngineAccount, { clock, log }: { clock: Clock; log: Log }) {
    this.account = account;
    this.clock = clock;
    this.#log = log;
  }

  /** @param lookMs given: for looks at the first node of the list only, by one try, that may take so long */
  lane(lookMs?: number): EngineLane {
    const lane = new EngineLane(this, lookMs);
    this.#lanes.push(lane);
    return lane;
  }

  close(): void {
    for (const lane of this.#lanes) lane.close();
  }

  failed(reason: string, node: string): void {
    if (this.away === undefined) this.#log.warn('engine away', { node, reason });
    this.away ??= { sinceMs: this.clock.nowMs(), reason };
  }

  answered(node: string, isAnother: boolean): void {
    if (isAnother) this.failovers++;
    if (isAnother) this.#log.warn('engine failed over', { node });
    if (this.away !== undefined)
      this.#log.info('engine answers', { after_ms: this.clock.nowMs() - this.away.sinceMs });
    this.away = undefined;
  }
}

/** Transactions one after the other, over a connection of their own. */
export class EngineLane {
  readonly #engine: Engine;
  readonly #lookMs: number | undefined;
  readonly #turn = new KeyedLock<true>();
  #session: EngineSession | undefined;
  /** Where it goes on, in the list, and where it was last answered. */
  #at = 0;
  #answeredAt: number | undefined;

  constructor(engine: Engine, lookMs: number | undefined) {
    this.#engine = engine;
    this.#lookMs = lookMs;
  }

  /**
   * Does `work` in a transaction, and commits it.
   * @throws LccError `try.later` once `stop` is aborted; `config` where no node would ever do it, before any
   * has answered. At the first node only: whatever the engine throws
   */
  async run<T>(work: Work<T>, stop: AbortSignal): Promise<T> {
    const done = await this.#turn.take(true);
    try {
      for (let failures = 1, refused = 0, conflicts = 0; ; failures++) {
        if (stop.aborted) throw new LccError('try.later', 'stopped before the engine has answered');
        try {
          return await this.#once(work, stop);
        } catch (error) {
          this.close();
          if (stop.aborted) continue;
          if (this.#lookMs !== undefined) throw error;
          const forGood = refusalOf(error);
          refused = forGood === undefined ? 0 : refused + 1;
          if (forGood === undefined && !isOfEngine(error)) throw error;
          const { account, clock } = this.#engine;
          if (forGood !== undefined && refused >= account.nodes.length && this.#answeredAt === undefined)
            throw forGood;
          conflicts = isOfEngine(error) && CONFLICTS.includes(error.errno) ? conflicts + 1 : 0;
          if (conflicts === 0 || conflicts > MAX_CONFLICTS) {
            const node = account.nodes[this.#at];
            this.#engine.failed(engineReason(error), `${node?.host}:${node?.port}`);
            this.#at = (this.#at + 1) % account.nodes.length;
            conflicts = 0;
          }
          await stayFor(clock, backoffMs(WAIT, failures, Math.random()), stop);
        }
      }
    } finally {
      done();
    }
  }

  close(): void {
    this.#session?.cut();
    this.#session = undefined;
  }

  async #once<T>(work: Work<T>, stop: AbortSignal): Promise<T> {
    const { account, clock } = this.#engine;
    const node = account.nodes[this.#at];
    if (node === undefined) throw new Error(`the list has no node ${this.#at}`);
    if (this.#session?.isOver !== false)
      this.#session = await EngineSession.open(node, account, clock, this.#lookMs ?? SILENCE_MS);
    const session = this.#session;
    const cut = () => session.cut();
    stop.addEventListener('abort', cut);
    try {
      const value = await work(session);
      await session.change('COMMIT');
      const isAnother = this.#answeredAt !== undefined && this.#answeredAt !== this.#at;
      this.#answeredAt = this.#at;
      this.#engine.answered(`${node.host}:${node.port}`, isAnother);
      return value;
    } finally {
      stop.removeEventListener('abort', cut);
    }
  }
}

/** A failure that another try on the same node would not mend; undefined for any other. */
function refusalOf(error: unknown): LccError | undefined {
  if (error instanceof LccError) return error.code === 'config' ? error : undefined;
  if (!isOfEngine(error) || !FOR_GOOD.includes(error.errno)) return undefined;
  const why = error.errno === 1146 ? 'has no tables; make them: lcckeep init' : 'refuses';
  return new LccError('config', `store.url: the engine ${why} (${engineReason(error)})`, {
    cause: error,
  });
}
