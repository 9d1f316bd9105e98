/** Relays over real sockets, three levels deep: source ← top ← middle ← low ← machine m1; middle ← m2; top ← m3. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { openDatabase } from '../../src/db/sqlite/open.js';
import { Qm } from '../support/queue-manager.js';
import { Daemons, statusOf, type Daemon } from '../support/daemon.js';
import { TestSite } from '../support/site.js';
import { TestSource } from '../support/source.js';
import { until } from '../support/until.js';

let dir: string;
let site: TestSite;
let daemons: Daemons;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'lcc-relay-'));
  writeFileSync(join(dir, 'lcc.toml'), '[bm]\ngrace_ms = 0\n');
  daemons = new Daemons();
  site = await TestSite.listen((request, response) => response.end(`content of ${request.url}`));
});
afterEach(async () => {
  await daemons.end();
  site.close();
  rmSync(dir, { recursive: true, force: true });
});

const socketOf = (name: string) => `unix:${dir}/${name}.sock`;

function start(command: string, home: string, args: string[], env: NodeJS.ProcessEnv = {}): Daemon {
  return daemons.start(command, join(dir, home), args, env);
}

/** A relay and a machine whose names say where they listen. */
const relay = (name: string, above: string) =>
  start('lccd-bm', name, [`--source=${socketOf(above)}`, `--listen=${socketOf(name)}`]);
function machine(id: string, above: string, slots: number, home = id): [manager: Daemon, robot: Daemon] {
  return [
    start('lccd-bm', home, [
      `--source=${socketOf(above)}`,
      `--listen=${socketOf(home)}`,
      `--machineid=${id}`,
      `--config=${join(dir, 'lcc.toml')}`,
    ]),
    start('lccbot', home, [`--bm=${socketOf(home)}`, `--slots=${slots}`, '--allow-address=127.0.0.0/8']),
  ];
}

describe('lccd-bm as a relay, three levels deep', () => {
  let source: TestSource;
  beforeEach(async () => {
    source = await TestSource.listen(join(dir, 'source.sock'));
    relay('top', 'source');
    relay('middle', 'top');
    relay('low', 'middle');
  });
  afterEach(() => source.close());

  const contentOf = (machineId: string, fileId: string) => join(dir, machineId, 'store', fileId);

  it('has urls fetched on all machines, one of a lane at a time, and files deleted where they lie', async () => {
    const at = new Map<string, number>();
    site.answer = (request, response) => {
      const lane = request.url?.split('/')[1] ?? '';
      at.set(lane, (at.get(lane) ?? 0) + 1);
      assert.equal(at.get(lane), 1, 'two of one lane at once');
      setTimeout(() => {
        at.set(lane, (at.get(lane) ?? 0) - 1);
        response.end(`content of ${request.url}`);
      }, 1);
    };
    machine('m1', 'low', 4);
    machine('m2', 'middle', 4);
    machine('m3', 'top', 4);
    await source.slots(12, 'm1', 'm2', 'm3');
    const paths = Array.from({ length: 240 }, (_, i) => `/${i % 12}/${i}`);
    const results = await Promise.all(
      paths.map(path => source.fetch({ lane: path.split('/')[1] ?? '', url: site.urlOf(path) })),
    );
    const byMachine = new Map<string, number>();
    for (const [i, result] of results.entries()) {
      assert.equal(result?.status, 'ok', JSON.stringify(result));
      const { machineId, fileId } = result;
      assert.equal(readFileSync(contentOf(machineId, fileId), 'utf8'), `content of ${paths[i]}`);
      byMachine.set(machineId, (byMachine.get(machineId) ?? 0) + 1);
    }
    assert.deepEqual([...byMachine.keys()].toSorted(), ['m1', 'm2', 'm3']);
    for (const id of ['m1', 'm2', 'm3']) {
      const result = results.find(each => each?.status === 'ok' && each.machineId === id);
      assert.ok(result?.status === 'ok' && result.fileId !== undefined);
      assert.equal((await source.delete(id, result.fileId))?.status, 'ok');
      const { fileId } = result;
      await until('the file is deleted', () => !existsSync(contentOf(id, fileId)));
    }
    assert.equal((await source.delete('m9', '00/00/00000000.0'))?.status, 'away');
    for (const name of ['top', 'middle', 'low'])
      assert.equal((await statusOf(join(dir, name), 'lccd-bm-relay')).idle, true);
  });

  it('gives what a killed machine was doing to another, and deletes its files when it is back', async () => {
    const begun: string[] = [];
    let release = () => {};
    const released = new Promise<void>(resolve => (release = resolve));
    site.answer = (request, response) => {
      begun.push(request.url ?? '');
      void released.then(() => response.end(`content of ${request.url}`));
    };
    const first = machine('m1', 'low', 2);
    await source.slots(2, 'm1');
    const fetches = ['/a/1', '/a/2', '/b/1', '/b/2'].map(path =>
      source.fetch({ lane: path.split('/')[1] ?? '', url: site.urlOf(path) }),
    );
    await until('2 urls are fetched', () => begun.length === 2);
    machine('m2', 'top', 2);
    await source.slots(4, 'm1', 'm2');
    for (const { child } of first) child.kill('SIGKILL');
    await source.slots(2, 'm2');
    release();
    for (const result of await Promise.all(fetches)) {
      if (result?.status === 'recalled') continue;
      assert.deepEqual([result?.status, result?.status === 'ok' && result.machineId], ['ok', 'm2']);
    }
    assert.equal((await source.delete('m1', '00/00/00000000.0'))?.status, 'away');
    machine('m1', 'low', 2);
    await source.slots(4, 'm1', 'm2');
    assert.equal((await source.delete('m1', '00/00/00000000.0'))?.status, 'ok');
  });

  it('connects again to a relay that was killed, with all that is below', async () => {
    machine('m1', 'low', 2);
    await source.slots(2, 'm1');
    const middle = daemons.all[1];
    middle?.child.kill('SIGKILL');
    await source.slots(0);
    relay('middle', 'top');
    await source.slots(2, 'm1');
    const result = await source.fetch({ lane: '1', url: site.urlOf('/x') });
    assert.equal(result?.status, 'ok');
    assert.ok(existsSync(contentOf('m1', result.fileId)));
  });

  it('ends a second machine with the id of one that is there, wherever both hang, with status 78', async () => {
    machine('m1', 'low', 2);
    await source.slots(2, 'm1');
    const [second] = machine('m1', 'top', 2, 'copy');
    assert.equal(await second.ended, 78);
    assert.match(
      second.log,
      /machine \\"m1\\": another machine of that id is connected; give this one an id/,
    );
    await source.slots(2, 'm1');
  });
});

