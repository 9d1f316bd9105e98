/**
 * Moves of providers between homes, in the engine: table `move`, and their rows of `pmdb`.
 *
 *     asked ─▶ closed ─▶ copied ─▶ moved ─▶ cleared ─▶ served (no row)
 *       ╰────────┴─────────┴─▶ cancelled ─▶ withdrawn ──╯
 *
 * From `moved` on there is only forward. docs/design/moves.md says what is done in each stage, and by whom.
 */
import { LccError } from '../../lib/errors.js';
import { transitions, type StateOf } from '../../lib/states.js';
import { Lagging, type Engine, type EngineLane } from './engine.js';

export interface Move {
  pid: number;
  src: number;
  dst: number;
  stage: MoveStage;
  /** The shipment by which all of the provider is in the engine; 0 until it is closed. */
  n: number;
}

const becomes = transitions('move', {
  asked: ['closed', 'cancelled'],
  closed: ['copied', 'cancelled'],
  copied: ['moved', 'cancelled'],
  moved: ['cleared'],
  cleared: ['served'],
  cancelled: ['withdrawn'],
  withdrawn: ['served'],
  served: [],
});

export type MoveStage = StateOf<typeof becomes>;

/** Stages in which a move can be taken back. */
const REVOCABLE: readonly MoveStage[] = ['asked', 'closed', 'copied'];

export const COLUMNS = 'pid, src, dst, stage, n';
const OF = 'pid = ? AND src = ? AND dst = ?';

/** Moves, as homes carry them on. */
export type MoveBook = Pick<EngineMoves, 'of' | 'reach'>;

export class EngineMoves {
  readonly #lane: EngineLane;

  constructor(engine: Engine) {
    this.#lane = engine.lane();
  }

  /** Moves from a home or to it. */
  of(shard: number, stop: AbortSignal): Promise<Move[]> {
    const sql = `SELECT ${COLUMNS} FROM move WHERE src = ? OR dst = ? ORDER BY pid`;
    return this.#lane.run(session => session.all<Move>(sql, shard, shard), stop);
  }

  all(stop: AbortSignal): Promise<Move[]> {
    return this.#lane.run(
      session => session.allSynced<Move>(`SELECT ${COLUMNS} FROM move ORDER BY pid`),
      stop,
    );
  }

  /**
   * @throws LccError `usage` for a provider that no home has, or that is there; `try.later` while it moves
   */
  ask(pid: number, dst: number, stop: AbortSignal): Promise<Move> {
    return this.#lane.run(async session => {
      const [under] = await session.allSynced<Move>(`SELECT ${COLUMNS} FROM move WHERE pid = ?`, pid);
      if (under?.dst === dst && under.stage === 'asked') return under;
      if (under !== undefined)
        throw new LccError(
          'try.later',
          `provider ${pid} moves from home ${under.src} to home ${under.dst} already`,
        );
      const [at] = await session.all<{ shard: number }>('SELECT shard FROM pmdb WHERE pid = ?', pid);
      if (at === undefined)
        throw new LccError('usage', `no home has provider ${pid}; lccmap join enters those of a home`);
      if (at.shard === dst) throw new LccError('usage', `home ${dst} has provider ${pid} already`);
      const [home] = await session.all<{ owner: string }>('SELECT owner FROM home WHERE shard = ?', dst);
      if (home === undefined)
        throw new LccError('usage', `the engine has no home ${dst}; lccmap list shows those there are`);
      const sql = "UPDATE pmdb SET state = 'moving' WHERE pid = ? AND shard = ? AND state = 'served'";
      if ((await session.change(sql, pid, at.shard)) !== 1)
        throw new Lagging(`provider ${pid} is not served`);
      const move: Move = { pid, src: at.shard, dst, stage: 'asked', n: 0 };
      await session.change(
        `INSERT INTO move(${COLUMNS}) VALUES (?, ?, ?, ?, ?)`,
        pid,
        at.shard,
        dst,
        'asked',
        0,
      );
      return move;
    }, stop);
  }

  /** @throws LccError `usage` where nothing moves, or it is too late */
  async cancel(pid: number, stop: AbortSignal): Promise<Move> {
    for (;;) {
      const move = (await this.all(stop)).find(each => each.pid === pid);
      if (move === undefined) throw new LccError('usage', `provider ${pid} does not move`);
      if (move.stage === 'cancelled' || move.stage === 'withdrawn') return move;
      if (!REVOCABLE.includes(move.stage))
        throw new LccError(
          'usage',
          `provider ${pid} has moved to home ${move.dst}; move it back when that is over`,
        );
      if (await this.reach(move, 'cancelled', stop)) return { ...move, stage: 'cancelled' };
    }
  }

  /**
   * Notes the next stage; said again after a lost answer it is as if it was said once. @returns false: it
   * has another stage, such as cancelled
   */
  reach({ pid, src, dst, stage: from, n }: Move, to: MoveStage, stop: AbortSignal): Promise<boolean> {
    const stage = becomes(from, to, pid);
    return this.#lane.run(async session => {
      const sql = `SELECT stage FROM move WHERE ${OF}`;
      const [now] = await session.allSynced<{ stage: MoveStage }>(sql, pid, src, dst);
      if ((now?.stage ?? 'served') === stage) return true;
      if (now?.stage !== from) return false;
      const one = async (changed: Promise<number>) => {
        // Another has been quicker, at another node.
        if ((await changed) !== 1) throw new Lagging(`provider ${pid} is not ${from}`);
      };
      if (stage === 'moved')
        await one(
          session.change(
            "UPDATE pmdb SET shard = ? WHERE pid = ? AND shard = ? AND state = 'moving'",
            dst,
            pid,
            src,
          ),
        );
      if (stage !== 'served') {
        const set = `UPDATE move SET stage = ?, n = ? WHERE ${OF} AND stage = ?`;
        await one(session.change(set, stage, n, pid, src, dst, from));
        return true;
      }
      const at = from === 'cleared' ? dst : src;
      await one(
        session.change(
          "UPDATE pmdb SET state = 'served' WHERE pid = ? AND shard = ? AND state = 'moving'",
          pid,
          at,
        ),
      );
      await one(session.change(`DELETE FROM move WHERE ${OF} AND stage = ?`, pid, src, dst, from));
      return true;
    }, stop);
  }
}
