import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, beforeEach, test } from 'node:test';
import { fileIdOf } from '../../src/db/names/naming.js';
import type { FetchRequest, FetchResult } from '../../src/wire/fetch.js';
import { Bm, Qm, setText, Uns } from '../support/queue-manager.js';
import { absolute, failure, ok, url } from '../qm/support.js';

let qm: Qm;
beforeEach(() => {
  qm = new Qm(
    '[qm]\nlane_window = 16\nshared_window = 0\nretries = 3\nretry_delay_ms = 1\nbackoff_min_ms = 20\n',
  );
});
afterEach(() => qm.close());

const stored = (request: FetchRequest): FetchResult => ({
  ...ok(request.url),
  id: request.id,
  fileId: fileIdOf({ id: request.id, gen: 0 }),
});
const idle = () => qm.until(status => status['idle'] === true && status['rows_queued'] === 0);
/** No Bot Manager is connected: one that says no store is not taken for another with its id. */
const alone = () => qm.until(status => (status['bot_managers'] as unknown[]).length === 0);
const urls = (count: number) => Array.from({ length: count }, (_, i) => url(`p${i}`));

test('a set travels from a UNS through a Bot Manager into lccurl, in order, one lane', async () => {
  await qm.start();
  const uns = new Uns(qm);
  const bm = new Bm(qm);
  bm.onFetch = stored;
  assert.ok(await uns.hear(/<lococa:qm\/>/));
  uns.socket.write(setText('e1', urls(100)));
  assert.ok(
    await uns.hear(/<lococa:absorbed entry="e1" queued="100" duplicate="0" unchanged="0" deleted="0"\/>/),
  );
  await idle();
  assert.deepEqual(
    bm.fetches.map(f => f.url),
    urls(100).map(u => absolute(u.curl)),
  );
  assert.deepEqual([...new Set(bm.fetches.map(f => f.lane))], ['7']);
  assert.deepEqual(qm.rows('SELECT count(*) AS n, min(seq) AS a, max(seq) AS z FROM lccurl'), [
    { n: 100, a: 1, z: 100 },
  ]);
  assert.deepEqual(qm.rows('SELECT filesused, nurlproc FROM pidb WHERE pid = 7'), [
    { filesused: 100, nurlproc: 0 },
  ]);
  assert.deepEqual(qm.rows('SELECT * FROM qpsdb'), []);
  uns.socket.destroy();
  bm.close();
  await qm.kill('SIGTERM');
  assert.equal(await qm.ended(), 0);
});