describe('a Queue Manager', () => {
  let qm: Qm;
  beforeEach(() => (qm = new Qm()));
  afterEach(() => qm.close());
  const machines = async () =>
    ((await qm.control('status'))['bot_managers'] as { machines: string[] }[]).flatMap(bm => bm.machines);
  const machineAt = (id: string, home: string, endpoint: string) =>
    start('lccd-bm', home, [`--source=${endpoint}`, `--listen=${socketOf(home)}`, `--machineid=${id}`]);
  const untilMachines = (...ids: string[]) =>
    until(
      `machines ${ids.join(', ')} are here`,
      async () => (await machines()).toSorted().join() === ids.join(),
    );

  it('has several Bot Managers, and refuses a second machine with the id of one', async () => {
    await qm.start();
    const endpoint = `unix:${qm.bmPath}`;
    machineAt('m1', 'm1', endpoint);
    machineAt('m2', 'm2', endpoint);
    await untilMachines('m1', 'm2');
    const second = machineAt('m1', 'copy', endpoint);
    assert.equal(await second.ended, 78);
    assert.match(second.log, /machine \\"m1\\": another machine of that id is connected/);
    assert.deepEqual((await machines()).toSorted(), ['m1', 'm2']);
  });

  it('has a machine below a relay refused that comes with another store than rows point into', async () => {
    await qm.start();
    const endpoint = `unix:${qm.bmPath}`;
    start('lccd-bm', 'r', [`--source=${endpoint}`, `--listen=${socketOf('r')}`]);
    const m1 = machineAt('m1', 'm1', socketOf('r'));
    machineAt('m2', 'm2', socketOf('r'));
    await untilMachines('m1', 'm2');
    m1.child.kill('SIGKILL');
    await m1.ended;
    await untilMachines('m2');
    await qm.kill();
    const db = openDatabase(qm.dbPath);
    db.prepare("INSERT INTO freed(machineid, fileid) VALUES ('m1', '00/00/00000000.0')").run();
    db.close();
    await qm.start();
    await untilMachines('m2');
    rmSync(join(dir, 'm1'), { recursive: true });
    const anew = machineAt('m1', 'm1', socketOf('r'));
    assert.equal(await anew.ended, 78);
    assert.match(
      anew.log,
      /rows point to files of machine \\"m1\\" in another store than this one.*bm\.machine_id/,
    );
    await untilMachines('m2');
  });
});

describe('lccd-bm without a store', () => {
  it('tells a robot that comes to it what it is for', async () => {
    const source = await TestSource.listen(join(dir, 'source.sock'));
    const top = relay('top', 'source');
    await top.ready;
    const robot = start('lccbot', 'bot', [`--bm=${socketOf('top')}`]);
    await robot.logged('robots connect to an lccd-bm with a store');
    source.close();
  });
});
