import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { promisify } from 'node:util';
import {
  contentOf,
  fetchOk,
  fileOf,
  home,
  md5,
  site,
  source,
  startManager,
  startRobot,
  untilFiles,
} from '../support/bot-manager.js';
import { startDaemon, statusOf } from '../support/daemon.js';
import { ROOT } from '../support/tree.js';

const runFile = promisify(execFile);

describe('lccd-bm', () => {
  it('and its robots are shown by lccstat as what they are: not the whole LCC', async () => {
    startManager();
    startRobot('lccbot', 8);
    await source.slots(8);
    await fetchOk('/page');
    const env = { ...process.env, LCC_HOME: home, LCC_CONFIG: '' };
    // Meanwhile the source, which is in this process, pings: lccd-bm without pings cannot know that there is nothing to do.
    const { stdout } = await runFile(join(ROOT, 'bin/lccstat'), { env });
    assert.match(stdout, /^idle: the Queue Manager is on another machine\n\nDAEMON/);
  });

  it('is not idle while its Queue Manager does not know of it: there may be content to be checked', async () => {
    const socket = (name: string) => `unix:${home}/${name}.sock`;
    const env = { ...process.env, LCC_HOME: home, LCC_CONFIG: '' };
    const untilIdle = (limitS: number) => {
      const { status, stderr } = spawnSync(join(ROOT, 'bin/lccstat'), [`--until-idle=${limitS}`], {
        env,
        encoding: 'utf8',
      });
      return { status, said: /has lost the Queue Manager/.test(stderr) };
    };
    const listening = [`--listen-uns=${socket('qm-uns')}`, `--listen-bm=${socket('qm-bm')}`];
    const daemons = [startDaemon('lccd-qm', home, listening)];
    const manager = (name: string) =>
      startDaemon('lccd-bm', home, [
        `--source=${socket(name)}`,
        `--listen=${socket('bm')}`,
        '--machineid=m1',
      ]);
    try {
      const lost = manager('nobody');
      daemons.push(lost);
      await Promise.all(daemons.map(({ ready }) => ready));
      assert.deepEqual(untilIdle(1), { status: 75, said: true });
      lost.child.kill('SIGTERM');
      await lost.ended;
      const found = manager('qm-bm');
      daemons.push(found);
      await found.ready;
      assert.deepEqual(untilIdle(60), { status: 0, said: false });
    } finally {
      for (const { child } of daemons) child.kill('SIGKILL');
      await Promise.all(daemons.map(({ ended }) => ended));
    }
  });

  it('has urls fetched by robots into the files it names, and removes them when told', async () => {
    startManager();
    startRobot('lccbot', 8);
    await source.slots(8);
    const paths = Array.from({ length: 40 }, (_, i) => `/page-${i}.html`);
    const results = await Promise.all(paths.map((path, i) => fetchOk(path, String(i % 5))));
    for (const [i, result] of results.entries()) {
      assert.equal(result.machineId, 'm1');
      assert.equal(readFileSync(fileOf(result), 'utf8'), contentOf(paths[i] ?? ''));
      assert.equal(result.md5, md5(contentOf(paths[i] ?? '')));
    }
    assert.equal(new Set(results.map(({ fileId }) => fileId)).size, 40);
    const [first] = results;
    assert.ok(first);
    assert.equal((await source.delete('m1', first.fileId))?.status, 'ok');
    assert.equal((await source.delete('m1', first.fileId))?.status, 'ok');
    assert.equal((await source.delete('elsewhere', first.fileId))?.status, 'away');
  });

  it('starts anew with a source that comes back, and removes what was fetched for the old one', async () => {
    const held: (() => void)[] = [];
    let asked = () => {};
    const twoAsked = new Promise<void>(resolve => (asked = resolve));
    site.answer = (request, response) => {
      held.push(() => response.end(contentOf(request.url ?? '')));
      if (held.length === 2) asked();
    };
    const manager = startManager();
    startRobot('lccbot', 2);
    await source.slots(2);
    const lost = ['/a', '/b', '/c'].map(path => source.fetch({ lane: path, url: site.urlOf(path) }));
    await twoAsked;
    source.cut();
    assert.deepEqual(await Promise.all(lost), [undefined, undefined, undefined]);
    await manager.logged('source gone');
    await source.slots(2);
    site.answer = (request, response) => response.end(contentOf(request.url ?? ''));
    for (const release of held) release();
    const again = await Promise.all(['/a', '/b', '/c'].map(path => fetchOk(path)));
    // One more round trip: what was fetched for nobody has been noted by then, and is swept before the daemon ends.
    await source.delete('m1', again[0]?.fileId ?? '');
    manager.child.kill('SIGTERM');
    assert.equal(await manager.ended, 0);
    const next = startManager();
    await next.ready;
    await source.slots(2);
    await untilFiles(2);
  });

  it('says what it is doing, and ends with status 0 when told to stop', async () => {
    const manager = startManager();
    startRobot('lccbot', 3);
    await source.slots(3);
    await manager.ready;
    const status = await statusOf(home, 'lccd-bm');
    assert.deepEqual(
      [status['daemon'], status['machineid'], status['robots'], status['slots'], status['idle']],
      ['lccd-bm', 'm1', 1, 3, true],
    );
    manager.child.kill('SIGTERM');
    assert.equal(await manager.ended, 0);
    assert.ok(!existsSync(join(home, 'bm.sock')));
  });

  it('refuses the store of another machine with status 78, and one in use with status 75', async () => {
    const manager = startManager();
    await manager.ready;
    const args = [`--source=unix:${home}/qm.sock`, `--listen=unix:${home}/other.sock`];
    const second = startDaemon('lccd-bm', join(home, 'second'), [
      ...args,
      '--machineid=m1',
      `--store=${home}/store`,
    ]);
    assert.equal(await second.ended, 75);
    assert.match(second.log, /in use by lccd-bm \(process \d+\); stop that first/);
    manager.child.kill('SIGTERM');
    await manager.ended;
    const other = startDaemon('lccd-bm', home, [...args, '--machineid=m2']);
    assert.equal(await other.ended, 78);
    assert.match(other.log, /the store of machine \\"m1\\", not \\"m2\\"/);
  });

  it('refuses a missing endpoint and a machine id with blanks with status 64', async () => {
    assert.equal(await startDaemon('lccd-bm', home, ['--listen=unix:/x']).ended, 64);
    const args = [`--source=unix:${home}/qm.sock`, `--listen=unix:${home}/bm.sock`, '--machineid=a b'];
    assert.equal(await startDaemon('lccd-bm', home, args).ended, 64);
  });

  it('notes a deletion before it acknowledges it, and removes the file before it frees the name', async () => {
    const stepLog = join(home, 'steps');
    const manager = startManager({ LCC_STEP_LOG: stepLog });
    startRobot('lccbot', 1);
    await source.slots(1);
    const result = await fetchOk('/a');
    await source.delete('m1', result.fileId);
    await untilFiles(0);
    manager.child.kill('SIGTERM');
    await manager.ended;
    const steps = readFileSync(stepLog, 'utf8')
      .trim()
      .split('\n')
      .map(line => line.split(' ')[1]);
    assert.deepEqual(steps, [
      'bm.store.claimed',
      'bm.names.reserved',
      'bm.names.noted',
      'bm.deletions.acknowledged',
      'bm.files.unlinked',
      'bm.names.freed',
      'bm.names.released',
    ]);
  });
});
