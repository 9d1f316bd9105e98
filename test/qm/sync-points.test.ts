import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, test } from 'node:test';
import { silentLog } from '../../src/lib/log.js';
import { openSqlite } from '../../src/lib/sqlite.js';
import { MachineErrands } from '../../src/qm/machine-errands.js';
import { SyncPoints } from '../../src/qm/sync-points.js';
import type { FetchRequest, FetchResult } from '../../src/wire/fetch.js';
import type { CheckRequest, UpkeepRequest } from '../../src/wire/upkeep.js';
import { until } from '../support/until.js';
import { Bm, Qm, Uns } from '../support/queue-manager.js';
import { absolute, Bench, ok, url } from './support.js';

const STORE = { storeId: 's1' };
const urls = (count: number) => Array.from({ length: count }, (_, i) => url(`p${i}`));
/** `f3`, then `f3b` for the second fetch of the same url, and so on. */
const fetches = new Map<string, number>();
const stored = (request: FetchRequest): FetchResult => {
  const times = fetches.get(request.url) ?? 0;
  fetches.set(request.url, times + 1);
  const number = /\d+$/.exec(request.url)?.[0] ?? '';
  const fileId = `00/00/${number.padStart(8, '0')}.${times}`;
  return { ...ok(request.url), id: request.id, machineId: 'm1', fileId };
};
const isCheck = (request: UpkeepRequest): request is CheckRequest => request.kind === 'check';
const checked = (bm: Bm) => bm.upkeeps.filter(isCheck).map(request => request.fileId);
const syncs = (bm: Bm) => bm.upkeeps.filter(request => request.kind === 'sync').length;

