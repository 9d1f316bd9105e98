import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { FetchOk } from '../../src/wire/fetch.js';
import { Daemons, startDaemon, statusOf, type Daemon } from '../support/daemon.js';
import { TestSite } from '../support/site.js';
import { TestSource } from '../support/source.js';
import { ROOT } from '../support/tree.js';

let home: string;
let source: TestSource;
let site: TestSite;
let daemons: Daemons;

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'lcc-bm-cmd-'));
  writeFileSync(join(home, 'lcc.toml'), '[bm]\ngrace_ms = 0\nname_block = 3\nmin_free_disk_percent = 0\n');
  daemons = new Daemons();
  source = await TestSource.listen(join(home, 'qm.sock'));
  site = await TestSite.listen((request, response) => response.end(contentOf(request.url ?? '')));
});
afterEach(async () => {
  await daemons.end();
  source.close();
  site.close();
  rmSync(home, { recursive: true, force: true });
});

const contentOf = (path: string) => `content of ${path}\n`.repeat(50);
const md5 = (text: string) => createHash('md5').update(text).digest('hex');
const fileOf = (result: FetchOk) => join(home, 'store', result.fileId ?? '');

/** Files that robots have not finished. */
function halfWritten(): string[] {
  return readdirSync(join(home, 'store'), { recursive: true })
    .map(String)
    .filter(name => name.endsWith('.tmp'));
}

function startManager(env: NodeJS.ProcessEnv = {}, more: string[] = []): Daemon {
  const args = [`--source=unix:${home}/qm.sock`, `--listen=unix:${home}/bm.sock`, '--machineid=m1', ...more];
  return daemons.start('lccd-bm', home, args, env);
}
function startRobot(name: string, slots: number): Daemon {
  const args = [
    `--bm=unix:${home}/bm.sock`,
    `--slots=${slots}`,
    '--allow-address=127.0.0.0/8',
    `--name=${name}`,
  ];
  return daemons.start('lccbot', home, args);
}
async function fetchOk(path: string, lane = path): Promise<FetchOk> {
  const result = await source.fetch({ lane, url: site.urlOf(path) });
  assert.equal(result?.status, 'ok', JSON.stringify(result));
  return result;
}

