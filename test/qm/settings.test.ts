/**
 * Every setting of the Queue Manager, through the whole of it as lccd-qm starts it, but for the clock, which is told the
 * time: one that does not reach what it is for, or reaches another's, is noticed here.
 */
process.env['TZ'] = 'Europe/Berlin';

import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { afterEach, test } from 'node:test';
import type { Db } from '../../src/db/sqlite/open.js';
import { onStep } from '../../src/lib/steps.js';
import { settingsOf } from '../support/settings.js';
import { Uns } from '../support/queue-manager.js';
import { SCHEDULE_TRIALS, pages, stored, type Trial } from './schedule-trials.js';
import { url } from './support.js';
import { Whole, type QmSetting } from './whole.js';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
let qm: Whole | undefined;
afterEach(async () => {
  onStep(() => undefined);
  await qm?.close();
  qm = undefined;
});

const filesOf = (whole: Whole) => Number(whole.value('SELECT filesused FROM pidb WHERE pid = 7'));
/** Pages that are stored and fetched. */
async function holding(whole: Whole, count: number): Promise<void> {
  const bm = whole.bm(4, stored);
  await whole.send(7, pages(count));
  await whole.until(() => filesOf(whole) === count);
  bm.close();
}

/** Why a full set is wanted, and what is held, of a provider that was silent for an hour and a half. */
async function silence(whole: Whole): Promise<unknown> {
  await holding(whole, 1);
  await whole.pass(50 * MINUTE);
  const early = whole.value('SELECT fullsetwanted FROM pidb WHERE pid = 7');
  await whole.pass(40 * MINUTE);
  return [early, whole.value('SELECT fullsetwanted FROM pidb WHERE pid = 7'), filesOf(whole)];
}

/** What is held of ten pages when a full set names all but this many. */
async function removing(whole: Whole, urls: number): Promise<unknown> {
  await holding(whole, 10);
  await whole.send(7, pages(10 - urls, { len: '1' }), { set: 'full' });
  return filesOf(whole);
}

/** Pages of deletions that left the database for spool/fsm. That takes threads: what is to come is waited for. */
async function moved(whole: Whole, expected: unknown): Promise<unknown> {
  const spooled = () => whole.status['freed_pages_spooled'];
  await whole.pass(10 * MINUTE);
  if (expected !== 0) await whole.until(() => spooled() === expected);
  return spooled();
}
async function fewMoved(whole: Whole, expected: unknown): Promise<unknown> {
  freed(whole.db, 205);
  return moved(whole, expected);
}

/** This number of files of a machine that is away wait to be deleted. */
function freed(db: Db, files: number): void {
  const add = db.prepare("INSERT INTO freed(machineid, fileid) VALUES ('away', ?)");
  db.transaction(() => {
    for (let i = 0; i < files; i++) add.run(`00/00/${String(i).padStart(100, '0')}.0`);
  })();
}

