/** A Queue Manager's store on a database of its own, and sets put into it as a UNS would. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileIdOf } from '../../src/db/names/naming.js';
import type { Db } from '../../src/db/sqlite/open.js';
import type { SetCounts } from '../../src/db/queue/absorbed.js';
import type { QueueRow } from '../../src/db/queue/row.js';
import { ROW_COLUMNS, UNASKED } from '../../src/db/queue/row.js';
import type { Outcome, SentRequest } from '../../src/db/queue/results.js';
import type { QueueReader, WaitingSet } from '../../src/db/queue/sets.js';
import { QueueStore } from '../../src/db/queue/store.js';
import { DutyCycle } from '../../src/lib/duty-cycle.js';
import { silentLog } from '../../src/lib/log.js';
import { Intake } from '../../src/qm/intake.js';
import type { FuseRules } from '../../src/qm/fuse.js';
import { GonePages } from '../../src/qm/gone-pages-fuse.js';
import { retryRule } from '../../src/qm/retries.js';
import type { SetRefusal } from '../../src/qm/set-absorption.js';
import type { FetchDone, FetchFailed, FetchOk, FetchUnchanged } from '../../src/wire/fetch.js';
import type { SetHead } from '../../src/wire/uns-qm.js';
import { AS_SERVED, type UrlRecord } from '../../src/wire/url.js';
import { ManualClock } from '../support/manual-clock.js';
import { newDatabase } from '../support/new-database.js';

export interface BenchOptions {
  sliceUrls?: number;
  errorsKept?: number;
  retries?: number;
  fuse?: FuseRules;
  /** Of a provider, known not to be had. */
  knownUrls?: number;
  /** Of a provider, remembered. */
  failuresKept?: number;
}

type BenchRow = QueueRow & { held: 0 | 1 };

const NO_FUSE: FuseRules = { percent: 100, urls: 0 };

/** One database; `reopen` is what a crash leaves: whatever was committed, nothing that was in memory. */
export class Bench {
  readonly dir = mkdtempSync(join(tmpdir(), 'lcc-qm-'));
  readonly clock = new ManualClock();
  readonly #options: BenchOptions;
  db!: Db;
  store!: QueueStore;
  intake!: Intake;
  readonly duty = new DutyCycle<number>(this.clock);
  sets: WaitingSet[] = [];
  /** Places from which on there is more of a set, as that was told. */
  from: (number | undefined)[] = [];
  /** What was found damaged. */
  readonly damage: string[] = [];
  #entry = 0;

  constructor(options: BenchOptions = {}) {
    this.#options = options;
    this.reopen();
  }

  get path(): string {
    return join(this.dir, 'lcc.db');
  }

