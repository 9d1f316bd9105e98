/**
 * The daemons of the separated units, as the users and in the folders that the examples make: what lcc-rs, which talks to
 * strangers, reaches of the others.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { Daemons, statusOf, type Daemon } from '../support/daemon.js';
import { readProjectFile, ROOT } from '../support/tree.js';
import { until } from '../support/until.js';

const TOOLS = ['systemd-sysusers', 'systemd-tmpfiles', 'setpriv'];
const missing = TOOLS.find(tool => spawnSync(tool, ['--version']).error !== undefined);
const skip =
  process.env['CI'] !== 'true' &&
  ((process.getuid?.() !== 0 && 'other users need root') ||
    (missing !== undefined && `${missing} is not installed`));

/** As it would be below `/`. */
const root = mkdtempSync(join(tmpdir(), 'lcc-root-'));
const home = join(root, 'var/lib/lcc');
const daemons = new Daemons();
after(async () => {
  await daemons.end();
  rmSync(root, { recursive: true });
});

function install(): void {
  chmodSync(root, 0o755);
  for (const dir of ['etc', 'run', 'var/lib']) mkdirSync(join(root, dir), { recursive: true });
  execFileSync('systemd-sysusers', [`--root=${root}`, join(ROOT, 'examples/systemd/sysusers.conf')], {
    stdio: 'ignore',
  });
  const tmpfiles = ['--create', `--root=${root}`, join(ROOT, 'examples/systemd/tmpfiles.conf')];
  // As at each start of the machine.
  for (let i = 0; i < 2; i++)
    execFileSync('systemd-tmpfiles', tmpfiles, { stdio: ['ignore', 'ignore', 'inherit'] });
  writeFileSync(
    join(root, 'etc/lcc.toml'),
    '[uns]\nlisten = ["127.0.0.1:0", "127.0.0.1:0"]\n[rs]\nlisten = ["127.0.0.1:0"]\nurl = "http://localhost/"\n',
  );
}

/** Of `passwd` or `group`. */
function idOf(file: string, name: string): string {
  const line = readFileSync(join(root, 'etc', file), 'utf8')
    .split('\n')
    .find(each => each.startsWith(`${name}:`));
  const id = line?.split(':')[2];
  assert.ok(id !== undefined, `${name} in ${file}`);
  return id;
}

const valueOf = (unit: string, setting: string) =>
  new RegExp(`^${setting}=(.*)$`, 'm').exec(readProjectFile(`examples/systemd/${unit}.service`))?.[1] ?? '';

/** What runs a command as the unit does. */
function asUnit(unit: string): string[] {
  const groups = valueOf(unit, 'SupplementaryGroups')
    .split(' ')
    .filter(name => name !== '');
  return [
    'setpriv',
    `--reuid=${idOf('passwd', valueOf(unit, 'User'))}`,
    `--regid=${idOf('group', valueOf(unit, 'Group'))}`,
    groups.length === 0 ? '--clear-groups' : `--groups=${groups.map(name => idOf('group', name)).join(',')}`,
  ];
}

const env = () => ({ LCC_HOME: home, LCC_CONFIG: join(root, 'etc/lcc.toml') });