const TRIALS: Partial<Record<QmSetting | 'wire.ping_interval_ms', Trial>> = {
  'qm.max_queue_urls': {
    with: { 'qm.max_queue_urls': '10' },
    sees: true,
    otherwise: false,
    look: shutOut,
  },
  'qm.slice_urls': {
    with: { 'qm.slice_urls': '4' },
    sees: 2,
    otherwise: 0,
    async look(whole) {
      let slices = 0;
      onStep(name => void (slices += name === 'qm.slice.committed' ? 1 : 0));
      await whole.send(7, pages(10));
      return slices;
    },
  },
  ...SCHEDULE_TRIALS,
  'qm.tombstone_ms': {
    with: { 'qm.tombstone_ms': '1h' },
    sees: [1, 0],
    otherwise: [1, 1],
    async look(whole) {
      await holding(whole, 1);
      await whole.send(7, [url('p0', { op: 'delete' })]);
      const deletions = () => whole.value('SELECT count(*) FROM tombstone');
      await whole.pass(58 * MINUTE);
      const early = deletions();
      await whole.pass(4 * MINUTE);
      return [early, deletions()];
    },
  },
  'qm.fsm_page_files': {
    with: { 'qm.fsm_page_files': '100' },
    sees: 2,
    otherwise: 0,
    look: fewMoved,
  },
  'qm.fsm_away_ms': {
    without: { 'qm.fsm_page_files': '100' },
    with: { 'qm.fsm_away_ms': '1h' },
    sees: 0,
    otherwise: 2,
    look: fewMoved,
  },
  'qm.fsm_max_bytes': {
    without: { 'qm.fsm_page_files': '1000' },
    with: { 'qm.fsm_max_bytes': '1MB' },
    sees: 10,
    otherwise: 20,
    async look(whole, expected) {
      freed(whole.db, 20_000);
      await moved(whole, expected);
      // Full is full.
      return moved(whole, 0);
    },
  },
  'qm.full_set_period_ms': {
    with: { 'qm.full_set_period_ms': '1h' },
    sees: [2, 1],
    otherwise: [2, 3],
    async look(whole) {
      const used = () => whole.value('SELECT fullsetsused FROM pidb WHERE pid = 7');
      const full = () => whole.send(7, [url('a')], { set: 'full' });
      await full();
      await whole.pass(50 * MINUTE);
      await full();
      const early = used();
      await whole.pass(20 * MINUTE);
      await full();
      return [early, used()];
    },
  },
  'qm.old_files_ms': {
    with: { 'qm.old_files_ms': '1h' },
    sees: [null, 'old files', 1],
    otherwise: [null, null, 1],
    look: silence,
  },
  'qm.expire_ms': {
    without: { 'qm.old_files_ms': '0' },
    with: { 'qm.expire_ms': '1h' },
    sees: [null, 'expired files', 0],
    otherwise: [null, null, 1],
    look: silence,
  },
  'qm.fuse_percent': {
    without: { 'qm.fuse_urls': '1' },
    with: { 'qm.fuse_percent': '20' },
    sees: 10,
    otherwise: 7,
    look: whole => removing(whole, 3),
  },
  'qm.fuse_urls': {
    without: { 'qm.fuse_percent': '20' },
    with: { 'qm.fuse_urls': '1' },
    sees: 10,
    otherwise: 7,
    look: whole => removing(whole, 3),
  },
  'wire.ping_interval_ms': {
    with: { 'wire.ping_interval_ms': '2s' },
    sees: '2000',
    otherwise: String(HOUR),
    async look(whole) {
      const socket = connect(whole.bmPath);
      let heard = '';
      socket.setEncoding('utf8').on('data', (text: string) => (heard += text));
      socket.write('<lococa:bm machineid="m9" slots="1" store="s"/>');
      await whole.until(() => heard.includes('<ping'));
      socket.destroy();
      return /<ping intervalms="(\d+)"/.exec(heard)?.[1];
    },
  },
};

/** Twelve urls wait, and a UNS has one more set. */
async function shutOut(whole: Whole): Promise<unknown> {
  await whole.send(7, pages(12));
  const uns = new Uns(whole, 'another');
  await whole.until(() => uns.closed || uns.text.includes('<lococa:qm/>'));
  uns.socket.destroy();
  return whole.status['unses_shut_out'];
}

for (const [name, trial] of Object.entries(TRIALS)) {
  test(`${name} has its effect`, async () => {
    for (const [settings, expected] of [
      [trial.with, trial.sees],
      [{}, trial.otherwise],
    ] as const) {
      qm = new Whole();
      await qm.start({ ...trial.without, ...settings });
      assert.deepEqual(await trial.look(qm, expected), expected, JSON.stringify(settings));
      await qm.close();
      qm = undefined;
    }
  });
}

test('a UNS, and a Bot Manager, that has not said for a minute who it is, is gone', async () => {
  qm = new Whole();
  await qm.start({});
  const closed: string[] = [];
  const paths = [qm.unsPath, qm.bmPath];
  const mute = paths.map(path =>
    connect(path)
      .on('error', () => undefined)
      .on('close', () => void closed.push(path))
      .resume(),
  );
  await qm.pass(50 * SECOND);
  assert.deepEqual(closed, []);
  await qm.pass(11 * SECOND);
  await qm.until(() => closed.length === 2);
  for (const socket of mute) socket.destroy();
});

/** Settings with an effect that other tests see, with the real daemon. */
const ELSEWHERE: Partial<Record<QmSetting, string>> = {
  'qm.sync_interval_ms': 'qm/sync-points',
  'qm.check_window': 'qm/sync-points',
  'qm.metrics_listen': 'web/metrics',
  'qm.max_connections': 'commands/connections',
};

test('no setting of the Queue Manager is without a test', () => {
  const { all, named } = settingsOf('qm', Object.keys({ ...TRIALS, ...ELSEWHERE }));
  assert.deepEqual(named, all);
});
