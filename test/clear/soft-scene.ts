/** The soft daemon without sockets and without time: a load balancer and rails that answer as a test says. */
import { createHash } from 'node:crypto';
import { clearOptions, type ClearOptions } from '../../src/clear/options.js';
import type { RailOutcome } from '../../src/clear/outcomes.js';
import { Commits } from '../../src/clear/rails/commits.js';
import { Fleet } from '../../src/clear/rails/fleet.js';
import type { RailAnswer } from '../../src/clear/rails/sender.js';
import type { PageTask } from '../../src/clear/rails/unit.js';
import type { Generated } from '../../src/clear/soft/generator.js';
import { removeLeftNames, replayedBodies } from '../../src/clear/soft/leftovers.js';
import { Publisher } from '../../src/clear/soft/publisher.js';
import { loadConfig } from '../../src/config/load.js';
import type { ClearDatabase } from '../../src/db/clear/database.js';
import { ManualClock } from '../support/manual-clock.js';

/** A page that is being generated. */
export interface Asked {
  url: string;
  answer: (generated: Generated) => void;
}

/** A request that a rail was sent and has not answered. */
export interface Told {
  rail: string;
  task: PageTask;
  answer: (outcome: RailOutcome) => void;
}

export interface SoftSceneOptions {
  clock?: ManualClock;
  limits?: (options: ClearOptions) => void;
  /** Files of contents, which survive a kill. */
  files?: Map<string, Uint8Array>;
  /** What the load balancer answers at once; undefined: nothing yet. */
  generates?: (url: string) => Generated | undefined;
  /** What rails answer at once; undefined: nothing yet. */
  answers?: (rail: string, task: PageTask) => RailOutcome | undefined;
}

export const pageOf = (text: string): Generated => ({ kind: 'page', bytes: Buffer.from(text) });

/** One life of the daemon on a database. */
export class SoftScene {
  readonly db: ClearDatabase;
  readonly clock: ManualClock;
  readonly options: ClearOptions;
  readonly commits: Commits;
  readonly fleet: Fleet;
  readonly publisher: Publisher;
  /** What is being generated. */
  readonly asked: Asked[] = [];
  /** What rails have not answered. */
  readonly told: Told[] = [];
  readonly failures: unknown[] = [];
  /** Transactions. */
  commitCount = 0;
  /** Rows of publications that were read. */
  readCount = 0;
  #isOver = false;

  constructor(
    db: ClearDatabase,
    { clock = new ManualClock(), files = new Map(), ...scene }: SoftSceneOptions = {},
  ) {
    this.db = db;
    this.clock = clock;
    const options = clearOptions(loadConfig({ env: { LCC_HOME: '/nowhere' } }));
    this.options = options;
    scene.limits?.(options);
    const log = { error() {}, warn() {}, info() {}, debug() {} };
    const fail = (error: unknown) => void this.failures.push(error);
    const write = (change: () => void) => {
      if (this.#isOver) return;
      this.commitCount++;
      db.write(change);
    };
    this.commits = new Commits({
      db: { write } as Pick<ClearDatabase, 'write'>,
      clock,
      log,
      ...options.commits,
      fail,
    });
    const bodies = this.#bodiesIn(files);
    this.fleet = new Fleet({
      db,
      commits: this.commits,
      clock,
      log,
      limits: options,
      op: 'P',
      secrets: () => new Map(),
      bodyOf: replayedBodies(db, bodies, this.commits, clock),
      keepBody: ({ sha }) => (sha === '' ? sha : bodies.keep(sha)),
      sender: ({ name }) => ({
        rate: undefined,
        batchOf: () => undefined,
        send: (tasks, heard) => this.#send(name, tasks, heard, scene.answers),
        close() {},
      }),
      random: () => 1,
    });
    this.publisher = new Publisher({
      db,
      fleet: this.fleet,
      commits: this.commits,
      bodies,
      source: {
        generate: (_origin, url) => new Promise(resolve => this.#generate(url, resolve, scene.generates)),
      },
      clock,
      log,
      limits: options,
      fail,
      random: () => 1,
    });
    const due = db.soft.due.bind(db.soft);
    db.soft.due = (...args) => {
      const rows = due(...args);
      this.readCount += rows.length;
      return rows;
    };
    removeLeftNames(db, this.fleet, this.commits);
  }

  publish(...urls: string[]): void {
    this.db.write(() => {
      for (const url of urls) this.db.soft.publish({ url, target: 'us' }, this.clock.nowMs());
    });
  }

  /** Lets all happen that needs no time but that of commits. */
  async settle(): Promise<void> {
    for (let i = 0; i < 10; i++) {
      this.commits.flush();
      // What is written into files takes some turns.
      for (let turn = 0; turn < 3; turn++) await new Promise(resolve => void setImmediate(resolve));
    }
  }

  /** Lets a second pass, with all that is read, sent and noted meanwhile. */
  async pass(seconds = 1): Promise<void> {
    for (let i = 0; i < seconds; i++) {
      this.fleet.refresh();
      this.publisher.poll();
      await this.settle();
      this.clock.advance(1000);
    }
  }

  /** The process is killed: nothing more of it has any effect. */
  kill(): void {
    this.#isOver = true;
    this.publisher.stop();
    this.fleet.close();
    this.asked.length = 0;
    this.told.length = 0;
  }

  /** Contents: in memory, and in files if they must be. */
  #bodiesIn(files: Map<string, Uint8Array>) {
    const memory = new Map<string, Uint8Array>();
    return {
      take: (bytes: Uint8Array, mustSpool: boolean) => {
        const sha = createHash('sha256').update(bytes).digest('hex');
        memory.set(sha, bytes);
        if (mustSpool) files.set(sha, bytes);
        return Promise.resolve({ sha, bytes: { bytes } });
      },
      release: () => undefined,
      find(sha: string) {
        const bytes = files.get(sha);
        return bytes && { bytes };
      },
      keep(sha: string) {
        const bytes = memory.get(sha);
        if (bytes !== undefined) files.set(sha, bytes);
        return files.has(sha) ? sha : null;
      },
    };
  }

  #generate(
    url: string,
    resolve: (generated: Generated) => void,
    generates: SoftSceneOptions['generates'],
  ): void {
    const one: Asked = {
      url,
      answer: generated => {
        this.asked.splice(this.asked.indexOf(one), 1);
        resolve(generated);
      },
    };
    this.asked.push(one);
    const generated = generates?.(url);
    if (generated !== undefined) one.answer(generated);
  }

  #send(
    rail: string,
    tasks: readonly PageTask[],
    heard: (answer: RailAnswer) => void,
    answers: SoftSceneOptions['answers'],
  ): void {
    const [task] = tasks;
    if (task === undefined) return;
    const one: Told = {
      rail,
      task,
      answer: outcome => {
        this.told.splice(this.told.indexOf(one), 1);
        if (!this.#isOver) heard({ outcome, isAnswered: outcome.kind !== 'unreachable', tookMs: 1 });
      },
    };
    this.told.push(one);
    const outcome = answers?.(rail, task);
    if (outcome !== undefined) one.answer(outcome);
  }
}