describe('sync points', () => {
  let qm: Qm;
  beforeEach(() => {
    fetches.clear();
    qm = new Qm('[qm]\nsync_interval_ms = "1h"\ncheck_window = 3\nretry_delay_ms = 1\n');
  });
  afterEach(() => qm.close());

  const idle = () => qm.until(status => status['idle'] === true && status['rows_queued'] === 0);
  const syncedSeq = () => qm.rows('SELECT syncedseq FROM store')[0]?.['syncedseq'];
  const held = () => qm.rows('SELECT fetched_fileid AS f FROM lccurl ORDER BY f').map(row => row['f']);

  /** A Queue Manager that asks for syncs often, with a UNS and a Bot Manager. */
  async function syncing(more = ''): Promise<{ uns: Uns; bm: Bm }> {
    await qm.close();
    qm = new Qm(`[qm]\nsync_interval_ms = 100\n${more}`);
    await qm.start();
    const bm = new Bm(qm, STORE);
    bm.onFetch = stored;
    return { uns: new Uns(qm), bm };
  }

  async function storeSome(count: number): Promise<void> {
    await qm.start();
    const uns = new Uns(qm);
    const bm = new Bm(qm, STORE);
    bm.onFetch = stored;
    await uns.set('e1', urls(count));
    await idle();
    assert.deepEqual(checked(bm), [], 'nothing is read that was stored since the machine connected');
    uns.socket.destroy();
    bm.close();
    await qm.until(status => (status['bot_managers'] as unknown[]).length === 0);
  }

  it('what a machine stored since its last one is read when it connects again; what suffered is fetched again', async () => {
    await storeSome(8);
    const bm = new Bm(qm, STORE);
    bm.onFetch = stored;
    bm.onUpkeep = request => (isCheck(request) && /[25]\.0$/.test(request.fileId) ? 'bad' : 'ok');
    await bm.until(() => bm.fetches.length === 2);
    await idle();
    assert.deepEqual(
      checked(bm).toSorted(),
      urls(8).map((_, i) => `00/00/0000000${i}.0`),
    );
    const { md5, len } = ok(absolute('p0'));
    const first = bm.upkeeps.filter(isCheck).find(request => request.fileId.endsWith('0.0'));
    assert.deepEqual({ md5: first?.md5, len: first?.len }, { md5, len });
    assert.deepEqual(
      held(),
      urls(8).map((_, i) => `00/00/0000000${i}.${i === 2 || i === 5 ? 1 : 0}`),
    );
    assert.equal(qm.rows('SELECT * FROM tombstone').length, 2);
    await bm.until(() => bm.deletes.length === 2);
    assert.match(qm.log, /content stored since the last sync point was checked.*"files":8,"fetched_again":2/);
    bm.close();
  });

  it('what comes before one is not read again', async () => {
    await storeSome(3);
    await qm.kill('SIGTERM');
    const db = openSqlite(qm.dbPath);
    db.exec('UPDATE store SET syncedseq = 2');
    db.close();
    await qm.start();
    const bm = new Bm(qm, STORE);
    await bm.until(() => checked(bm).length > 0);
    await idle();
    assert.equal(checked(bm).length, 1);
    bm.close();
  });

  it('what came from another home is read again, whenever it came', async () => {
    await storeSome(3);
    await qm.kill('SIGTERM');
    const db = openSqlite(qm.dbPath);
    // A home of a higher number has given them their ids.
    db.exec(`UPDATE lccurl SET id = id + ${2 ** 40} WHERE curl LIKE '%p1'`);
    db.close();
    await qm.start();
    const bm = new Bm(qm, STORE);
    await idle();
    await until('all is read', () => checked(bm).length === 3);
    assert.ok(checked(bm).includes('00/00/00000001.0'));
  });

  it('a row that takes a new number while it waits to be read is read all the same', async () => {
    await storeSome(7);
    const bm = new Bm(qm, STORE);
    bm.onFetch = stored;
    const uns = new Uns(qm);
    // The second page waits until the CP has said something new of a row of the third.
    let release: (() => void) | undefined;
    const waits = new Promise<void>(resolve => (release = resolve));
    bm.onUpkeep = request => {
      if (checked(bm).length === 4) {
        void waits.then(() => bm.peer.upkept({ kind: 'check', id: request.id, status: 'ok' }));
        return undefined;
      }
      return isCheck(request) && request.fileId === '00/00/00000006.0' ? 'bad' : 'ok';
    };
    bm.answersUpkeep = () => checked(bm).length !== 4;
    await bm.until(() => checked(bm).length >= 4);
    const { md5, len } = ok(absolute('p6'));
    await uns.set('e2', [{ ...url('p6'), subtype: 'a:b', md5, len: String(len) }]);
    assert.deepEqual(qm.rows("SELECT seq > 7 AS moved FROM lccurl WHERE curl LIKE '%p6'"), [{ moved: 1 }]);
    release?.();
    await bm.until(() => bm.fetches.length === 1);
    await idle();
    assert.ok(held().includes('00/00/00000006.1'));
    bm.close();
    uns.socket.destroy();
  });

  it('a Queue Manager that dies while it checks begins again', async () => {
    await storeSome(9);
    const bm = new Bm(qm, STORE);
    bm.answersUpkeep = () => checked(bm).length < 5;
    await bm.until(() => checked(bm).length >= 5);
    await qm.kill();
    await qm.start();
    const again = new Bm(qm, STORE);
    await again.until(() => checked(again).length === 9);
    await idle();
    again.close();
  });

  it('a machine syncs when something is new, and not before all it had was checked', async () => {
    const { uns, bm } = await syncing('check_window = 2\n');
    await uns.set('e1', urls(5));
    await bm.until(() => syncs(bm) > 0);
    await until('all is synced', () => syncedSeq() === 5);
    const before = syncs(bm);
    bm.close();
    await qm.until(status => (status['bot_managers'] as unknown[]).length === 0);
    const idler = new Bm(qm, STORE);
    await idle();
    assert.deepEqual([checked(idler).length, syncs(idler)], [0, 0], 'all is synced');
    assert.ok(before <= 5);
    idler.close();
    uns.socket.destroy();
  });

  it('all since the last one is fetched again, once, when a sync says that something is lost', async () => {
    const { uns, bm } = await syncing('check_window = 2\n');
    let failures = 0;
    bm.onUpkeep = request => (request.kind === 'sync' && failures++ === 0 ? 'bad' : 'ok');
    await uns.set('e1', urls(5));
    await bm.until(() => bm.fetches.length === 10);
    await bm.until(() => syncs(bm) >= 2);
    await idle();
    assert.deepEqual(
      held(),
      urls(5).map((_, i) => `00/00/0000000${i}.1`),
    );
    assert.deepEqual(checked(bm), [], 'what the page cache says is not believed');
    assert.match(qm.log, /machine lost content/);
    bm.close();
    uns.socket.destroy();
  });

  it('a machine that cannot sync has none, and says so once', async () => {
    const { uns, bm } = await syncing();
    bm.onUpkeep = request => (request.kind === 'sync' ? 'unable' : 'ok');
    await uns.set('e1', urls(5));
    await bm.until(() => syncs(bm) >= 3);
    assert.equal(syncedSeq(), 0);
    assert.equal(qm.log.match(/machine cannot sync its store/g)?.length, 1);
    bm.close();
    uns.socket.destroy();
  });
});

test('a machine is asked for one sync when something is new, and for none as long as nothing is', async () => {
  const bench = new Bench();
  bench.provider(7);
  bench.store.transaction(() => bench.store.stores.remember('m1', 's1'));
  const asked: UpkeepRequest[] = [];
  const target = {
    delete: () => assert.fail('nothing is deleted'),
    upkeep: (request: UpkeepRequest) => void asked.push(request),
  };
  const errands = new MachineErrands(() => asked.length + 1);
  const points = new SyncPoints({
    store: bench.store,
    clock: bench.clock,
    log: silentLog,
    intervalMs: 100,
    window: 3,
    errands,
    onSet: () => assert.fail('nothing is fetched again'),
    onCommit: () => undefined,
    failed: error => assert.fail(String(error)),
  });
  errands.setMachines(target, ['m1']);
  bench.clock.advance(1000);
  assert.deepEqual(asked, []);
  await bench.send(7, [url('a')]);
  bench.fetch(7, 'a');
  bench.clock.advance(1000);
  assert.deepEqual(asked, [{ kind: 'sync', id: 1, machineId: 'm1' }], 'one at a time');
  errands.answered(target, 'sync', { id: 1, status: 'ok' });
  bench.clock.advance(1000);
  errands.removePeer(target);
  errands.setMachines({ ...target }, ['m1']);
  bench.clock.advance(1000);
  assert.equal(asked.length, 1, 'nor when it connects again');
  points.stop();
  bench.close();
});