  reopen(): void {
    this.db?.close();
    this.db = newDatabase(this.path);
    this.store = new QueueStore(this.db, {
      errorsKept: this.#options.errorsKept ?? 1000,
      retries: retryRule(this.#options.retries ?? 3),
      ...(this.#options.knownUrls !== undefined && { knownUrls: this.#options.knownUrls }),
      ...(this.#options.failuresKept !== undefined && { failuresKept: this.#options.failuresKept }),
      nowS: () => Math.floor(this.clock.nowMs() / 1000),
      ...(this.#options.fuse && { gone: new GonePages(this.#options.fuse, this.clock, silentLog) }),
    });
    this.intake = new Intake({
      duty: this.duty,
      isFetching: () => false,
      pagesWritten: () => 0,
      store: this.store,
      clock: this.clock,
      log: silentLog,
      fuse: this.#options.fuse ?? NO_FUSE,
      sliceUrls: this.#options.sliceUrls ?? 1000,
      fullSetPeriodMs: 30 * 86_400_000,
      onSet: (set, fromPos) => {
        this.sets.push(set);
        this.from.push(fromPos);
      },
      onCommit: () => undefined,
    });
  }

  close(): void {
    this.db.close();
    rmSync(this.dir, { recursive: true });
  }

  provider(pid: number, columns: Record<string, number | string> = {}): void {
    const all = { pid, password: 'x', ...columns };
    const names = Object.keys(all);
    this.db
      .prepare(`INSERT INTO pidb(${names.join(',')}) VALUES (${names.map(() => '?').join(',')})`)
      .run(...Object.values(all));
    this.db.prepare('INSERT INTO proots VALUES (?, ?)').run(pid, 'http://127.0.0.1/');
  }

  head(pid: number, received: number, more: Partial<SetHead> = {}): SetHead {
    return {
      entry: `e${++this.#entry}`,
      pid,
      seq: this.#entry,
      set: 'partial',
      urlprefix: 'http://127.0.0.1/',
      received,
      errseen: 0,
      ip: '192.0.2.1',
      atS: 0,
      // Each later than the one before, by whichever UNS.
      newest: this.#entry,
      numbering: 'n',
      after: 0,
      ...more,
    };
  }

  /** Sends one set, whole. */
  async send(
    pid: number,
    urls: readonly UrlRecord[],
    more: Partial<SetHead> = {},
  ): Promise<SetCounts | SetRefusal> {
    const intake = await this.intake.begin('u1', this.head(pid, urls.length, more));
    intake.urls(urls);
    return intake.end();
  }

  /** The waiting row of a url. */
  row(pid: number, curl: string, mimetype = 'text/html'): BenchRow | undefined {
    const row = this.db
      .prepare<[number, string, string], QueueRow & { held: 0 | 1 }>(
        `SELECT ${ROW_COLUMNS}, EXISTS(SELECT 1 FROM lccurl AS l WHERE (l.pid, l.curl, l.mimetype) =
           (qdb.pid, qdb.curl, qdb.mimetype)) AS held FROM qdb WHERE pid = ? AND curl = ? AND mimetype = ?`,
      )
      .get(pid, absolute(curl), mimetype);
    return row;
  }

  /** Applies a result to the row as it is (or was, when given). */
  answer(
    row: Omit<SentRequest, 'conditional' | 'held'> & { held: 0 | 1 | boolean } & Partial<QueueRow>,
    result: FetchDone,
    conditional = false,
  ): Outcome {
    const { pos, gen, pid, mtime } = row;
    const isSpecial = row.mimetype === AS_SERVED || ((row.flags ?? 0) & UNASKED) !== 0;
    return this.store.transaction(() =>
      this.store.results.apply(
        {
          pos,
          gen,
          pid,
          conditional,
          held: Boolean(row.held),
          isSpecial,
          mtime,
          mayFollow: row.mayFollow === true,
        },
        result,
        Math.floor(this.clock.nowMs() / 1000),
      ),
    );
  }

  /** Fetches a waiting url with this content. */
  fetch(
    pid: number,
    curl: string,
    content = 'x',
    more: Partial<FetchOk> = {},
    mimetype = 'text/html',
  ): Outcome {
    const row = this.row(pid, curl, mimetype);
    if (row === undefined) throw new Error(`${curl} does not wait`);
    return this.answer(row, ok(content, more));
  }

  /** The site says that a waiting url is not there. */
  missing(pid: number, curl: string): Outcome {
    const row = this.row(pid, curl);
    if (row === undefined) throw new Error(`${curl} does not wait`);
    return this.answer(row, failure(404, 'real'));
  }

  all<T = Record<string, unknown>>(sql: string, ...params: unknown[]): T[] {
    return this.db.prepare(sql).all(...params) as T[];
  }

  value(sql: string, ...params: unknown[]): unknown {
    return this.db
      .prepare(sql)
      .pluck()
      .get(...params);
  }
}

/** All sets that may be fetched now. */
export function setsOf(queue: QueueReader): WaitingSet[] {
  return [...queue.providers()]
    .flatMap(pid => queue.sets(pid, 0, 1_000_000))
    .toSorted((a, b) => a.psetid - b.psetid);
}

let files = 0;

/** A fetched body; `md5` is a stand-in that differs with the content. */
export function ok(content: string, more: Partial<FetchOk> = {}): FetchOk {
  return {
    id: 1,
    status: 'ok',
    md5: md5Of(content),
    len: Buffer.byteLength(content),
    wireBytes: 100,
    elapsedMs: 1,
    http: 200,
    completeness: 'whole',
    machineId: 'm1',
    fileId: fileIdOf({ id: ++files, gen: 0 }),
    ...more,
  };
}

export function failure(
  code: number,
  reach: FetchFailed['reach'],
  more: Partial<FetchFailed> = {},
): FetchFailed {
  return {
    id: 1,
    status: 'error',
    code,
    message: `error ${code}`,
    reach,
    wireBytes: 0,
    elapsedMs: 1,
    ...more,
  };
}

export const unchanged: FetchUnchanged = {
  id: 1,
  status: 'unchanged',
  http: 304,
  wireBytes: 10,
  elapsedMs: 1,
};

export function md5Of(content: string): string {
  return Buffer.from(content).toString('hex').padEnd(32, '0').slice(0, 32);
}

export function url(curl: string, more: Partial<UrlRecord> = {}): UrlRecord {
  return { curl, mimetype: 'text/html', ...more };
}

export function absolute(curl: string): string {
  return curl.startsWith('http:') ? curl : `http://127.0.0.1/${curl}`;
}