describe('lccd-bm', () => {
  it('and its robots are shown by lccstat as what they are: not the whole LCC', async () => {
    startManager();
    startRobot('lccbot', 8);
    await source.slots(8);
    await fetchOk('/page');
    const env = { ...process.env, LCC_HOME: home, LCC_CONFIG: '' };
    const { status, stdout } = spawnSync(join(ROOT, 'bin/lccstat'), { env, encoding: 'utf8' });
    assert.match(stdout, /^idle: the Queue Manager is on another machine\n\nDAEMON/);
    assert.equal(status, 0);
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
    assert.equal((await source.delete('m1', first.fileId ?? ''))?.status, 'ok');
    assert.equal((await source.delete('m1', first.fileId ?? ''))?.status, 'ok');
    assert.equal((await source.delete('elsewhere', first.fileId ?? ''))?.status, 'away');
  });

  it('never has two urls of a lane fetched at once, and keeps their order', async () => {
    let now = 0;
    let most = 0;
    const order: string[] = [];
    site.answer = (request, response) => {
      most = Math.max(most, ++now);
      order.push(request.url ?? '');
      setImmediate(() => {
        now--;
        response.end('x');
      });
    };
    startManager();
    startRobot('one', 4);
    startRobot('two', 4);
    await source.slots(8);
    const paths = Array.from({ length: 30 }, (_, i) => `/${i}`);
    await Promise.all(paths.map(path => fetchOk(path, '7')));
    assert.equal(most, 1);
    assert.deepEqual(order, paths);
  });

  it('takes a lane back from itself and from a robot, all but the url being fetched', async () => {
    const asked: string[] = [];
    const held: (() => void)[] = [];
    let beginning = () => {};
    const begun = new Promise<void>(resolve => (beginning = resolve));
    site.answer = (request, response) => {
      asked.push(request.url ?? '');
      if (asked.length > 1) return void response.end('x');
      held.push(() => response.end('x'));
      beginning();
    };
    writeFileSync(join(home, 'lcc.toml'), '[bm]\nlane_window = 3\n');
    startManager();
    startRobot('lccbot', 4);
    await source.slots(4);
    const [first, ...rest] = Array.from({ length: 8 }, (_, i) =>
      source.fetch({ lane: '7', url: site.urlOf(`/${i}`) }),
    );
    await begun;
    source.recall('7');
    const back = await Promise.all(rest);
    assert.deepEqual(
      back.map(result => result?.status),
      rest.map(() => 'recalled'),
    );
    const anew = fetchOk('/anew', '7');
    for (const finish of held) finish();
    assert.equal((await first)?.status, 'ok');
    await anew;
    assert.deepEqual(asked, ['/0', '/anew']);
  });

  it('gives the work of a killed robot to another, at the cost of one more request; no bytes are mixed or left', async () => {
    // Larger than what a robot keeps in memory: half of it is in a file when the robot dies.
    const large = (path: string) => contentOf(path).repeat(800);
    let begun = 0;
    let requests = 0;
    site.answer = (request, response) => {
      requests++;
      const content = large(request.url ?? '');
      if (begun >= 4) {
        response.end(content);
        return;
      }
      begun++;
      response.setHeader('content-length', content.length);
      response.write(content.slice(0, 400_000).toUpperCase());
    };
    const manager = startManager();
    const victim = startRobot('victim', 4);
    await source.slots(4);
    const paths = ['/a', '/b', '/c', '/d'];
    const fetches = paths.map(path => fetchOk(path));
    while (halfWritten().length < paths.length) await new Promise(resolve => void setImmediate(resolve));
    victim.child.kill('SIGKILL');
    await manager.logged('robot gone');
    startRobot('heir', 2);
    for (const [i, result] of (await Promise.all(fetches)).entries()) {
      assert.ok(readFileSync(fileOf(result), 'utf8') === large(paths[i] ?? ''), paths[i]);
    }
    assert.equal(requests, 2 * paths.length);
    assert.deepEqual(halfWritten(), []);
  });

  it('gives the work of a robot that hangs to another, whose content is not replaced when it goes on', async () => {
    writeFileSync(
      join(home, 'lcc.toml'),
      '[bm]\ngrace_ms = 0\nname_block = 3\nmin_free_disk_percent = 0\nattempt_timeout_ms = 1000\n[bot]\ntotal_timeout_ms = 900\n',
    );
    let finish = () => {};
    let asked = () => {};
    const hasAsked = new Promise<void>(resolve => (asked = resolve));
    site.answer = (_request, response) => {
      finish = () => void response.end('old');
      asked();
    };
    const manager = startManager();
    const hung = startRobot('hung', 1);
    await source.slots(1);
    const result = fetchOk('/a');
    await hasAsked;
    hung.child.kill('SIGSTOP');
    finish();
    await manager.logged('robot gone');
    site.answer = (_request, response) => void response.end('new');
    startRobot('heir', 1);
    const stored = await result;
    assert.notEqual(stored.fileId, '00/00/00000000.0', 'the name of the robot that hangs');
    hung.child.kill('SIGCONT');
    await source.slots(2);
    assert.equal(readFileSync(fileOf(stored), 'utf8'), 'new');
    assert.equal(stored.md5, md5('new'));
  });

  it('answers a person’s robot, and outlives whatever it is sent', async () => {
    const manager = startManager();
    await manager.ready;
    await source.slots(0);
    for (const [typed, heard] of [
      ["<lococa:bot slots='1'/>\r\n<fetched id='5'/>\r\n", 'code="104"'],
      ['<lococa:bot slots="1"', ''],
      ['GET / HTTP/1.0\r\n\r\n', 'code="103"'],
      ['<a><b><c>', 'code="104"'],
      [`<a ${'x'.repeat(300_000)}`, 'code="10'],
      ['\u0000\u0001\u0002', 'code="103"'],
    ] as const) {
      const socket = connect(join(home, 'bm.sock'));
      socket.on('error', () => undefined);
      let text = '';
      socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      socket.end(typed);
      await once(socket, 'close');
      assert.ok(text.includes(heard), `${typed.slice(0, 20)}: ${text}`);
    }
    const typist = connect(join(home, 'bm.sock'));
    typist.write("<lococa:bot slots='1'/>\r\n");
    await source.slots(1);
    const fetching = source.fetch({ lane: '1', url: site.urlOf('/x') });
    const [asked] = (await once(typist, 'data')) as [Buffer];
    assert.match(
      asked.toString(),
      /^<fetch id="1" lane="1" url="[^"]+\/x" file="\/[^"]+\/store\/00\/00\/00000000\.0"\/>\n$/,
    );
    typist.write("\r\n <fetched id='1' status='error' code='404'>gone</fetched>\r\n");
    assert.deepEqual(await fetching, {
      id: 1,
      status: 'error',
      code: 404,
      message: 'gone',
      reach: 'url',
      wireBytes: 0,
      elapsedMs: 0,
    });
    typist.destroy();
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
    assert.match(second.log(), /in use by another lccd-bm; stop that one first/);
    manager.child.kill('SIGTERM');
    await manager.ended;
    const other = startDaemon('lccd-bm', home, [...args, '--machineid=m2']);
    assert.equal(await other.ended, 78);
    assert.match(other.log(), /the store of machine \\"m1\\", not \\"m2\\"/);
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
    await source.delete('m1', result.fileId ?? '');
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

/** Waits until the store holds this many files: the sweep has no event a test could wait for. */
async function untilFiles(count: number): Promise<void> {
  for (;;) {
    const names = readdirSync(join(home, 'store'), { recursive: true }).map(String);
    if (names.filter(name => /^[0-9a-f]{2}\/[0-9a-f]{2}\/[0-9a-f]{8}\./.test(name)).length === count) return;
    await new Promise(resolve => void setTimeout(resolve, 20));
  }
}

describe('lccd-bm looks after what is stored', () => {
  const check = (fileId: string, content: string, len = content.length) =>
    source.upkeep({ kind: 'check', machineId: 'm1', fileId, md5: md5(content), len });
  const statuses = (results: readonly ({ status: string } | undefined)[]) =>
    results.map(each => each?.status);

  it('reads a file again and says whether it is still that content', async () => {
    const manager = startManager();
    startRobot('r', 2);
    await source.slots(2);
    const results = await Promise.all(
      ['/a', '/b', '/c', '/d'].map(path => source.fetch({ lane: path, url: site.urlOf(path) })),
    );
    const [a, b, c, d] = results.map(result => (result?.status === 'ok' ? result : assert.fail()));
    assert.ok(a && b && c && d);
    rmSync(fileOf(b));
    writeFileSync(fileOf(c), contentOf('/C'));
    writeFileSync(fileOf(d), '');
    const id = (result: FetchOk) => result.fileId ?? '';
    assert.deepEqual(
      statuses(
        await Promise.all([
          check(id(a), contentOf('/a')),
          check(id(b), contentOf('/b')),
          check(id(c), contentOf('/c')),
          check(id(d), contentOf('/d')),
          check('../../etc/passwd', 'x'),
          check('00/00', 'x'),
        ]),
      ),
      ['ok', 'bad', 'bad', 'bad', 'bad', 'bad'],
    );
    assert.match(manager.log(), /"ready"/);
  });

  it('syncs its store, and nobody else’s', async () => {
    const steps = join(home, 'steps');
    startManager({ LCC_STEP_LOG: steps });
    startRobot('r', 1);
    await source.slots(1);
    const sync = (machineId: string) => source.upkeep({ kind: 'sync', machineId });
    assert.deepEqual(statuses(await Promise.all([sync('m1'), sync('m2'), sync('m1')])), ['ok', 'away', 'ok']);
    assert.equal(readFileSync(steps, 'utf8').match(/bm\.store\.synced/g)?.length, 2);
  });

  it('tells a sync that fails after others went well from one that cannot be made', async () => {
    const bin = join(home, 'path');
    mkdirSync(bin);
    const script = join(bin, 'sync');
    const fails = '#!/bin/sh\necho "sync: error syncing: Input/output error" >&2\nexit 1\n';
    writeFileSync(script, fails, { mode: 0o755 });
    const manager = startManager({ PATH: `${bin}:${process.env['PATH']}` });
    startRobot('r', 1);
    await source.slots(1);
    const sync = () => source.upkeep({ kind: 'sync', machineId: 'm1' });
    const said = [await sync()];
    writeFileSync(script, '#!/bin/sh\nexit 0\n');
    said.push(await sync());
    writeFileSync(script, fails);
    said.push(await sync());
    assert.deepEqual(statuses(said), ['unable', 'ok', 'bad']);
    assert.match(manager.log(), /the store cannot be synced.*Input\/output error/);
  });
});
