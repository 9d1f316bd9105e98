/** The Debian package of a whole LCC: what is in it, and its life on a machine without Node. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { parse } from 'smol-toml';
import { loadConfig } from '../../src/config/load.js';
import { SETTINGS } from '../../src/config/settings/index.js';
import { isLong, longIt } from '../support/long.js';
import { commandNames, projectFiles, readProjectFile, ROOT } from '../support/tree.js';
import { until } from '../support/until.js';
import { SQLITE } from '../support/new-database.js';
import { Machine, noMachine } from './machine.js';
import { lintianErrors, noPacking, Packed } from './support.js';

describe('the Debian package of an LCC', { skip: noPacking() }, () => {
  const packed = new Packed();
  let deb = '';
  /** Lines of the listing, by the path without its dot. */
  const listing = new Map<string, string>();

  before(() => {
    packed.make(isLong ? ['site', 'lcc'] : ['lcc']);
    deb = packed.file(/^lcc_.*\.deb$/);
    for (const line of packed.listing(deb))
      listing.set(line.split(/\s+/)[5]?.replace(/^\.|\/$/g, '') ?? '', line);
  });
  after(() => packed.remove());

  /** A file of it as text. */
  const read = (path: string) =>
    spawnSync('sh', ['-c', `dpkg-deb --fsys-tarfile "$1" | tar -xO ".$2"`, 'sh', deb, path], {
      encoding: 'utf8',
    }).stdout;
  const field = (name: string) =>
    spawnSync('dpkg-deb', ['-f', deb, name], { encoding: 'utf8' }).stdout.trim();

  it('has every command with manual and completions, units, users, folders, settings, examples and licences', () => {
    const pages = projectFiles('man').map(path => basename(path));
    for (const path of [
      ...commandNames().flatMap(name => [
        `/usr/bin/${name}`,
        `/usr/lib/lcc/bin/${name}`,
        `/usr/share/bash-completion/completions/${name}`,
        `/usr/share/fish/vendor_completions.d/${name}.fish`,
      ]),
      ...pages.filter(page => page !== 'lcc-cp.1').map(page => `/usr/share/man/man${page.at(-1)}/${page}.gz`),
      ...projectFiles('examples/systemd')
        .filter(name => /\.(service|target)$/.test(name))
        .map(name => `/lib/systemd/system/${basename(name)}`),
      '/usr/share/zsh/vendor-completions/_lcc',
      '/usr/lib/sysusers.d/lcc.conf',
      '/usr/lib/tmpfiles.d/lcc.conf',
      '/usr/lib/lcc/lcc-node',
      '/etc/lcc/lcc.toml',
      '/usr/share/doc/lcc/examples/cron',
      '/usr/share/doc/lcc/examples/systemd/tmpfiles.conf',
      '/usr/share/doc/lcc/guide/install.md',
      '/usr/share/doc/lcc/copyright',
      '/usr/share/doc/lcc/THIRD-PARTY.txt.gz',
      '/usr/lib/lcc/dist/bin/lcc-cp.tgz',
    ])
      assert.ok(listing.has(path), path);
    const notices = spawnSync(
      'sh',
      [
        '-c',
        `dpkg-deb --fsys-tarfile "$1" | tar -xO ./usr/share/doc/lcc/THIRD-PARTY.txt.gz | gzip -dc`,
        'sh',
        deb,
      ],
      { encoding: 'utf8' },
    ).stdout;
    for (const name of ['better-sqlite3', 'mariadb', 'prom-client', 'commander', 'undici'])
      assert.match(notices, new RegExp(`^${name}(-13)? \\d+\\.\\S+ \\(`, 'm'), name);
    assert.match(
      field('Depends'),
      /^libc6 \(>= [\d.]+\), libgcc-s1 \(>= [\d.]+\), libstdc\+\+6 \(>= [\d.]+\), systemd$/,
    );
    assert.equal(spawnSync('dpkg-deb', ['-f', deb, 'Conflicts'], { encoding: 'utf8' }).stdout, 'lcc-cp\n');
  });

  it('has what is loaded by name, with all that it needs', () => {
    const dir = mkdtempSync(join(tmpdir(), 'lcc-look-'));
    try {
      assert.equal(spawnSync('dpkg-deb', ['-x', deb, dir]).status, 0);
      const load = `require('mariadb').createConnection; require('prom-client').Registry;
        new (require('${SQLITE}'))(':memory:').exec('CREATE TABLE t(a)')`;
      const cwd = join(dir, 'usr/lib/lcc/dist/bin');
      const loaded = spawnSync(join(dir, 'usr/lib/lcc/lcc-node'), ['-e', load], { cwd, encoding: 'utf8' });
      assert.equal(loaded.status, 0, loaded.stderr);
    } finally {
      rmSync(dir, { recursive: true });
    }
  });

  it('belongs to root, can be changed by nobody else, and has no path of the machine that made it', () => {
    for (const line of listing.values()) assert.match(line, /^(l|.{5}-..-.) *.*root\/root /, line);
    // The last is where the build has its usual work.
    const needles = [ROOT, packed.dir, join(tmpdir(), 'lcc-build-')];
    const dir = mkdtempSync(join(tmpdir(), 'lcc-look-'));
    try {
      assert.equal(spawnSync('dpkg-deb', ['-R', deb, dir]).status, 0);
      for (const entry of readdirSync(dir, { recursive: true, withFileTypes: true })) {
        if (!entry.isFile()) continue;
        const content = readFileSync(join(entry.parentPath, entry.name));
        for (const needle of needles) assert.equal(content.indexOf(needle), -1, `${entry.name}: ${needle}`);
      }
    } finally {
      rmSync(dir, { recursive: true });
    }
  });

  it('has every setting behind a #, with its default, under its section', () => {
    const text = read('/etc/lcc/lcc.toml');
    const dir = mkdtempSync(join(tmpdir(), 'lcc-toml-'));
    try {
      const file = join(dir, 'lcc.toml');
      writeFileSync(file, text);
      const untouched = loadConfig({ env: { LCC_HOME: dir }, file });
      for (const key of Object.keys(SETTINGS) as (keyof typeof SETTINGS)[])
        assert.equal(untouched.originOf(key), 'default', key);
      const uncommented = text.replace(/^# (?=\w+ = )/gm, '');
      assert.deepEqual(
        Object.entries(parse(uncommented))
          .flatMap(([section, keys]) => Object.keys(keys as object).map(key => `${section}.${key}`))
          .sort(),
        Object.keys(SETTINGS).sort(),
      );
      writeFileSync(file, uncommented);
      const all = loadConfig({ env: { LCC_HOME: dir }, file });
      for (const key of Object.keys(SETTINGS) as (keyof typeof SETTINGS)[])
        assert.deepEqual(all.get(key), SETTINGS[key].default, key);
    } finally {
      rmSync(dir, { recursive: true });
    }
  });

  it('has units that systemd understands, of commands that are there', () => {
    if (spawnSync('systemd-analyze', ['--version']).error !== undefined && process.env['CI'] !== 'true')
      return;
    const dir = mkdtempSync(join(tmpdir(), 'lcc-units-'));
    try {
      assert.equal(
        spawnSync('sh', [
          '-c',
          `dpkg-deb --fsys-tarfile "$1" | tar -x -C "$2" ./lib ./usr/bin`,
          'sh',
          deb,
          dir,
        ]).status,
        0,
      );
      const units = readdirSync(join(dir, 'lib/systemd/system'));
      assert.ok(units.includes('lccd.service'));
      const paths = units.map(unit => join(dir, 'lib/systemd/system', unit));
      const { stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', ...paths], { encoding: 'utf8' });
      assert.deepEqual(
        stderr.split('\n').filter(line => line !== '' && !line.includes('is not executable')),
        [],
      );
      for (const path of paths)
        for (const [, command = ''] of readFileSync(path, 'utf8').matchAll(/^Exec\w+=(\S+)/gm))
          assert.ok(listing.has(command) || command === '/bin/kill', command);
    } finally {
      rmSync(dir, { recursive: true });
    }
  });

  it('is of the LCC of the machine for those who may read it and have none of their own', () => {
    const system = readProjectFile('scripts/pack/debian/system.cjs');
    const dir = mkdtempSync(join(tmpdir(), 'lcc-system-'));
    try {
      const script = join(dir, 'system.cjs');
      const there = join(dir, 'there');
      mkdirSync(there);
      mkdirSync(join(dir, 'own/.local/share/lcc'), { recursive: true });
      const meant = (home: string, env: NodeJS.ProcessEnv) => {
        writeFileSync(
          script,
          `${system.replaceAll('/var/lib/lcc', home)}\nconsole.log(env.LCC_HOME, env.LCC_CONFIG);`,
        );
        return spawnSync(process.execPath, [script], { env, encoding: 'utf8' }).stdout.trim();
      };
      assert.equal(meant(there, { HOME: dir }), `${there} /etc/lcc/lcc.toml`);
      assert.equal(meant(there, { HOME: dir, LCC_CONFIG: '/x' }), `${there} /x`);
      assert.equal(meant(there, { HOME: dir, LCC_HOME: '/y' }), '/y undefined');
      assert.equal(meant(there, { HOME: join(dir, 'own') }), 'undefined undefined');
      assert.equal(meant(there, { XDG_DATA_HOME: join(dir, 'own/.local/share') }), 'undefined undefined');
      assert.equal(meant(join(dir, 'missing'), { HOME: dir }), 'undefined undefined');
    } finally {
      rmSync(dir, { recursive: true });
    }
  });

  longIt('has no error that lintian finds, nor has that of a site', async () => {
    assert.deepEqual(lintianErrors(deb), []);
    assert.deepEqual(lintianErrors(packed.file(/^lcc-cp_.*\.deb$/)), []);
  });

  longIt('is the same, byte by byte, when it is made again, and so is what sites get', async () => {
    const again = new Packed();
    try {
      again.make(['site', 'lcc'], { TZ: 'Asia/Tokyo', LANG: 'C' });
      for (const pattern of [/^lcc_.*\.deb$/, /^lcc-cp_.*\.deb$/, /\.tar\.gz$/]) {
        const sum = (file: string) => createHash('sha256').update(readFileSync(file)).digest('hex');
        assert.equal(sum(again.file(pattern)), sum(packed.file(pattern)), String(pattern));
      }
    } finally {
      again.remove();
    }
  });

  describe('on a machine without Node', { skip: !isLong ? 'long' : noMachine() }, () => {
    let machine: Machine;
    before(async () => {
      machine = await Machine.start(packed.dir);
      machine.bringUnits();
    });
    after(() => machine?.remove());

    const urls = () =>
      machine
        .does('lccq --format=urls')
        .split('\n')
        .filter(line => line !== '')
        .sort();
    /** Users of processes of the package, by their programs: Node 24 calls all of its own `MainThread`. */
    const users = () =>
      machine
        .does(`ps -ww -eo user=,args= | awk '$2 ~ "/lcc-node$" { print $1 }' | sort -u`)
        .split('\n')
        .filter(line => line !== '');
    /** The site's part, with the commands of the package; 1 to N are its pages. */
    const DELIVER =
      "cd /srv/site && file2url --find . -name '*.html' | lcccpstate -q --statefile=/var/tmp/state | lcccp -q --uns=localhost:9000 --pid=7 --pwdfile=/var/tmp/site.pwd --urlprefix=http://127.0.0.1:8080/";

    it('is installed without network, and starts as a user of its own on the loopback', async () => {
      machine.does(`apt-get install -y /packages/${basename(deb)}`);
      machine.does('systemctl start lccd');
      assert.deepEqual(users(), ['lcc']);
      assert.match(machine.does('stat -c "%U %G %a" /var/lib/lcc'), /^lcc lcc 750\n$/);
      assert.match(machine.does("ss -ltnH | awk '{print $4}'"), /^127\.0\.0\.1:9000\n$/);
      machine.does('lccstat');
    });

    it('fetches the first page of a site by the lines of the guide', async () => {
      machine.does(`sed -i 's/^# allow_addresses = .*/allow_addresses = ["127.0.0.1"]/' /etc/lcc/lcc.toml`);
      machine.does('systemctl stop lccd && systemctl start lccd');
      machine.does('mkdir -p /srv/site && cd /srv/site && for i in 1 2 3; do echo "<p>$i" >$i.html; done');
      machine.does('cd /srv/site && (setsid python3 -m http.server 8080 >/dev/null 2>&1 &)');
      machine.does(
        'cd /var/tmp && (umask 077; lccpidb add --pid=7 --root=http://127.0.0.1:8080/ > site.pwd)',
      );
      machine.does(DELIVER);
      machine.does('lccstat --until-idle=60');
      assert.equal(urls().length, 3);
      assert.equal(machine.does('find /var/lib/lcc ! -user lcc'), '');
    });

    it('is upgraded under load: all is stopped, replaced and started, and nothing is lost', async () => {
      const newer = mkdtempSync(join(packed.dir, 'newer-'));
      assert.equal(spawnSync('dpkg-deb', ['-R', deb, join(newer, 'tree')]).status, 0);
      const control = join(newer, 'tree/DEBIAN/control');
      writeFileSync(control, readFileSync(control, 'utf8').replace(/^Version: .*$/m, '$&+1'));
      assert.equal(
        spawnSync('dpkg-deb', ['-Zgzip', '-z1', '-b', join(newer, 'tree'), join(newer, 'lcc.deb')]).status,
        0,
      );
      machine.write(
        '/var/tmp/load.sh',
        `i=10; while ! test -e /var/tmp/enough; do echo "<p>$i" >/srv/site/$i.html; ${DELIVER}; i=$((i + 1)); done; touch /var/tmp/ended\n`,
      );
      machine.does('(setsid sh /var/tmp/load.sh >/var/tmp/load.log 2>&1 &)');
      await until('pages come in', () => urls().length > 5);
      machine.does(`apt-get install -y /packages/${basename(newer)}/lcc.deb`);
      const before = urls().length;
      await until('pages come in again', () => urls().length > before + 2);
      machine.does('touch /var/tmp/enough');
      await until('the load has ended', () => machine.sh('test -e /var/tmp/ended').status === 0);
      machine.does(`${DELIVER}; lccstat --until-idle=60`);
      const files = machine.does('ls /srv/site | grep -c html');
      assert.equal(urls().length, Number(files));
      assert.equal(machine.does('tail -n 2 /run/units.log'), 'stop lccd\nstart lccd\n');
      assert.match(machine.does("dpkg-query -W -f '${Version}' lcc"), /\+1$/);
      machine.does('lccfsck');
      assert.match(machine.does('cat /etc/lcc/lcc.toml'), /^allow_addresses = /m, 'settings stay');
    });

    it('has the units of a user for each daemon, which are stopped and started in the order of their needs', async () => {
      machine.does('systemctl stop lccd && rm -rf /var/lib/lcc');
      machine.does(
        'cp /usr/share/doc/lcc/examples/systemd/tmpfiles.conf /etc/tmpfiles.d/lcc.conf && systemd-tmpfiles --create lcc.conf',
      );
      machine.does('systemctl start lcc-qm lcc-uns lcc-bm lcc-bot');
      machine.does(`apt-get install -y --reinstall --allow-downgrades /packages/${basename(deb)}`);
      const log = machine.does('tail -n 8 /run/units.log');
      assert.match(log, /^(stop lcc-\w+\n){4}start lcc-qm\nstart lcc-uns\nstart lcc-bm\nstart lcc-bot\n$/);
      machine.does(
        'systemctl stop lcc-bot lcc-bm lcc-uns lcc-qm && rm -rf /var/lib/lcc /etc/tmpfiles.d/lcc.conf && systemd-tmpfiles --create lcc.conf',
      );
      machine.does('systemctl start lccd');
    });

    it('keeps what it holds when it is removed, goes on with it when it is back, and takes it away when it is purged', async () => {
      machine.does(
        'rm -f /var/tmp/state && cd /var/tmp && (umask 077; lccpidb add --pid=7 --root=http://127.0.0.1:8080/ > site.pwd)',
      );
      machine.does(`${DELIVER}; lccstat --until-idle=60`);
      const held = urls();
      assert.ok(held.length > 3);
      machine.does('apt-get remove -y lcc');
      assert.deepEqual(users(), []);
      assert.equal(machine.sh('command -v lccq').status, 1);
      machine.does('test -e /var/lib/lcc/lcc.db && test -e /etc/lcc/lcc.toml');
      machine.does(`apt-get install -y /packages/${basename(deb)} && systemctl start lccd`);
      assert.deepEqual(urls(), held);
      const purge = machine.sh('apt-get purge -y lcc </dev/null');
      assert.equal(purge.status, 0, purge.stderr);
      assert.equal(machine.sh('ls -d /var/lib/lcc /etc/lcc /usr/lib/lcc').stdout, '');
    });

    it('makes way for the commands of a site, and the other way round', () => {
      const site = basename(packed.file(/^lcc-cp_.*\.deb$/));
      machine.does(`apt-get install -y /packages/${site}`);
      assert.match(machine.does('lcccp --version'), /^lcccp \(LCC\)/);
      machine.does('man -w lcccp || true; test -e /usr/share/man/man1/lcccp.1.gz');
      machine.does(`apt-get install -y /packages/${basename(deb)}`);
      assert.equal(machine.sh('command -v lcc-cp').status, 1);
      machine.does('lcccp --version && lccq --version');
      machine.does('apt-get purge -y lcc');
    });
  });
});