function start(unit: string): Daemon {
  const words = valueOf(unit, 'ExecStart').split(' ');
  const command = words.shift() ?? '';
  const args = words.map(word => word.replace('/var/lib/lcc', home));
  return daemons.start(command.replace(/.*\//, ''), home, args, env(), asUnit(unit));
}

/** Of each socket, whether that unit may connect to it: `open`, or why not. */
function reached(unit: string, paths: readonly string[]): Record<string, string> {
  const script = `
    const told = {};
    for (const path of process.argv.slice(1))
      require('node:net').connect(path, function () { told[path] = 'open'; this.destroy(); })
        .on('error', error => { told[path] = error.code; });
    process.on('exit', () => process.stdout.write(JSON.stringify(told)));`;
  const [file = '', ...words] = [...asUnit(unit), process.execPath, '-e', script, ...paths];
  return JSON.parse(execFileSync(file, words, { encoding: 'utf8' })) as Record<string, string>;
}

describe('the separated units as their users', { skip }, () => {
  it('lcc-rs works, and opens no control socket and no queue, reads no database, spool or store', async () => {
    install();
    await start('lcc-qm').ready;
    await start('lcc-uns').ready;
    // The link to its control socket is there, it does not run.
    const [stat, ...words] = [...asUnit('lcc-qm'), join(ROOT, 'bin/lccstat'), '--json'];
    const shown = spawnSync(stat, words, { env: { ...process.env, ...env() }, encoding: 'utf8' }).stdout;
    assert.match(shown, /"lccd-uns"/);
    assert.doesNotMatch(shown, /lccd-rs/);
    const rs = start('lcc-rs');
    await rs.ready;
    await until(
      'all that it needs is reached',
      async () => (await fetch(`http://127.0.0.1:${rs.port}/healthz`)).status === 200,
    );
    assert.equal((await statusOf(home, 'lccd-rs'))['qm_connected'], true);

    const run = join(home, 'run');
    const sockets = readdirSync(run)
      .filter(name => name.endsWith('.sock'))
      .toSorted();
    assert.deepEqual(sockets, [
      'lccd-qm.ctl.sock',
      'lccd-rs.ctl.sock',
      'lccd-uns.ctl.sock',
      'qm-bm.sock',
      'qm-rs.sock',
      'qm-uns.sock',
      'spider.sock',
      'uns-door.sock',
    ]);
    const found = reached(
      'lcc-rs',
      sockets.map(name => join(run, name)),
    );
    const open = sockets.filter(name => found[join(run, name)] === 'open');
    // Its own control socket is for the group lcc, and for itself.
    assert.deepEqual(open, ['lccd-rs.ctl.sock', 'qm-rs.sock', 'uns-door.sock']);
    for (const name of sockets)
      if (!open.includes(name)) assert.equal(found[join(run, name)], 'EACCES', name);
    // The others look at it as before, and their group at its operators' pages.
    for (const path of [join(run, 'lccd-rs.ctl.sock'), join(home, 'rs/operators.sock')])
      assert.equal(reached('lcc-qm', [path])[path], 'open', path);
    assert.equal(reached('lcc-bot', [join(run, 'qm-rs.sock')])[join(run, 'qm-rs.sock')], 'EACCES');

    const may = (test: string, path: string) => {
      const [file, ...words] = [...asUnit('lcc-rs'), 'test', test, join(home, path)];
      return spawnSync(file, words).status === 0;
    };
    for (const path of ['lcc.db', 'spool', 'spool/uns', 'store', 'run']) {
      assert.ok(!may('-r', path), `reads ${path}`);
      assert.ok(!may('-w', path), `writes ${path}`);
    }
    // Logins are remembered as long as it says nothing: its size is enough.
    assert.ok(may('-e', 'run/logins.changes'));
  });

  it('lcc-uns listens where the settings say, and takes crawls from lcc-links', () => {
    const [uns] = daemons.all.filter(({ name }) => name === 'lccd-uns');
    assert.equal(uns?.log.split('"endpoint":"127.0.0.1:').length, 3);
    const asks = (unit: string, command: string, args: readonly string[], input = '') => {
      const [file = '', ...words] = [...asUnit(unit), join(ROOT, 'bin', command), ...args];
      const { status, stderr } = spawnSync(file, words, {
        env: { ...process.env, ...env() },
        input,
        encoding: 'utf8',
      });
      assert.equal(status, 0, stderr);
    };
    asks('lcc-qm', 'lccpidb', ['add', '--pid=1', '--spider=yes', '--root=http://h/']);
    asks('lcc-links', 'lcclinks', ['--seeds', '--deliver'], 'http://h/\n');
    asks('lcc-links', 'lccscan', ['--deliver']);
  });
});
