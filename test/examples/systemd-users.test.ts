/**
 * The daemons of the separated units, as the users and in the folders that the examples make: what lcc-rs, which talks to
 * strangers, reaches of the others, and what those who read the cache do.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
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

/** Ids of this run alone, below 2^16 as in a container: another run of the test has daemons and files of its own users. */
function withIds(sysusers: string): string {
  let id = 20_000 + (process.pid % 1200) * 32;
  return sysusers.replace(/^([gu] +\S+ +)-/gm, (_, head: string) => `${head}${id++}`);
}

function install(): void {
  chmodSync(root, 0o755);
  for (const dir of ['etc', 'run', 'var/lib']) mkdirSync(join(root, dir), { recursive: true });
  const users = join(root, 'etc/lcc-users.conf');
  writeFileSync(users, withIds(readProjectFile('examples/systemd/sysusers.conf')));
  execFileSync('systemd-sysusers', [`--root=${root}`, users], { stdio: 'ignore' });
  const tmpfiles = ['--create', `--root=${root}`, join(ROOT, 'examples/systemd/tmpfiles.conf')];
  // As at each start of the machine.
  for (let i = 0; i < 2; i++)
    execFileSync('systemd-tmpfiles', tmpfiles, { stdio: ['ignore', 'ignore', 'inherit'] });
  writeFileSync(
    join(root, 'etc/lcc.toml'),
    '[uns]\nlisten = ["127.0.0.1:0", "127.0.0.1:0"]\n[rs]\nlisten = ["127.0.0.1:0"]\nurl = "http://localhost/"\n[bm]\nmachine_id = "m"\n[bot]\nallow_addresses = ["127.0.0.1"]\n',
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

/** What runs a command as a user with a group and others, those that the user is a member of included. */
function as(user: string, group: string, others: readonly string[]): string[] {
  const members = readFileSync(join(root, 'etc/group'), 'utf8')
    .split('\n')
    .map(line => line.split(':'))
    .filter(([, , , names = '']) => names.split(',').includes(user))
    .map(([name = '']) => name);
  const groups = [...others, ...members].map(name => idOf('group', name));
  return [
    'setpriv',
    `--reuid=${idOf('passwd', user)}`,
    `--regid=${idOf('group', group)}`,
    groups.length === 0 ? '--clear-groups' : `--groups=${groups.join(',')}`,
  ];
}

const withUmask = (umask: string) => ['sh', '-c', `umask ${umask}; exec "$@"`, 'sh'];

/** As the unit does. */
const asUnit = (unit: string) => [
  ...as(
    valueOf(unit, 'User'),
    valueOf(unit, 'Group'),
    valueOf(unit, 'SupplementaryGroups')
      .split(' ')
      .filter(name => name !== ''),
  ),
  ...withUmask(valueOf(unit, 'UMask')),
];

const NOBODY = ['setpriv', '--reuid=65534', '--regid=65534'];
/** Who is in no unit: an account of the machine, in the groups that the README has it added to. */
const account = (...groups: string[]) =>
  groups.length === 0
    ? [...NOBODY, '--clear-groups']
    : [...NOBODY, `--groups=${groups.map(name => idOf('group', name)).join(',')}`];

const env = () => ({ LCC_HOME: home, LCC_CONFIG: join(root, 'etc/lcc.toml') });

function start(unit: string): Daemon {
  const words = valueOf(unit, 'ExecStart').split(' ');
  const command = words.shift() ?? '';
  const args = words.map(word => word.replace(/\/(var\/lib\/lcc|run\/lcc-bm)/, `${root}$&`));
  return daemons.start(command.replace(/.*\//, ''), home, args, env(), asUnit(unit));
}

const TRY = `
  const { accessSync, constants, writeFileSync, rmSync } = require('node:fs');
  const { join } = require('node:path');
  const may = action => { try { action(); return true; } catch { return false; } };
  const told = {};
  for (const [name, kind, path] of JSON.parse(process.argv[1])) {
    if (kind === 'socket')
      require('node:net').connect(path, function () { told[name] = 'o'; this.destroy(); }).on('error', () => (told[name] = '-'));
    else {
      // A folder: what can be put into it, or taken out.
      const write = kind === 'file' ? () => accessSync(path, constants.W_OK)
        : () => { const it = join(path, 'try' + process.pid); writeFileSync(it, ''); rmSync(it); };
      told[name] = (may(() => accessSync(path, constants.R_OK)) ? 'r' : '') + (may(write) ? 'w' : '') || '-';
    }
  }
  process.on('exit', () => process.stdout.write(JSON.stringify(told)));`;

/** Each thing of the table of lcc(7), and where it is. A page of the store is looked at, and its folder written to. */
const THINGS: readonly [name: string, kind: 'file' | 'folder' | 'socket', path: string][] = [
  ['lcc.db', 'file', 'lcc.db'],
  ['logins', 'file', 'logins'],
  ['spool/uns', 'folder', 'spool/uns'],
  ['store', 'folder', 'store/00/00'],
  ['rs/rs.db', 'file', 'rs/rs.db'],
  ['run', 'folder', 'run'],
  ['qm-uns.sock', 'socket', 'run/qm-uns.sock'],
  ['qm-bm.sock', 'socket', 'run/qm-bm.sock'],
  ['qm-rs.sock', 'socket', 'run/qm-rs.sock'],
  ['uns-door.sock', 'socket', 'run/uns-door.sock'],
  ['uns-push.sock', 'socket', 'run/uns-push.sock'],
  ['spider.sock', 'socket', 'run/spider.sock'],
  ['bm.sock', 'socket', '../../../run/lcc-bm/bm.sock'],
  ['lccd-qm.ctl.sock', 'socket', 'run/lccd-qm.ctl.sock'],
  ['lccd-uns.ctl.sock', 'socket', 'run/lccd-uns.ctl.sock'],
  ['lccd-bm.ctl.sock', 'socket', 'run/lccd-bm.ctl.sock'],
  ['lccbot.ctl.sock', 'socket', 'run/lccbot.ctl.sock'],
  ['lccd-rs.ctl.sock', 'socket', 'run/lccd-rs.ctl.sock'],
  ['operators.sock', 'socket', 'rs/operators.sock'],
];

/** What somebody may do to each of them. */
function reached(via: readonly string[]): Record<string, string> {
  const things = THINGS.map(([name, kind, path]) => [name, kind, join(home, path)]);
  const [file, ...words] = [...via, process.execPath, '-e', TRY, JSON.stringify(things)];
  return JSON.parse(execFileSync(file, words, { encoding: 'utf8' })) as Record<string, string>;
}

/** The table of lcc(7): of each who, of each thing. */
function promised(): Map<string, Map<string, string>> {
  const [, table = ''] =
    /^\.Ss Who can do what to whom$([\s\S]*?)^\.El$/m.exec(readProjectFile('man/lcc.7')) ?? [];
  const rows = [...table.matchAll(/^\.It (?:Sy|Pa|Li) (.*)$/gm)].map(([, row = '']) =>
    row.split(/ Ta (?:Sy )?/).map(cell => cell.trim().replaceAll('\\-', '-')),
  );
  const [[, ...who] = [], ...things] = rows;
  return new Map(
    who.map((name, i) => [name, new Map(things.map(([thing = '', ...cells]) => [thing, cells[i] ?? '']))]),
  );
}

/** Runs a command as somebody. */
function asks(via: readonly string[], command: string, args: readonly string[], input = '') {
  const [file = '', ...words] = [...via, join(ROOT, 'bin', command), ...args];
  return spawnSync(file, words, { env: { ...process.env, ...env() }, input, encoding: 'utf8' });
}

describe('the separated units as their users', { skip }, () => {
  const site = createServer(
    (_, response) => void response.setHeader('Content-Type', 'text/html').end('<p>held'),
  );
  before(async () => {
    await new Promise<void>(resolve => void site.listen(0, '127.0.0.1', resolve));
    install();
    for (const unit of ['lcc-qm', 'lcc-uns', 'lcc-bm', 'lcc-bot', 'lcc-rs']) await start(unit).ready;
  });
  after(() => void site.close());

  it('fetch what a crawl begins with, and readers read it', async () => {
    const root = `http://127.0.0.1:${(site.address() as AddressInfo).port}/`;
    const login = ['add', '--pid=1', '--spider=yes', `--root=${root}`, '--loginfile=-'];
    for (const [via, command, args, input] of [
      [asUnit('lcc-qm'), 'lccpidb', login, 'robot:secret\n'],
      [asUnit('lcc-links'), 'lcclinks', ['--seeds', '--deliver'], `${root}\n`],
      [asUnit('lcc-links'), 'lccscan', ['--deliver'], ''],
    ] as const) {
      const { status, stderr } = asks(via, command, args, input);
      assert.equal(status, 0, `${command}: ${stderr}`);
    }
    const reader = account('lcc-read', 'lcc-store');
    const read = () => asks(reader, 'lccq', ['--format=jsonl', '--content']);
    await until('the page is read', () => Promise.resolve(read().stdout.includes(root)));
    assert.match(read().stdout, /<p>held/);
    assert.match(asks(reader, 'lccpidb', ['show', '--pid=1']).stdout, /^login: +set; the file logins/m);
    for (const via of [asUnit('lcc-qm'), account('lcc-ops')]) {
      const { stdout } = asks(via, 'lccstat', ['--json']);
      const { daemons: rows } = JSON.parse(stdout) as { daemons: Record<string, Record<string, unknown>> };
      assert.deepEqual(
        Object.keys(rows)
          .toSorted()
          .map(name => [name, rows[name]?.['problem'], rows[name]?.['daemon']]),
        ['lccbot', 'lccd-bm', 'lccd-qm', 'lccd-rs', 'lccd-uns'].map(name => [name, undefined, name]),
      );
      assert.match(asks(via, 'lccstat', []).stdout, /^lccbot +idle/m);
    }
    assert.equal((await statusOf(home, 'lccd-rs'))['qm_connected'], true);
  });

  it('leave open to each what the table of lcc(7) says, and nothing else', () => {
    const table = promised();
    const unit = (name: string): [string, string[]] => [name, asUnit(`lcc-${name}`)];
    const who: [string, string[]][] = [
      ['others', account()],
      ['reader', account('lcc-read', 'lcc-store')],
      ['operator', account('lcc-ops')],
      ...['uns', 'links', 'qm', 'rs', 'bm', 'bot'].map(unit),
    ];
    assert.deepEqual(
      [...table.keys()],
      who.map(([name]) => name),
    );
    for (const [name, via] of who)
      assert.deepEqual(reached(via), Object.fromEntries(table.get(name) ?? []), name);
    assert.equal(table.get('reader')?.size, THINGS.length);
    for (const [thing, kind] of THINGS)
      if (kind === 'socket') assert.equal(table.get('reader')?.get(thing), '-');
  });

  it('keep memory, which has passwords at times, out of cores', () => {
    for (const { name, child } of daemons.all)
      assert.match(readFileSync(`/proc/${child.pid}/coredump_filter`, 'latin1'), /^0+$/m, name);
  });

  it('lcc-uns listens where the settings say', () => {
    const [uns] = daemons.all.filter(({ name }) => name === 'lccd-uns');
    assert.equal(uns?.log.split('"endpoint":"127.0.0.1:').length, 3);
  });

  it('are installed by the lines of the README on a machine that has none of the folders', () => {
    const blocks = readProjectFile('examples/systemd/README.md').match(/(?:^ {4}.*\n)+/gm) ?? [];
    for (const [i, made] of [
      [0, ['sysusers.d/lcc.conf', 'systemd/system/lccd.service']],
      [1, ['tmpfiles.d/lcc.conf', 'systemd/system/lcc-uns.service', 'systemd/system/lcc.target']],
    ] as const) {
      const empty = join(root, `empty${i}`);
      mkdirSync(join(empty, 'etc'), { recursive: true });
      const lines = (blocks[i] ?? '')
        .replaceAll('/etc/', `${empty}/etc/`)
        .replace(/systemd-(sysusers|tmpfiles)/g, `systemd-$1 --root=${empty}`)
        .replace(/^.*systemctl.*$/m, '');
      for (let twice = 0; twice < 2; twice++)
        execFileSync('sh', ['-ec', lines], { cwd: join(ROOT, 'examples/systemd'), stdio: 'ignore' });
      for (const path of [...made, 'lcc/lcc.toml']) assert.ok(existsSync(join(empty, 'etc', path)), path);
    }
  });

  it('and where all is one user, who is in its group reads lcc.db, and opens no socket', async () => {
    const one = join(root, 'var/lib/one');
    mkdirSync(one);
    chmodSync(one, 0o750);
    chownSync(one, Number(idOf('passwd', 'lcc')), Number(idOf('group', 'lcc')));
    await daemons.start(
      'lccd',
      one,
      ['--bots=1', '--listen=127.0.0.1:0'],
      { ...env(), LCC_HOME: one },
      asUnit('lccd'),
    ).ready;
    const member = account('lcc');
    const { status, stderr } = spawnSync(
      member[0] ?? '',
      [...member.slice(1), join(ROOT, 'bin/lccq'), '--count'],
      { env: { ...process.env, ...env(), LCC_HOME: one }, encoding: 'utf8' },
    );
    assert.equal(status, 0, stderr);
    const [file, ...words] = [...member, 'ls', join(one, 'run')];
    assert.notEqual(spawnSync(file, words).status, 0);
  });
});
