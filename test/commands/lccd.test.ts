import assert from 'node:assert/strict';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { ask } from '../support/cu.js';
import { Daemons, type Daemon } from '../support/daemon.js';
import { until } from '../support/until.js';
import { STEPS } from '../../src/db/sqlite/open.js';
import { openSqlite } from '../../src/lib/sqlite.js';
import { runCommand } from '../support/command.js';
import { longIt } from '../support/long.js';

let home: string;
let daemons: Daemons;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'lcc-lccd-'));
  daemons = new Daemons();
});
afterEach(async () => {
  for (const daemon of daemons.all) await daemon.stop();
  await until('all that ran is gone', () => runningPids().every(pid => !runs(pid)));
  rmSync(home, { recursive: true, force: true });
});

const run = (name: string, ...args: string[]) => runCommand(home, name, args);

/** Starts lccd and waits until it says that it is ready. */
async function lccd(...args: string[]): Promise<Daemon> {
  const started = start('lccd', '--listen=127.0.0.1:0', ...args);
  await started.ready;
  return started;
}

function start(name: string, ...args: string[]): Daemon {
  return daemons.start(name, home, args);
}

interface Shown {
  idle: boolean;
  daemons: Record<string, { pid?: number; idle?: boolean; problem?: string }>;
}

function shown(): Shown {
  return JSON.parse(run('lccstat', '--json').stdout) as Shown;
}

function runningPids(): number[] {
  const { stdout } = run('lccstat', '--json');
  if (stdout === '') return [];
  return Object.values((JSON.parse(stdout) as Shown).daemons).flatMap(daemon => daemon.pid ?? []);
}

