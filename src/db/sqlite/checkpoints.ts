/**
 * Moving commits from the log (WAL) into the database is done beside the thread that makes them: 16 MB of
 * changes took it 20 to 40 ms, in which nothing else of its process got on. The log begins again only when
 * nothing of it is left to be moved, so what was committed meanwhile, a small part of it, is moved by the
 * owner itself.
 *
 *     resting ──the log is long──▶ thread works ──little is left──▶ owner moves that ──▶ resting
 *                                      ▲ ╰──much is left: again, a few times──╯
 *
 * The syncs of both are waited for by a thread that commits meanwhile, and the owner's by all that it serves:
 * 20 to 50 ms on a disk that is busy. So while large work makes room for others the thread moves a quarter of
 * it at a time, and goes on until nothing was committed in between: the pauses of the large work are long
 * enough for that.
 *
 * In a kept home the keeper makes all checkpoints (docs/design/keeping.md).
 *
 * When the thread cannot keep up, or is lost, SQLite does as it always did: a commit that finds the log too
 * long moves it.
 */
import { messageOf } from '../../lib/errors.js';
import type { Log } from '../../lib/log.js';
import { Thread, threadFile } from '../../lib/thread.js';
import { CHECKPOINT_PAGES, type Db } from './open.js';

/** Pages at which a commit no longer waits for the thread: 64 MB. */
const MOST_PAGES = 4 * CHECKPOINT_PAGES;
interface Pace {
  /** Pages of the log at which the thread begins. */
  beginPages: number;
  /** Pages that the owner moves itself. */
  fewPages: number;
  /** Rounds of the thread before the owner moves whatever is left. */
  maxRounds: number;
}
/** 16 MB, of which the owner moves 2, … */
const ALONE: Pace = { beginPages: CHECKPOINT_PAGES, fewPages: 512, maxRounds: 4 };
/** … or 4 MB, of which it moves nothing if that can be helped. */
const YIELDING: Pace = { beginPages: CHECKPOINT_PAGES / 4, fewPages: 0, maxRounds: 16 };

export class Checkpoints {
  readonly #db: Db;
  readonly #state;
  readonly #log: Log;
  readonly #isYielding: () => boolean;
  readonly #isKept: boolean;
  #thread: Thread<'checkpoint', void> | undefined;
  /** Rounds of the thread; 0: it rests. */
  #round = 0;
  #isOver = false;
  /** Pages in the log, and those of them in the database, when that was looked at last. */
  #logged = 0;
  #moved = 0;
  #written = 0;

  /**
   * @param db its own checkpoints become rare
   * @param isYielding whether large work makes room for others
   * @param isKept the keeper makes checkpoints: none is made here
   */
  constructor(db: Db, log: Log, isYielding: () => boolean, isKept = false) {
    this.#isKept = isKept;
    this.#db = db;
    this.#log = log;
    this.#isYielding = isYielding;
    this.#state = db
      .prepare<[], [busy: number, log: number, checkpointed: number]>('PRAGMA wal_checkpoint(NOOP)')
      .raw();
    // safeguard: checkpoints of a kept home left to its keeper
    db.pragma(`wal_autocheckpoint = ${isKept ? 0 : MOST_PAGES}`);
  }

  /** To be called after every commit. */
  committed(): void {
    if (this.#isOver) return;
    this.#try(() => {
      const waiting = this.#waiting();
      if (!this.#isKept && this.#round === 0 && waiting >= this.#pace.beginPages) this.#ask();
    });
  }

  /** Pages that commits have written so far. */
  get written(): number {
    return this.#written;
  }

  /** Length of the log, at the last look. */
  get logPages(): number {
    return this.#logged;
  }

  /** All of the log is in the database: the next commit begins it again, unless somebody reads it. */
  get isMoved(): boolean {
    return this.#waiting() === 0;
  }

  /** The database is about to be closed. */
  close(): void {
    this.#isOver = true;
    this.#thread?.stop();
    this.#thread = undefined;
  }

  get #pace(): Pace {
    return this.#isYielding() ? YIELDING : ALONE;
  }

  /** Pages of the log that are not in the database. */
  #waiting(): number {
    const [, log, checkpointed] = this.#state.get() ?? [0, 0, 0];
    const hasBegunAnew = checkpointed < this.#moved || log < this.#logged;
    this.#written += hasBegunAnew ? log : log - this.#logged;
    this.#logged = log;
    this.#moved = checkpointed;
    return log - checkpointed;
  }

  #ask(): void {
    this.#round++;
    this.#thread ??= this.#start();
    this.#thread.ask('checkpoint');
  }

  #start(): Thread<'checkpoint', void> {
    return new Thread({
      script: threadFile('checkpoint-worker.cjs'),
      data: this.#db.name,
      answered: () => this.#try(() => this.#next()),
      lost: ({ message }) => this.#lose(message),
    });
  }

  #next(): void {
    const waiting = this.#waiting();
    const { fewPages, maxRounds } = this.#pace;
    if (waiting > fewPages && this.#round < maxRounds) return this.#ask();
    this.#round = 0;
    if (waiting > 0) this.#db.pragma('wal_checkpoint(PASSIVE)');
  }

  /** A commit stays, whatever happens here: a disk that fails is met again by the next commit. */
  #try(action: () => void): void {
    try {
      action();
    } catch (error) {
      this.#lose(messageOf(error));
    }
  }

  /** From now on commits do it. */
  #lose(reason: string): void {
    if (this.#isOver) return;
    this.close();
    if (this.#isKept) return;
    this.#db.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
    this.#log.warn('checkpoint thread lost: commits make checkpoints from now on', { reason });
  }
}
