import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { BotManagerHome, contentOf, md5 } from '../support/bot-manager.js';
import { statusOf } from '../support/daemon.js';
import { runCommand, runCommandLater } from '../support/command.js';
import { until } from '../support/until.js';
import { longIt } from '../support/long.js';

/** Half-written files in the store, and sockets that nobody answers at. */
const leftIn = (home: string) =>
  [...readdirSync(join(home, 'store'), { recursive: true }), ...readdirSync(join(home, 'run'))]
    .map(String)
    .filter(name => /^[0-9a-f]{2}.*\.tmp$/.test(name) || /^lccbot-\d.*\.sock$/.test(name));

let bm: BotManagerHome;
beforeEach(async () => void (bm = await BotManagerHome.make()));
afterEach(() => bm.remove());

describe('lccd-bm', () => {
  it('and its robots are shown by lccstat as what they are: not the whole LCC', async () => {
    bm.startManager();
    bm.startRobot('lccbot', 8);
    await bm.source.slots(8);
    await bm.fetchOk('/page');
    // Meanwhile the source, which is in this process, pings: lccd-bm without pings cannot know that there is nothing to do.
    const { stdout } = await runCommandLater(bm.home, 'lccstat', []);
    assert.match(stdout, /^idle: the Queue Manager is on another machine\n\nDAEMON/);
  });

  it('is not idle while its Queue Manager does not know of it: there may be content to be checked', async () => {
    const socket = (name: string) => `unix:${bm.home}/${name}.sock`;
    const untilIdle = (limitS: number) => {
      const { status, stderr } = runCommand(bm.home, 'lccstat', [`--until-idle=${limitS}`]);
      return { status, said: /has lost the Queue Manager/.test(stderr) };
    };
    const listening = [`--listen-uns=${socket('qm-uns')}`, `--listen-bm=${socket('qm-bm')}`];
    const manager = (name: string) =>
      bm.start('lccd-bm', [`--source=${socket(name)}`, `--listen=${socket('bm')}`, '--machineid=m1']);
    const lost = manager('nobody');
    await Promise.all([bm.start('lccd-qm', listening).ready, lost.ready]);
    assert.deepEqual(untilIdle(1), { status: 75, said: true });
    await lost.stop();
    await manager('qm-bm').ready;
    assert.deepEqual(untilIdle(60), { status: 0, said: false });
  });

  it('has urls fetched by robots into the files it names, and removes them when told', async () => {
    bm.startManager();
    bm.startRobot('lccbot', 8);
    await bm.source.slots(8);
    const paths = Array.from({ length: 40 }, (_, i) => `/page-${i}.html`);
    const results = await Promise.all(paths.map((path, i) => bm.fetchOk(path, String(i % 5))));
    for (const [i, result] of results.entries()) {
      assert.equal(result.machineId, 'm1');
      assert.equal(readFileSync(bm.fileOf(result), 'utf8'), contentOf(paths[i] ?? ''));
      assert.equal(result.md5, md5(contentOf(paths[i] ?? '')));
    }
    assert.equal(new Set(results.map(({ fileId }) => fileId)).size, 40);
    const [first] = results;
    assert.ok(first);
    assert.equal((await bm.source.delete('m1', first.fileId))?.status, 'ok');
    assert.equal((await bm.source.delete('m1', first.fileId))?.status, 'ok');
    assert.equal((await bm.source.delete('elsewhere', first.fileId))?.status, 'away');
  });

  longIt('has robots of its own, which answer as robots, beside those that connect', async () => {
    const manager = bm.startManager({}, ['--bots=2', '--slots=3', '--allow-address=127.0.0.0/8']);
    await bm.source.slots(6);
    bm.startRobot('lccbot', 2);
    await bm.source.slots(8);
    const paths = Array.from({ length: 200 }, (_, i) => `/page-${i}.html`);
    const results = await Promise.all(paths.map(path => bm.fetchOk(path)));
    for (const [i, result] of results.entries())
      assert.equal(readFileSync(bm.fileOf(result), 'utf8'), contentOf(paths[i] ?? ''));
    const robots = await Promise.all(['lccbot-1', 'lccbot-2', 'lccbot'].map(name => statusOf(bm.home, name)));
    assert.deepEqual(
      robots.map(({ slots, pid }) => [slots, pid === manager.child.pid]),
      [
        [3, true],
        [3, true],
        [2, false],
      ],
    );
    await until('all are counted', async () => {
      const counts = await Promise.all(
        ['lccbot-1', 'lccbot-2', 'lccbot'].map(name => statusOf(bm.home, name)),
      );
      return (
        counts.every(({ ok }) => Number(ok) > 0) &&
        counts.reduce((sum, { ok }) => sum + Number(ok), 0) === 200
      );
    });
    assert.equal(await manager.stop(), 0);
    assert.deepEqual(leftIn(bm.home), []);
  });

  it('that is killed with robots of its own while they write is started again, and nothing is lost or left', async () => {
    const large = 'x'.repeat(600_000);
    bm.site.answer = ({ url = '' }, response) => void response.end(url === '/large' ? large : contentOf(url));
    const options = ['--bots=1', '--slots=4', '--allow-address=127.0.0.0/8'];
    const killed = bm.startManager({ LCC_CRASH_AT: 'fetch.file.placed:3' }, options);
    await bm.source.slots(4);
    const paths = ['/a', '/b', '/large', '/c', '/d'];
    const answers = await Promise.all(
      paths.map(path => bm.source.fetch({ lane: path, url: bm.site.urlOf(path) })),
    );
    assert.equal(await killed.ended, 'SIGKILL');
    assert.ok(answers.some(answer => answer === undefined));
    bm.startManager({}, options);
    await bm.source.slots(4);
    for (const path of paths) {
      const result = await bm.fetchOk(path);
      assert.equal(readFileSync(bm.fileOf(result), 'utf8'), path === '/large' ? large : contentOf(path));
    }
    assert.ok(bm.files().length <= 2 * paths.length);
  });

  it('has no robots of its own as a relay: it says so', () => {
    const args = [`--source=unix:${bm.home}/qm.sock`, `--listen=unix:${bm.home}/bm.sock`, '--bots=1'];
    const { status, stderr } = runCommand(bm.home, 'lccd-bm', args);
    assert.equal(status, 64);
    assert.match(stderr, /--bots: a relay has no store; give --store or --machineid/);
  });

  longIt(
    'starts anew with a source that comes back, and removes what was fetched for the old one',
    async () => {
      const held: (() => void)[] = [];
      let asked = () => {};
      const twoAsked = new Promise<void>(resolve => (asked = resolve));
      bm.site.answer = (request, response) => {
        held.push(() => response.end(contentOf(request.url ?? '')));
        if (held.length === 2) asked();
      };
      const manager = bm.startManager();
      bm.startRobot('lccbot', 2);
      await bm.source.slots(2);
      const lost = ['/a', '/b', '/c'].map(path => bm.source.fetch({ lane: path, url: bm.site.urlOf(path) }));
      await twoAsked;
      bm.source.cut();
      assert.deepEqual(await Promise.all(lost), [undefined, undefined, undefined]);
      await manager.logged('source gone');
      await bm.source.slots(2);
      bm.site.answer = (request, response) => response.end(contentOf(request.url ?? ''));
      for (const release of held) release();
      const again = await Promise.all(['/a', '/b', '/c'].map(path => bm.fetchOk(path)));
      // One more round trip: what was fetched for nobody has been noted by then, and is swept before the daemon ends.
      await bm.source.delete('m1', again[0]?.fileId ?? '');
      assert.equal(await manager.stop(), 0);
      const next = bm.startManager();
      await next.ready;
      await bm.source.slots(2);
      await bm.swept(2);
      assert.equal(bm.files().length, 2);
    },
  );

  it('says what it is doing, and ends with status 0 when told to stop', async () => {
    const manager = bm.startManager();
    bm.startRobot('lccbot', 3);
    await bm.source.slots(3);
    await manager.ready;
    const status = await statusOf(bm.home, 'lccd-bm');
    assert.deepEqual(
      [status['daemon'], status['machineid'], status['robots'], status['slots'], status['idle']],
      ['lccd-bm', 'm1', 1, 3, true],
    );
    assert.equal(await manager.stop(), 0);
    assert.ok(!existsSync(join(bm.home, 'bm.sock')));
  });

  it('refuses the store of another machine with status 78, and one in use with status 75', async () => {
    const manager = bm.startManager();
    await manager.ready;
    const args = [`--source=unix:${bm.home}/qm.sock`, `--listen=unix:${bm.home}/other.sock`];
    const inUse = [...args, '--machineid=m1', `--store=${bm.home}/store`];
    const second = bm.start('lccd-bm', inUse, {}, join(bm.home, 'second'));
    assert.equal(await second.ended, 75);
    assert.match(second.log, /in use by lccd-bm \(process \d+\); stop that first/);
    await manager.stop();
    const other = bm.start('lccd-bm', [...args, '--machineid=m2']);
    assert.equal(await other.ended, 78);
    assert.match(other.log, /the store of machine \\"m1\\", not \\"m2\\"/);
  });

  it('refuses a missing endpoint and a machine id with blanks with status 64', async () => {
    assert.equal(await bm.start('lccd-bm', ['--listen=unix:/x']).ended, 64);
    const args = [`--source=unix:${bm.home}/qm.sock`, `--listen=unix:${bm.home}/bm.sock`, '--machineid=a b'];
    assert.equal(await bm.start('lccd-bm', args).ended, 64);
  });

  it('notes a deletion before it acknowledges it, and removes the file before it frees the name', async () => {
    const stepLog = join(bm.home, 'steps');
    const manager = bm.startManager({ LCC_STEP_LOG: stepLog });
    bm.startRobot('lccbot', 1);
    await bm.source.slots(1);
    const result = await bm.fetchOk('/a');
    await bm.source.delete('m1', result.fileId);
    await bm.swept(0);
    await manager.stop();
    const steps = readFileSync(stepLog, 'utf8')
      .trim()
      .split('\n')
      .map(line => line.split(' ')[1])
      .filter(name => name !== 'bm.mark.noted');
    assert.deepEqual(steps, [
      'bm.store.claimed',
      'bm.names.marked',
      'bm.names.made',
      'bm.names.reserved',
      'bm.names.noted',
      'bm.deletions.acknowledged',
      'bm.files.unlinked',
      'bm.names.freed',
      'bm.names.released',
    ]);
  });
});
