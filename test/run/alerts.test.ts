/** Telling the operator of providers that fall silent. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { openDatabase } from '../../src/db/sqlite/open.js';
import { silentLog, type LogFields } from '../../src/lib/log.js';
import type { Db } from '../../src/lib/sqlite.js';
import { Alerts, type AlertEvent } from '../../src/run/alerts.js';
import { ManualClock } from '../support/manual-clock.js';
import { until } from '../support/until.js';

const DAY_S = 86_400;
const MINUTE_MS = 60_000;

describe('alerts', () => {
  let home: string;
  let db: Db;
  let clock: ManualClock;
  let told: AlertEvent[][];
  let warned: LogFields[];
  let problem: string | undefined;
  let alerts: Alerts;
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'lcc-alerts-'));
    db = openDatabase(join(home, 'lcc.db'));
    clock = new ManualClock();
    told = [];
    warned = [];
    problem = undefined;
    for (const pid of [7, 8]) provider(pid);
  });
  afterEach(() => {
    alerts.stop();
    db.close();
    rmSync(home, { recursive: true });
  });

  const nowS = () => Math.floor(clock.nowMs() / 1000);
  /** One that sends daily, and has just now. */
  const provider = (pid: number) =>
    db
      .prepare("INSERT INTO pidb(pid, password, lastset, setevery) VALUES (?, 'sha256:a:b', ?, ?)")
      .run(pid, nowS(), DAY_S);
  const setComes = (pid: number) => db.prepare('UPDATE pidb SET lastset = ? WHERE pid = ?').run(nowS(), pid);
  const start = () =>
    (alerts = new Alerts({
      home,
      db: join(home, 'lcc.db'),
      clock,
      log: { ...silentLog, warn: (_what, fields = {}) => void warned.push(fields) },
      tell: events => {
        told.push([...events]);
        return Promise.resolve(problem);
      },
    }));
  /** The next look, to its end: it has set the timer of the one after. */
  const look = async (ms = MINUTE_MS) => {
    clock.advance(ms);
    await until('the look is over', () => clock.nextMs() !== undefined);
  };
  const events = () => told.map(round => round.map(({ event, pid }) => `${event} ${pid}`));

  it('say once that a provider has fallen silent, and once that it is heard of again', async () => {
    start();
    await look(0);
    assert.deepEqual(events(), []);
    clock.jumpTo(clock.nowMs() + (3 * DAY_S + 100) * 1000);
    setComes(8);
    await look();
    await look();
    assert.deepEqual(events(), [['provider-silent 7']]);
    const first = told[0]?.[0];
    assert.match(
      first?.text ?? '',
      /^provider 7 is silent: its last set came 3 d ago, usually one comes every 1 d; /,
    );
    assert.equal(first?.interval_s, DAY_S);
    assert.equal(first?.last_set, '2026-01-01T00:00:00Z');
    assert.match(first?.at ?? '', /^2026-01-04T\d\d:\d\d:\d\dZ$/);
    setComes(7);
    await look();
    await look();
    assert.deepEqual(events(), [['provider-silent 7'], ['provider-heard 7']]);
  });

  it('are remembered by the next lccd', async () => {
    clock.jumpTo(clock.nowMs() + 4 * DAY_S * 1000);
    setComes(8);
    start();
    await look(0);
    alerts.stop();
    start();
    await look(0);
    assert.deepEqual(events(), [['provider-silent 7']]);
    assert.match(readFileSync(join(home, 'told'), 'utf8'), /^7 \d+\n$/);
    alerts.stop();
    // Half a file is none of ours.
    writeFileSync(join(home, 'told'), '7 17\n8');
    start();
    await look(0);
    assert.deepEqual(events().at(-1), ['provider-silent 7'], 'that was of another silence');
  });

  it('are told again until they are taken, at growing distances, an hour at most', async () => {
    clock.jumpTo(clock.nowMs() + 4 * DAY_S * 1000);
    setComes(8);
    problem = 'it exited with 3';
    start();
    await look(0);
    const waits: number[] = [];
    for (let i = 0; i < 9; i++) {
      const waitMs = (clock.nextMs() ?? NaN) - clock.monotonicMs();
      waits.push(waitMs / MINUTE_MS);
      await look(waitMs);
    }
    assert.deepEqual(waits, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
    assert.equal(told.length, 10);
    assert.match(String(warned[0]?.['error']), /exited with 3/);
    problem = undefined;
    await look(60 * MINUTE_MS);
    await look();
    assert.equal(told.length, 11);
  });

  it('come a hundred at a time', async () => {
    for (let pid = 100; pid < 330; pid++) provider(pid);
    clock.jumpTo(clock.nowMs() + 4 * DAY_S * 1000);
    start();
    for (let i = 0; i < 4; i++) await look(0);
    assert.deepEqual(
      told.map(({ length }) => length),
      [100, 100, 32],
    );
    assert.equal(new Set(told.flat().map(({ pid }) => pid)).size, 232);
  });

  it('of one that is removed or disabled meanwhile end without a word', async () => {
    clock.jumpTo(clock.nowMs() + 4 * DAY_S * 1000);
    start();
    await look(0);
    assert.deepEqual(events(), [['provider-silent 7', 'provider-silent 8']]);
    db.exec('DELETE FROM pidb WHERE pid = 7; UPDATE pidb SET enabled = 0');
    await look();
    assert.equal(told.length, 1);
    db.exec('UPDATE pidb SET enabled = 1');
    await look();
    assert.deepEqual(events().at(-1), ['provider-silent 8']);
  });
});