test('it warns at its start where TZ is not understood, whose hours would be those of UTC', async () => {
  await qm.start({ TZ: 'CET-1CEST' });
  const warnings = qm.log.split('\n').filter(line => line.includes('"warn"'));
  assert.match(warnings.join('\n'), /"event":"TZ is not understood and read as UTC.*"tz":"CET-1CEST"/);
  await qm.kill('SIGTERM');
  await qm.ended();
  await qm.start({ TZ: 'Europe/Berlin' });
  assert.doesNotMatch(qm.log, /"TZ /);
});

test('a set sent twice counts once, with the same answer', async () => {
  await qm.start();
  const uns = new Uns(qm);
  for (let time = 0; time < 2; time++) {
    uns.socket.write(setText('e1', urls(3)));
    assert.ok(await uns.hear(/<lococa:absorbed entry="e1" queued="3"/));
  }
  assert.equal(qm.rows('SELECT * FROM qdb').length, 3);
  uns.socket.destroy();
});

test('what a Bot Manager was doing when it vanished is given to another', async () => {
  await qm.start();
  const uns = new Uns(qm);
  const dying = new Bm(qm);
  await uns.set('e1', urls(20));
  await dying.until(() => dying.fetches.length === 16);
  dying.close();
  await alone();
  const bm = new Bm(qm);
  bm.onFetch = stored;
  await idle();
  assert.deepEqual(
    bm.fetches.map(f => f.url),
    urls(20).map(u => absolute(u.curl)),
  );
  uns.socket.destroy();
  bm.close();
});

test('a restart with work in flight loses nothing', async () => {
  await qm.start();
  const uns = new Uns(qm);
  const before = new Bm(qm);
  await uns.set('e1', urls(20));
  await before.until(() => before.fetches.length === 16);
  await qm.kill();
  await qm.start();
  const bm = new Bm(qm);
  bm.onFetch = stored;
  await idle();
  assert.equal(qm.rows('SELECT * FROM lccurl').length, 20);
  bm.close();
});

test('freed files are deleted on their machine, also when it was away and the Queue Manager restarted', async () => {
  await qm.start();
  let uns = new Uns(qm);
  const first = new Bm(qm, { machineId: 'far' });
  first.onFetch = request => ({ ...stored(request), machineId: 'far' }) as FetchResult;
  await uns.set('e1', urls(3));
  await idle();
  first.close();
  await uns.set(
    'e2',
    urls(3).map(u => ({ ...u, op: 'delete' })),
  );
  const near = new Bm(qm, { machineId: 'near' });
  await qm.kill('SIGTERM');
  await qm.start();
  assert.equal((await qm.control('status'))['freed_waiting'], 3);
  const back = new Bm(qm, { machineId: 'far' });
  await back.until(() => back.deletes.length === 3);
  await qm.until(status => status['freed_waiting'] === 0);
  assert.deepEqual(near.deletes, []);
  assert.deepEqual(
    back.deletes.map(d => [d.machineId, d.fileId]),
    first.fetches.map(f => ['far', fileIdOf({ id: f.id, gen: 0 })]),
  );
  uns = new Uns(qm);
  uns.socket.destroy();
  near.close();
  back.close();
});

test('a site that does not answer is left alone and tried again with one url; nothing is dropped', async () => {
  await qm.start();
  const uns = new Uns(qm);
  const bm = new Bm(qm);
  let refusals = 20;
  bm.onFetch = request =>
    refusals-- > 0 ? { ...failure(602, 'provider'), id: request.id } : stored(request);
  await uns.set('e1', urls(30));
  await idle();
  assert.equal(qm.rows('SELECT * FROM lccurl').length, 30);
  assert.equal(qm.rows('SELECT * FROM pierr').length, 0);
  // The window's 16 at once, then single probes while it still refuses.
  assert.equal(bm.fetches.length, 30 + 20);
  assert.deepEqual(qm.rows('SELECT backoffs, backoffuntil FROM pidb WHERE pid = 7'), [
    { backoffs: 0, backoffuntil: 0 },
  ]);
  uns.socket.destroy();
  bm.close();
});

test('a url that fails for now is tried again at the end of its set, then reported', async () => {
  await qm.start();
  const uns = new Uns(qm);
  const bm = new Bm(qm, { slots: 1 });
  bm.onFetch = request =>
    request.url.endsWith('p0') ? { ...failure(503, 'url'), id: request.id } : stored(request);
  await uns.set('e1', urls(20));
  await idle();
  assert.equal(bm.fetches.filter(f => f.url.endsWith('p0')).length, 4);
  assert.equal(bm.fetches.at(-1)?.url, absolute('p0'));
  assert.deepEqual(qm.rows('SELECT code, text FROM pierr'), [{ code: 503, text: 'error 503' }]);
  uns.socket.destroy();
  bm.close();
});

test('with too many urls queued UNSes are shut out, and let in again when there is room', async () => {
  await qm.close();
  qm = new Qm('[qm]\nmax_queue_urls = 10\n');
  await qm.start();
  const uns = new Uns(qm);
  await uns.set('e1', urls(12));
  uns.socket.write(setText('e2', urls(1)));
  assert.ok(await uns.hear(/<lococa:busy\/>/));
  if (!uns.closed) await once(uns.socket, 'close');
  const late = connect(qm.unsPath);
  const outcome = await Promise.race([once(late, 'connect').then(() => 'connected'), once(late, 'error')]);
  assert.notEqual(outcome, 'connected', 'nobody listens');
  const bm = new Bm(qm);
  bm.onFetch = stored;
  await qm.until(status => status['unses_shut_out'] === false);
  const again = new Uns(qm);
  assert.ok(await again.set('e2', urls(1)));
  again.socket.destroy();
  bm.close();
});

test('malformed XML from a UNS or a Bot Manager ends that connection only', async () => {
  await qm.start();
  const bad = new Uns(qm);
  bad.socket.write('<lococa:set entry="x"><url curl=');
  bad.socket.write('<<<<');
  assert.equal(await bad.hear(/absorbed/), false);
  const worse = new Uns(qm);
  worse.socket.write('\n<uns');
  worse.socket.write('<');
  assert.equal(await worse.hear(/<lococa:error code="103">uns unix:3:5: [^<]+<\/lococa:error>/), true);
  const badBm = new Bm(qm);
  badBm.socket.write('<bogus/>');
  await once(badBm.socket, 'close');
  const uns = new Uns(qm);
  assert.ok(await uns.set('e1', urls(1)));
  uns.socket.destroy();
});

test('a set larger than the room left is taken to its end, though another UNS meets the limit meanwhile', async () => {
  await qm.close();
  qm = new Qm('[qm]\nmax_queue_urls = 10\nslice_urls = 4\n');
  await qm.start();
  const big = new Uns(qm, 'big');
  const [half, rest] = halves(setText('e1', urls(40)));
  big.socket.write(half);
  await qm.until(status => Number(status['rows_queued']) > 10);
  const small = new Uns(qm, 'small');
  assert.ok(await small.hear(/<lococa:qm\/>/), 'half a set does not keep others out');
  await small.set('s1', urls(12), { pid: 8 });
  small.socket.write(setText('s2', urls(1), { pid: 8 }));
  assert.ok(await small.hear(/<lococa:busy\/>/));
  big.socket.write(rest);
  assert.ok(await big.hear(/<lococa:absorbed entry="e1"/), 'it is not cut');
  big.socket.write(setText('e2', urls(1)));
  assert.ok(await big.hear(/<lococa:busy\/>/), 'the next one has to wait');
  const bm = new Bm(qm, { slots: 64 });
  bm.onFetch = stored;
  await qm.until(status => status['unses_shut_out'] === false);
  const again = new Uns(qm, 'big');
  assert.ok(await again.set('e2', urls(1)));
  for (const { socket } of [big, small, again]) socket.destroy();
  bm.close();
});

test('a set that was cut when it had filled the queue is let in again and goes on', async () => {
  await qm.close();
  qm = new Qm('[qm]\nmax_queue_urls = 10\nslice_urls = 4\n');
  await qm.start();
  const [half] = halves(setText('e1', urls(40)));
  const cut = new Uns(qm);
  cut.socket.write(half);
  await qm.until(status => Number(status['rows_queued']) > 10);
  await qm.kill();
  await qm.start();
  const again = new Uns(qm);
  again.socket.write(setText('e1', urls(40)));
  assert.ok(await again.hear(/<lococa:absorbed entry="e1" queued="40"/));
  again.socket.destroy();
});

test('two UNSes that send sets of one provider at once are taken one after the other, also when the first is cut', async () => {
  await qm.start();
  const [first, second] = [new Uns(qm, 'a'), new Uns(qm, 'b')];
  const [half, rest] = halves(setText('e1', urls(6)));
  first.socket.write(half);
  await qm.until(status => status['absorbing'] === 1);
  second.socket.write(setText('e2', urls(8)));
  await qm.until(status => status['absorbing'] === 2);
  assert.equal(second.text.includes('absorbed'), false);
  first.socket.write(rest);
  assert.ok(await first.hear(/<lococa:absorbed entry="e1" queued="6" duplicate="0"/));
  assert.ok(await second.hear(/<lococa:absorbed entry="e2" queued="2" duplicate="6"/));
  const [cut] = halves(setText('e3', urls(6)));
  first.socket.write(cut);
  await qm.until(status => status['absorbing'] === 1);
  second.socket.write(setText('e4', urls(6)));
  await qm.until(status => status['absorbing'] === 2);
  first.socket.destroy();
  assert.ok(await second.hear(/<lococa:absorbed entry="e4"/), 'a UNS that is gone holds up nobody');
  second.socket.destroy();
});

test('a UNS that stops in the middle of a set is cut off, so that others of the provider do not wait for ever', async () => {
  await qm.close();
  qm = new Qm('[wire]\nstall_timeout_ms = 1000\n');
  await qm.start();
  const stuck = new Uns(qm, 'a');
  stuck.socket.write(halves(setText('e1', urls(6)))[0]);
  await qm.until(status => status['absorbing'] === 1);
  const other = new Uns(qm, 'b');
  assert.ok(await other.set('e2', urls(6)));
  assert.equal(await stuck.hear(/absorbed/), false);
  assert.match(qm.log, /nothing more of e1 for 1 s \(wire\.stall_timeout_ms\)/);
  other.socket.destroy();
});

/** A document in two parts, cut between two urls. */
function halves(document: string): [string, string] {
  const at = document.indexOf('\n', document.length / 2) + 1;
  return [document.slice(0, at), document.slice(at)];
}

test('the operator pauses, resumes, and asks for a full set', async () => {
  await qm.start();
  const uns = new Uns(qm);
  const bm = new Bm(qm);
  bm.onFetch = stored;
  assert.deepEqual(await qm.control('pause 7'), { providers: 1, changed: 1 });
  await uns.set('e1', urls(3));
  await uns.set('e2', urls(3), { pid: 8 });
  await qm.until(status => status['rows_queued'] === 3);
  assert.deepEqual(
    bm.fetches.map(f => f.lane),
    ['8', '8', '8'],
  );
  assert.deepEqual(await qm.control('resume'), { providers: 2, changed: 1 });
  await idle();
  await qm.control('want-full 8');
  assert.deepEqual(qm.rows('SELECT pid, fullsetwanted FROM pidb'), [
    { pid: 7, fullsetwanted: null },
    { pid: 8, fullsetwanted: 'operator' },
  ]);
  uns.socket.destroy();
  bm.close();
});

test('a second Queue Manager on the same database is refused', async () => {
  await qm.start();
  const { daemon } = qm;
  await assert.rejects(qm.start(), /lccd-qm \(process \d+\) has it open; stop that first/);
  assert.equal(await qm.ended(), 75);
  qm.daemon = daemon;
});

test('a Bot Manager whose store is full rests; its urls are given to another, and nothing is reported', async () => {
  await qm.start();
  const uns = new Uns(qm);
  const full = new Bm(qm, { slots: 64 });
  full.onFetch = request => ({ ...failure(613, 'url'), id: request.id });
  await uns.set('e1', urls(20));
  await full.until(() => full.fetches.length > 0);
  // The operator is told why nothing moves.
  await qm.until(status =>
    /"rests_ms":\d+,"reason":"[^"]+\(a url of provider 7\)"/.test(JSON.stringify(status)),
  );
  const bm = new Bm(qm, { slots: 1, machineId: 'm2' });
  bm.onFetch = request => ({ ...stored(request), machineId: 'm2' }) as FetchResult;
  await idle();
  assert.equal(qm.rows('SELECT * FROM lccurl').length, 20);
  assert.deepEqual(qm.rows('SELECT * FROM pierr'), []);
  uns.socket.destroy();
  full.close();
  bm.close();
});

test('a machine with another store is refused, and told of until it comes with the right one', async () => {
  await qm.start();
  const uns = new Uns(qm);
  const first = new Bm(qm, { storeId: 's1' });
  first.onFetch = request => ({ ...stored(request), machineId: 'm1' });
  await uns.set('e1', urls(1));
  await idle();
  first.close();
  await alone();
  const other = new Bm(qm, { storeId: 's2' });
  await once(other.socket, 'close');
  const refused = (status: Record<string, unknown>) => status['machines_refused'] as { machine: string }[];
  await qm.until(status => refused(status)[0]?.machine === 'm1');
  const again = new Bm(qm, { storeId: 's1' });
  await qm.until(status => refused(status).length === 0);
  again.close();
  uns.socket.destroy();
});

test('a second machine of an id is told of until it comes under one of its own, and since when', async () => {
  await qm.start();
  const before = Date.now();
  const first = new Bm(qm, { machineId: 'm1', storeId: 's1' });
  await qm.until(status => (status['bot_managers'] as unknown[]).length === 1);
  const second = new Bm(qm, { machineId: 'm1', storeId: 's2' });
  await once(second.socket, 'close');
  const refused = (status: Record<string, unknown>) =>
    status['machines_refused'] as { machine: string; reason: string; at_ms: number }[];
  // Who has the id says something: the other one is not forgotten for that.
  first.peer.hello({ machineIds: ['m1'], slots: 9, storeIds: ['s1'], relays: false });
  await qm.until(status => (status['bot_managers'] as { slots: number }[])[0]?.slots === 9);
  const [refusal] = refused(await qm.control('status'));
  assert.match(refusal?.reason ?? '', /another machine of that id is connected/);
  assert.ok((refusal?.at_ms ?? 0) >= before && (refusal?.at_ms ?? 0) <= Date.now());
  const renamed = new Bm(qm, { machineId: 'm2', storeId: 's2' });
  await qm.until(status => refused(status).length === 0);
  for (const bm of [first, renamed]) bm.close();
});
