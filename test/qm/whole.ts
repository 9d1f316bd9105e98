/** The whole Queue Manager as lccd-qm starts it, in this process, on a clock that is told the time. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '../../src/config/load.js';
import type { SettingKey } from '../../src/config/settings/index.js';
import { OPEN_GATE, type Kept } from '../../src/daemon/kept.js';
import type { Running, Services } from '../../src/daemon/types.js';
import type { Db } from '../../src/db/sqlite/open.js';
import { silentLog } from '../../src/lib/log.js';
import { LOOK_WORDS } from '../../src/commands/look-words.js';
import { startQueueManager } from '../../src/qm/start.js';
import type { FetchRequest, FetchResult } from '../../src/wire/fetch.js';
import { Bm, Uns } from '../support/queue-manager.js';
import { errnoOf } from '../../src/lib/errors.js';
import { ManualClock } from '../support/manual-clock.js';
import { newDatabase } from '../support/new-database.js';
import { until } from '../support/until.js';

const SECOND = 1000;
/** A Monday, 8:30 UTC. */
const MORNING = Date.UTC(2026, 5, 1, 8, 30);

export type QmSetting = Extract<SettingKey, `qm.${string}`>;
/** Those of messages as well. */
export type Settings = Partial<Record<QmSetting | Extract<SettingKey, `wire.${string}`>, string>>;

/** A Queue Manager with given settings, on a home of its own, with providers 7 and 8. */
export class Whole {
  readonly home = mkdtempSync(join(tmpdir(), 'lcc-qms-'));
  readonly clock = new ManualClock(MORNING);
  readonly unsPath = join(this.home, 'run/uns.sock');
  readonly bmPath = join(this.home, 'run/bm.sock');
  readonly rsPath = join(this.home, 'run/rs.sock');
  readonly db: Db;
  readonly #bms: Bm[] = [];
  #running: Running | undefined;
  #uns: Uns | undefined;
  #sets = 0;

  constructor() {
    mkdirSync(join(this.home, 'run'));
    this.db = newDatabase(join(this.home, 'lcc.db'));
    this.db.prepare("INSERT INTO pidb(pid, password) VALUES (7, 'x'), (8, 'x')").run();
    this.db.prepare("INSERT INTO proots VALUES (7, 'http://127.0.0.1/'), (8, 'http://127.0.0.1/')").run();
  }

  async start(settings: Settings, kept: Kept = OPEN_GATE): Promise<void> {
    // Nobody pings while days go by.
    const overrides = { 'wire.ping_interval_ms': '1h', ...settings };
    const services: Services = {
      ...loadConfig({ env: { LCC_HOME: this.home }, overrides }),
      log: silentLog,
      clock: this.clock,
      told: new AbortController().signal,
      connect: () => assert.fail('it connects to nobody'),
      kept: () => kept,
      answerAs: () => assert.fail('it has no other name'),
      fail: error => assert.fail(String(error)),
      async listen(endpoint, onConnection) {
        assert.ok(endpoint.kind === 'unix');
        const server = createServer(socket => onConnection({ socket, peer: 'unix', address: '' }));
        await new Promise<void>(resolve => void server.listen(endpoint.path, resolve));
        return { endpoint, close: () => new Promise(resolve => void server.close(() => resolve())) };
      },
    };
    const endpoints = {
      uns: [{ kind: 'unix', path: this.unsPath }],
      bm: [{ kind: 'unix', path: this.bmPath }],
      rs: [{ kind: 'unix', path: this.rsPath }],
    } as const;
    this.#running = await startQueueManager(services, endpoints, LOOK_WORDS);
    this.#uns = new Uns(this);
  }

  /** A Bot Manager that answers as told, or not at all. */
  bm(slots: number, onFetch?: (request: FetchRequest) => FetchResult | undefined): Bm {
    const bm = new Bm(this, { slots });
    bm.onFetch = onFetch;
    this.#bms.push(bm);
    return bm;
  }

  /** A control of its control socket. */
  control(verb: string, ...operands: string[]): unknown {
    return this.#running?.controls?.[verb]?.(operands);
  }

  get status(): Record<string, unknown> {
    return this.#running?.status() ?? {};
  }

  /** Hands over a set; time goes by until it is taken. */
  async send(pid: number, urls: Parameters<Uns['set']>[1], more: Parameters<Uns['set']>[2] = {}) {
    let taken: boolean | undefined;
    void this.#uns?.set(`e${++this.#sets}`, urls, { pid, ...more }).then(is => (taken = is));
    await this.until(() => taken !== undefined);
    assert.ok(taken);
  }

  /** A millisecond goes by for every turn of the event loop, until the condition holds. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) {
      this.clock.advance(1);
      await new Promise(resolve => void setImmediate(resolve));
    }
  }

  /** Lets so much time pass, and whatever follows from it happen. */
  async pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += SECOND) {
      this.clock.advance(SECOND);
      for (let turn = 0; turn < 10; turn++) await new Promise(resolve => void setImmediate(resolve));
    }
  }

  value(sql: string): unknown {
    return this.db.prepare(sql).pluck().get();
  }

  async close(): Promise<void> {
    this.#uns?.socket.destroy();
    for (const bm of this.#bms) bm.close();
    await this.#running?.stop();
    this.db.close();
    // A mark beside the database that is being written has its end after the last one, which a process would not wait for.
    await until('nothing more is written into the home', () => {
      try {
        rmSync(this.home, { recursive: true, force: true });
        return true;
      } catch (error) {
        if (errnoOf(error) !== 'ENOTEMPTY') throw error;
        return false;
      }
    });
  }
}
