/** The hard daemon without sockets and without time: rails that answer as a test says, a clock that stands still. */
import type { ClearOptions } from '../../src/clear/options.js';
import { clearOptions } from '../../src/clear/options.js';
import type { RailOutcome } from '../../src/clear/outcomes.js';
import { Commits } from '../../src/clear/rails/commits.js';
import { Fleet, type FleetOptions } from '../../src/clear/rails/fleet.js';
import type { RailAnswer, Sender } from '../../src/clear/rails/sender.js';
import type { PageTask } from '../../src/clear/rails/unit.js';
import { RequestReader } from '../../src/clear/hard/reader.js';
import { loadConfig } from '../../src/config/load.js';
import type { ClearDatabase } from '../../src/db/clear/database.js';
import { addGroup, addTargets, newClearDb, railOf } from '../db/clear/support.js';
import type { Log } from '../../src/lib/log.js';
import { ManualClock } from '../support/manual-clock.js';

/** A request that a rail was sent and has not answered. */
export interface Sent {
  rail: string;
  urls: string[];
  tasks: readonly PageTask[];
  /** When it was sent. */
  atMs: number;
  answer: (outcome: RailOutcome, more?: Partial<RailAnswer>) => void;
}

export type Answer = RailOutcome['kind'];

export interface SceneOptions {
  clock?: ManualClock;
  limits?: (options: ClearOptions) => void;
  /** What rails answer at once; undefined: nothing yet. */
  answers?: (rail: string, url: string) => Answer | undefined;
  sender?: Partial<Sender>;
  /** What is replayed, and with which content. */
  replays?: Pick<FleetOptions, 'op' | 'bodyOf'>;
}

export function outcome(kind: Answer): RailOutcome {
  return kind === 'done' ? { kind } : { kind, error: `it was ${kind}` };
}

/** One life of the daemon on a database. */
export class Scene {
  readonly db: ClearDatabase;
  readonly clock: ManualClock;
  readonly options: ClearOptions;
  readonly commits: Commits;
  readonly fleet: Fleet;
  readonly reader: RequestReader;
  /** All that was sent: `rail url`. */
  readonly sent: string[] = [];
  /** What has not been answered. */
  readonly open: Sent[] = [];
  readonly logged: string[] = [];
  readonly failures: unknown[] = [];
  answers: (rail: string, url: string) => Answer | undefined;
  #isOver = false;

  constructor(
    db: ClearDatabase,
    { clock = new ManualClock(), limits, answers, sender, replays = { op: 'D' } }: SceneOptions = {},
  ) {
    this.db = db;
    this.clock = clock;
    this.options = clearOptions(loadConfig({ env: { LCC_HOME: '/nowhere' } }));
    limits?.(this.options);
    this.answers = answers ?? (() => 'done');
    const say = (event: string, fields: object = {}) =>
      void this.logged.push(`${event} ${JSON.stringify(fields)}`);
    const log: Log = { error: say, warn: say, info: say, debug() {} };
    const fail = (error: unknown) => void this.failures.push(error);
    // What was not on disk when the process was killed never gets there.
    const write = (change: () => void) => {
      if (!this.#isOver) db.write(change);
    };
    this.commits = new Commits({
      db: { write } as Pick<ClearDatabase, 'write'>,
      clock,
      log,
      ...this.options.commits,
      fail,
    });
    this.fleet = new Fleet({
      db,
      commits: this.commits,
      clock,
      log,
      limits: this.options,
      ...replays,
      secrets: () => new Map(),
      sender: ({ name }) => ({ ...this.#senderOf(name), ...sender }),
      random: () => 1,
    });
    this.reader = new RequestReader({
      db,
      fleet: this.fleet,
      commits: this.commits,
      clock,
      log,
      limits: this.options,
      fail,
    });
  }

  /** Queues requests: `id`, `id!` forced. */
  request(...ids: string[]): void {
    this.db.write(() => {
      for (const id of ids)
        this.db.queue.add(
          {
            contentId: id.replace('!', ''),
            contentType: 'page',
            target: 'all',
            force: id.endsWith('!'),
            source: '',
          },
          this.clock.nowMs(),
        );
    });
  }

  /** Lets a second pass, with all that is read, sent, answered and noted meanwhile. */
  async pass(seconds = 1, steps = 20): Promise<void> {
    for (let i = 0; i < seconds; i++) {
      this.fleet.refresh();
      this.reader.wake();
      for (let step = 0; step < steps; step++) {
        await new Promise(resolve => void setImmediate(resolve));
        this.clock.advance(1000 / steps);
      }
    }
  }

  /** Answers what is open, that of a rail only, if one is named. @returns how much */
  answer(kind: Answer, rail?: string): number {
    const mine = this.open.filter(one => rail === undefined || one.rail === rail);
    for (const one of mine) one.answer(outcome(kind));
    return mine.length;
  }

  /** Answers whatever is sent from now on, until no more is. */
  async answerAll(): Promise<void> {
    do await this.pass();
    while (this.answer('done') > 0);
  }

  /** The process is killed: nothing more of it has any effect. */
  kill(): void {
    this.#isOver = true;
    this.reader.stop();
    for (const rail of this.fleet.rails) rail.stop();
    this.open.length = 0;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Rows of the queue and entries of backlogs that are left. */
  left(): string[] {
    return [
      ...this.db.queue.after(0, 1000).map(row => row.contentId),
      ...this.db.backlog
        .list({ rail: '', url: '' }, 1000)
        .map(row => `${row.rail} ${row.url}${row.dead ? ' dead' : ''}`),
    ];
  }

  #senderOf(rail: string): Sender {
    return {
      rate: undefined,
      batchOf: () => undefined,
      send: (tasks, heard) => this.#send(rail, tasks, heard),
      close: () => {
        for (const one of this.open.filter(each => each.rail === rail))
          one.answer({ kind: 'retry', error: 'cancelled' });
      },
    };
  }

  #send(rail: string, tasks: readonly PageTask[], heard: (answer: RailAnswer) => void): void {
    const urls = tasks.map(({ url }) => url);
    this.sent.push(`${rail} ${urls.join('+')}`);
    const answer = (said: RailOutcome, more: Partial<RailAnswer> = {}) => {
      const at = this.open.indexOf(one);
      if (at >= 0) this.open.splice(at, 1);
      if (this.#isOver) return;
      const isAnswered = said.kind !== 'unreachable' && said.kind !== 'unanswered';
      heard({ outcome: said, isAnswered, tookMs: 1, ...more });
    };
    const one: Sent = { rail, urls, tasks, atMs: this.clock.nowMs(), answer };
    this.open.push(one);
    const kind = this.answers(rail, urls[0] ?? '');
    if (kind !== undefined) answer(outcome(kind));
  }
}

/** Targets us and eu in all, with rails us1, us2, eu1, and a path for all. */
export function newFleet(): ClearDatabase {
  const db = newClearDb(':memory:');
  addTargets(db, 'us', 'eu');
  addGroup(db, 'all', 'us', 'eu');
  for (const name of ['us1', 'us2', 'eu1']) db.rails.add(railOf(name, name.slice(0, 2)), 1000);
  db.targets.addPath({ contentType: 'page', target: 'all', path: '/', extension: '' });
  return db;
}

export function newScene(options: SceneOptions = {}, db = newFleet()): Scene {
  return new Scene(db, options);
}