function runs(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

describe('lccd', () => {
  it('says that it writes the queue of an earlier release again, once', async () => {
    const db = openSqlite(join(home, 'lcc.db'));
    for (const step of STEPS.slice(0, -1)) db.exec(step);
    db.pragma(`user_version = ${STEPS.length - 1}`);
    db.exec("INSERT INTO meta VALUES ('store_id', 'a')");
    db.close();
    const said = /"event":"the queue of an earlier release is written again: [^"]+","path":"[^"]+lcc\.db"/;
    const first = await lccd();
    assert.match(first.log, said);
    await first.stop();
    assert.doesNotMatch((await lccd()).log, said);
  });

  it('runs a whole LCC, which lccstat shows and finds idle; stops in order and leaves nothing running', async () => {
    const daemon = await lccd('--bots=2');
    assert.equal(run('lccstat', '--until-idle=120').status, 0);
    const { idle, daemons } = shown();
    assert.equal(idle, true);
    assert.deepEqual(Object.keys(daemons), [
      'lccd-uns',
      'lccd-qm',
      'lccd-bm',
      'lccbot-1',
      'lccbot-2',
      'lccd',
    ]);
    const table = run('lccstat').stdout;
    assert.match(table, /^DAEMON +STATE +UP +MEMORY +DOING$/m);
    assert.match(table, /^lccd-qm +idle +\d+ s +\d+ MB +\S/m);
    const pids = runningPids();
    assert.equal(run('lccq', '--count').stdout, '0\n');
    assert.equal(await daemon.stop(), 0);
    assert.deepEqual(pids.filter(runs), []);
    const stops = [...daemon.log.matchAll(/"daemon":"([\w-]+)","event":"stopping"/g)].map(found => found[1]);
    assert.deepEqual(stops.slice(0, 4), ['lccd', 'lccd-uns', 'lccd-qm', 'lccd-bm']);
  });

  longIt('runs a server of content users where one is to listen, and stops it first', async () => {
    const daemon = await lccd('--cu-listen=127.0.0.1:0', `--cu-listen=unix:${home}/cu.sock`);
    assert.equal(run('lccstat', '--until-idle=120').status, 0);
    assert.match(run('lccstat').stdout, /^lccd-cu +idle +\d+ s +\d+ MB +0 connections$/m);
    assert.match(await ask(`${home}/cu.sock`, '<query/>'), /^<lococa:result [^>]+>\n<\/lococa:result>\n$/);
    await daemon.stop();
    const stops = [...daemon.log.matchAll(/"daemon":"([\w-]+)","event":"stopping"/g)].map(found => found[1]);
    assert.deepEqual(stops.slice(0, 3), ['lccd', 'lccd-cu', 'lccd-uns']);
  });

  longIt('stops at once when it is told to while a child does not get ready', async () => {
    // Somebody answers under the child's name: that one may be about to go, so the child is started again and again.
    const other = start('lccd-uns', '--listen=127.0.0.1:0', `--qm=unix:${home}/none.sock`);
    await other.ready;
    const starting = start('lccd', '--listen=127.0.0.1:0');
    await starting.logged('"event":"child died, restarting","child":"lccd-uns"');
    await starting.logged('"daemon":"lccd-qm","event":"ready"');
    const pids = runningPids().filter(pid => pid !== other.child.pid);
    assert.equal(await starting.stop(), 0, starting.log);
    assert.deepEqual(pids.filter(runs), []);
    assert.match(starting.log, /"daemon":"lccd","event":"stopping","reason":"SIGTERM"/);
    assert.doesNotMatch(starting.log, /"daemon":"lccd","event":"ready"|was not ready/);
  });

  it('passes nothing on to its children that its unit means for it alone', async () => {
    const its = { WATCHDOG_PID: '1', MALLOC_TRIM_THRESHOLD_: '131072' };
    const daemon = daemons.start('lccd', home, ['--listen=127.0.0.1:0'], its);
    await daemon.ready;
    const given = (pid: number) =>
      Object.entries(its).filter(([name, value]) =>
        readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').includes(`${name}=${value}`),
      ).length;
    // The robot is a thread of lccd-bm.
    const pids = [...new Set(runningPids())].filter(pid => pid !== daemon.child.pid);
    assert.equal(pids.length, 3);
    assert.deepEqual(pids.map(given), [0, 0, 0]);
    assert.equal(given(daemon.child.pid ?? 0), 2);
  });

  it('starts a daemon again that was killed -9', async () => {
    await lccd();
    const before = shown().daemons['lccd-qm']?.pid ?? 0;
    process.kill(before, 'SIGKILL');
    await until('it is started again', () => shown().daemons['lccd-qm']?.pid !== before && shown().idle);
    assert.equal(run('lccstat', '--until-idle=120').status, 0);
  });

  it('takes its children with it when it is killed -9, and its successor starts', async () => {
    const daemon = await lccd();
    const pids = runningPids();
    await daemon.stop('SIGKILL');
    await lccd();
    assert.equal(run('lccstat', '--until-idle=120').status, 0);
    await until('its children are gone', () => !pids.some(runs));
  });

  it('refuses to run twice for one LCC', async () => {
    await lccd();
    const { status, stderr } = run('lccd', '--listen=127.0.0.1:0');
    assert.equal(status, 69);
    assert.match(stderr, /another lccd runs this LCC/);
  });

  it('ends at once when the port of a child is taken, saying in one line which and who has it', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const { status, stderr } = run('lccd', `--listen=127.0.0.1:${port}`);
    other.close();
    assert.equal(status, 69);
    assert.match(
      stderr,
      new RegExp(
        `^[^\\n]*lccd-uns: 127\\.0\\.0\\.1:${port}: address in use by [^;]+ \\(process ${process.pid}\\); stop that one[^\\n]*\\n$`,
      ),
    );
  });

  it('ends where no home can be made, in one line, and so do the daemons alone', () => {
    for (const command of [['lccd'], ['lccd-uns', '--qm=unix:/tmp/none.sock']]) {
      const [name = '', ...args] = command;
      const { status, stderr } = runCommand('/proc/lcc', name, args);
      assert.equal(status, 73, name);
      assert.match(stderr, /^[^\n]*\/proc\/lcc: no directory can be made here[^\n]*\n$/);
    }
  });

  it('warns in one line of a disk that content may fill so that deletions cannot empty it', async () => {
    const config = join(home, 'lcc.toml');
    writeFileSync(config, '[uns]\nmin_free_disk_bytes = "5000GB"\nmin_free_disk_percent = 20\n');
    const daemon = await lccd();
    // Its children also warn where another takes long to start.
    const warnings = daemon.log.split('\n').filter(line => line.includes('"level":"warn","daemon":"lccd",'));
    assert.equal(warnings.length, 1, daemon.log);
    assert.match(
      warnings[0] ?? '',
      /"daemon":"lccd","event":"a full disk could not be emptied","reason":"bm\.min_free_disk_\w+ = [^(]+ \(default\) must keep more free than uns\.min_free_disk_percent = 20 % \(/,
    );
  });

  it('ends when a child cannot be configured, saying which', () => {
    const { status, stderr } = run('lccd', '--listen=192.0.2.1:9000');
    assert.equal(status, 78);
    assert.match(stderr, /lccd-uns exited with 78/);
  });

  longIt(
    'runs without cache clearing where that cannot be started, says so, and starts it once it is mended',
    async () => {
      const secrets = join(home, 'clear', 'secrets.toml');
      mkdirSync(join(home, 'clear'), { recursive: true });
      writeFileSync(secrets, '');
      chmodSync(secrets, 0o644);
      writeFileSync(join(home, 'lcc.toml'), '[clear]\nenabled = true\n');
      const daemon = await lccd();
      const { stdout } = run('lccstat');
      assert.match(stdout, /^! lccd-hard exited with \d+ and stays down: mend what it says/m);
      for (const name of ['lccd-qm', 'lccd-uns', 'lccbot'])
        assert.match(stdout, new RegExp(`^${name} .*(?:idle|busy)`, 'm'));
      assert.equal(run('lccstat', '--until-idle=20').status, 0);
      chmodSync(secrets, 0o600);
      daemon.child.kill('SIGHUP');
      await until('lccd-hard runs', () => /^lccd-hard .*idle/m.test(run('lccstat').stdout));
    },
  );

  it('prints the effective configuration with the origin of each value, and makes nothing', () => {
    const { status, stdout } = run('lccd', '--print-config', '--slots=7', '--allow-address=127.0.0.0/8');
    assert.equal(status, 0);
    assert.match(stdout, /^slots = 7 {2}# command line$/m);
    assert.match(stdout, /^allow_addresses = \["127\.0\.0\.0\/8"\] {2}# command line$/m);
    assert.match(stdout, /^bots = 1 {2}# default$/m);
    assert.ok(!existsSync(join(home, 'run')));
  });
});
