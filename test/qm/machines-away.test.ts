/** What the real Queue Manager says of machines that are away, and of its controls. */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { afterEach, beforeEach, test } from 'node:test';
import { readProjectFile } from '../support/tree.js';
import { Bm, Qm, Uns } from '../support/queue-manager.js';
import { until } from '../support/until.js';
import { ok, url } from './support.js';
import { fileIdOf } from '../../src/db/names/naming.js';

let qm: Qm;
beforeEach(() => {
  qm = new Qm();
});
afterEach(() => qm.close());

test('a machine that is away is told of, with the deletions that wait for it, until it is back', async () => {
  await qm.start();
  const uns = new Uns(qm);
  const first = new Bm(qm, { machineId: 'm2', storeId: 's2' });
  first.onFetch = request => ({
    ...ok(request.url),
    id: request.id,
    fileId: fileIdOf({ id: request.id, gen: 0 }),
    machineId: 'm2',
  });
  await uns.set('e1', [url('p0'), url('p1'), url('p2')]);
  await qm.until(status => status['idle'] === true && status['rows_queued'] === 0);
  const away = (status: Record<string, unknown>) =>
    status['machines_away'] as { machine: string; since_ms: number; files: number; pages: number }[];
  const beforeMs = Date.now();
  first.close();
  await qm.until(status => (status['bot_managers'] as unknown[]).length === 0);
  await until('the log has what went', () => /"Bot Manager disconnected"[^\n]*"machines":"m2"/.test(qm.log));
  const [gone] = away(await qm.control('status'));
  assert.deepEqual([gone?.machine, gone?.files, gone?.pages], ['m2', 0, 0], 'its content cannot be read');
  await uns.set('e2', [{ ...url('p1'), op: 'delete' }]);
  await qm.until(status => away(status)[0]?.files === 1);
  const [{ machine, since_ms: sinceMs, files, pages } = assert.fail()] = away(await qm.control('status'));
  assert.deepEqual([machine, files, pages], ['m2', 1, 0]);
  assert.ok(sinceMs >= beforeMs && sinceMs <= Date.now());
  await qm.kill();
  await qm.start();
  assert.deepEqual(away(await qm.control('status')), [{ machine: 'm2', since_ms: null, files: 1, pages: 0 }]);
  const again = new Bm(qm, { machineId: 'm2', storeId: 's2' });
  await qm.until(status => away(status).length === 0);
  again.close();
  uns.socket.destroy();
});

test('a store that is older than what was served is refused, until the right one is back or its names are made anew', async () => {
  await qm.start();
  const uns = new Uns(qm);
  const come = (storeId: string) => new Bm(qm, { machineId: 'm2', storeId });
  const refusals = (status: Record<string, unknown>) =>
    (status['machines_refused'] as { machine: string; reason: string }[]).map(({ reason }) => reason);
  const served = come('s2/7/aaaa');
  served.onFetch = request => ({
    ...ok(request.url),
    id: request.id,
    fileId: fileIdOf({ id: request.id, gen: 0 }),
    machineId: 'm2',
  });
  await uns.set('e1', [url('p0')]);
  await qm.until(status => status['idle'] === true && status['rows_queued'] === 0);
  served.close();
  for (const older of ['s2/6/bbbb', 's2/7/cccc', 's2/2/dddd']) {
    const bm = come(older);
    await qm.until(status =>
      refusals(status).some(reason => /is an older copy than the one served last/.test(reason)),
    );
    bm.close();
    await qm.until(status => (status['bot_managers'] as unknown[]).length === 0);
    // The one that was there may come, as after a cut connection.
    const right = come('s2/7/aaaa');
    await qm.until(status => refusals(status).length === 0);
    right.close();
    await qm.until(status => (status['bot_managers'] as unknown[]).length === 0);
  }
  const later = come('s2/8/eeee');
  await qm.until(status => (status['bot_managers'] as unknown[]).length === 1);
  later.close();
  await qm.until(status => (status['bot_managers'] as unknown[]).length === 0);
  const anew = come('s2/1/ffff');
  await until('all of its content is read again', () => anew.upkeeps.some(({ kind }) => kind === 'check'));
  assert.deepEqual(refusals(await qm.control('status')), []);
  anew.close();
  uns.socket.destroy();
});

test('lccd-qm(8) lists the controls of its socket, and no other', async () => {
  await qm.start();
  const socket = connect(`${qm.home}/run/lccd-qm.ctl.sock`);
  socket.end('no-such-control\n');
  let text = '';
  for await (const data of socket) text += String(data);
  const known = /there are ([\w, -]+)/.exec(text)?.[1]?.split(', ') ?? [];
  const page = readProjectFile('man/lccd-qm.8');
  const section = /^\.Ss Control socket\n([^]*?)^\.Sh /m.exec(page)?.[1] ?? '';
  const listed = [...section.matchAll(/^\.It (.*)$/gm)].flatMap(([, item = '']) =>
    [...item.matchAll(/\bCm ([\w-]+)/g)].map(found => found[1] ?? ''),
  );
  assert.deepEqual(listed.toSorted(), known.toSorted());
});
