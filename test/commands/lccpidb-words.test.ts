import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { openDatabase } from '../../src/db/sqlite/open.js';
import { lccpidb, newHome } from '../support/lccpidb.js';
import { ROOT } from '../support/tree.js';

describe('lccpidb and what it prints', () => {
  it('names what makes another password when one could not be written', () => {
    const home = newHome();
    for (const words of ['add --root=http://h/', 'passwd']) {
      const command = `"${join(ROOT, 'bin/lccpidb')}" ${words} --pid=1 >/dev/full`;
      const env = { ...process.env, LCC_HOME: home, LCC_CONFIG: '' };
      const { status, stderr } = spawnSync('bash', ['-c', command], { env, encoding: 'utf8' });
      assert.equal(status, 74);
      assert.match(
        stderr,
        /password could not be written .* is lost; lccpidb passwd --pid=1 makes another one$/m,
      );
    }
    assert.equal(lccpidb(home, 'passwd', '--pid=1').status, 0);
  });

  it('takes sizes as lcc.toml does', () => {
    const home = newHome();
    const add = (size: string) => lccpidb(home, 'add', '--pid=1', '--root=http://h/', `--spacemax=${size}`);
    for (const bad of ['1.0001KB', '5 constructor', '-1', '9999999GB'])
      assert.equal(add(bad).status, 64, bad);
    assert.equal(add('1.5 GB').status, 0);
    assert.match(lccpidb(home, 'show', '--pid=1').stdout, /^space: +0 of 1610612736 bytes$/m);
  });

  it('takes a pace with its unit, shows it, and says what it makes of --parallel', () => {
    const home = newHome();
    lccpidb(home, 'add', '--pid=1', '--root=http://h/', '--pace=500ms');
    const pace = () => [
      (JSON.parse(lccpidb(home, 'show', '--pid=1', '--json').stdout) as { pacems: number | null }).pacems,
      /^pace: +(.*)$/m.exec(lccpidb(home, 'show', '--pid=1').stdout)?.[1],
    ];
    assert.deepEqual(pace(), [500, '500 ms between two fetches']);
    lccpidb(home, 'set', '--pid=1', '--pace=1.5s');
    assert.deepEqual(pace(), [1500, '1500 ms between two fetches']);
    lccpidb(home, 'set', '--pid=1', '--pace=0');
    assert.deepEqual(pace(), [0, 'none']);
    lccpidb(home, 'set', '--pid=1', '--pace=default');
    assert.deepEqual(pace(), [null, 'as configured']);
    for (const wrong of ['--pace=2', '--pace=2h', '--pace=0.5ms', '--pace=-1s', '--pace='])
      assert.equal(lccpidb(home, 'set', '--pid=1', wrong).status, 64, wrong);
    const { stderr } = lccpidb(home, 'set', '--pid=1', '--pace=2s', '--parallel=4');
    assert.match(stderr, /^lccpidb: --parallel: without effect beside --pace/m);
    assert.match(
      lccpidb(home, 'set', '--pid=1', '--parallel=9').stderr,
      /^lccpidb: --parallel=9: no more than 8 at one host \(qm\.max_connections_per_host\)$/m,
    );
  });

  it('takes whether links are followed, and a group, and shows both', () => {
    const home = newHome();
    lccpidb(home, 'add', '--pid=1', '--root=http://h/', '--spider=yes', '--group=example.org');
    const shown = () => {
      const { spider, groupname } = JSON.parse(lccpidb(home, 'show', '--pid=1', '--json').stdout) as {
        spider: boolean;
        groupname: string | null;
      };
      const text = lccpidb(home, 'show', '--pid=1').stdout;
      const said = (name: string) => new RegExp(`^${name}: +(.*)$`, 'm').exec(text)?.[1];
      return [spider, groupname, said('spider'), said('group')];
    };
    assert.deepEqual(shown(), [true, 'example.org', 'yes', 'example.org']);
    lccpidb(home, 'set', '--pid=1', '--spider=no', '--group=none');
    assert.deepEqual(shown(), [false, null, 'no', 'none']);
    for (const wrong of ['--spider=1', '--group=', '--group=a b'])
      assert.equal(lccpidb(home, 'set', '--pid=1', wrong).status, 64, wrong);
  });

  it('takes whether it is scanned, and how much, and shows both', () => {
    const home = newHome();
    lccpidb(home, 'add', '--pid=1', '--root=http://h/', '--spider=yes');
    const shown = () => /^scan: +(.*)$/m.exec(lccpidb(home, 'show', '--pid=1').stdout)?.[1];
    const set = (...terms: string[]) => lccpidb(home, 'set', '--pid=1', ...terms).status;
    assert.equal(shown(), 'as configured');
    assert.deepEqual([set('--scan=no'), shown()], [0, 'no']);
    assert.deepEqual([set('--scan=default', '--scan-per-day=1'), shown()], [0, '1 url a day']);
    assert.deepEqual([set('--spider=no'), shown()], [0, 'no']);
    assert.deepEqual([set('--scan=yes', '--scan-per-day=default'), shown()], [0, 'as configured']);
    assert.deepEqual([set('--scan=1'), set('--scan-per-day=x')], [64, 64]);
  });

  it('makes a provider of each site of a list, and none the second time', () => {
    const home = newHome();
    const list = join(home, 'hosts.txt');
    const hosts = [
      '# sites',
      'www.example.co.uk',
      'https://shop.example.co.uk/about?x',
      'http://user.github.io',
      '',
    ];
    lccpidb(home, 'add', '--pid=1001', '--root=http://h/', '--root=https://shop.example.co.uk/');
    writeFileSync(list, [...hosts, '127.0.0.1', 'www.example.co.uk', ''].join('\n'));
    const add = (...more: string[]) =>
      lccpidb(home, 'add', `--sites=${list}`, '--pid-from=1000', '--spider=yes', ...more);
    const lines = (state: string) =>
      `1000\thttps://www.example.co.uk/\t${state}\n1001\thttps://shop.example.co.uk/\tthere\n` +
      `1002\thttp://user.github.io/\t${state}\n1003\thttps://127.0.0.1/\t${state}\n`;
    const fewNumbers = lccpidb(home, 'add', `--sites=${list}`, '--pid-from=99998');
    assert.equal(fewNumbers.status, 64);
    assert.match(
      fewNumbers.stderr,
      /^lccpidb: no number from 99998 to 99999 is left for \S+: no site was added; give a lower --pid-from\n/,
    );
    assert.equal(lccpidb(home, 'list').stdout.split('\n').length, 2);
    assert.equal(add().stdout, lines('new'));
    assert.equal(add().stdout, lines('there'));
    const providers = lccpidb(home, 'list', '--json')
      .stdout.split('\n')
      .filter(Boolean)
      .map(line => JSON.parse(line) as { pid: number; groupname: string; filesmax: number; spider: boolean });
    assert.deepEqual(
      providers.map(({ pid, groupname, filesmax, spider }) => [pid, groupname, filesmax, spider]),
      [
        [1000, 'example.co.uk', 100_000, true],
        [1001, null, 1_000_000, false],
        [1002, 'user.github.io', 100_000, true],
        [1003, null, 100_000, true],
      ],
    );
    assert.match(add('--pid=7').stderr, /--pid is for one provider/);
    assert.match(lccpidb(home, 'add', `--sites=${list}`).stderr, /--pid-from=N is missing/);
    assert.equal(lccpidb(home, 'add', `--sites=${list}.no`, '--pid-from=1').status, 66);
    writeFileSync(list, 'www.example.org\nftp://x y/\n');
    const wrong = add();
    assert.equal(wrong.status, 64);
    assert.match(wrong.stderr, /hosts\.txt:2: ftp:\/\/x y\/: it /);
    assert.doesNotMatch(lccpidb(home, 'list').stdout, /example\.org/, 'all of a list or nothing');
  });

  it('takes a bandwidth as it is printed', () => {
    const home = newHome();
    assert.equal(lccpidb(home, 'add', '--pid=1', '--root=http://h/', '--bandwidth=100KB/s').status, 0);
    assert.match(lccpidb(home, 'show', '--pid=1').stdout, /^bandwidth: +102400 bytes\/s$/m);
    assert.equal(lccpidb(home, 'set', '--pid=1', '--spacemax=100KB/s').status, 64);
  });

  it('warns that hours are those of UTC where TZ is not understood', () => {
    const home = newHome();
    const zone = process.env['TZ'];
    const said = (name: string, hours: string) => {
      process.env['TZ'] = name;
      const { stderr } = lccpidb(home, 'set', '--pid=1', ...(hours === '' ? ['--priority=1'] : [hours]));
      if (zone === undefined) delete process.env['TZ'];
      else process.env['TZ'] = zone;
      return stderr;
    };
    lccpidb(home, 'add', '--pid=1', '--root=http://h/');
    assert.equal(
      said('CET-1CEST', '--timeofday=0-7'),
      'lccpidb: --timeofday: TZ=CET-1CEST is not understood and read as UTC, so that hours are those of UTC: give a name such as Europe/Berlin\n',
    );
    assert.equal(said('CET-1CEST', ''), '');
    assert.equal(said('Europe/Berlin', '--timeofday=0-7'), '');
  });

  it('says until when full sets count as used, and none of a period that is over', () => {
    const home = newHome();
    lccpidb(home, 'add', '--pid=1', '--root=http://h/');
    const shown = (columns: string) => {
      const db = openDatabase(join(home, 'lcc.db'));
      db.exec(`UPDATE pidb SET ${columns}`);
      db.close();
      return /^full sets: +(.*)$/m.exec(lccpidb(home, 'show', '--pid=1').stdout)?.[1];
    };
    assert.equal(shown('paused = 0'), '0 of 3 used');
    const sinceS = Math.floor(Date.now() / 1000) - 10 * 86_400;
    const day = new Date((sinceS + 30 * 86_400) * 1000).toLocaleDateString('sv');
    assert.match(
      shown(`fullsetsused = 3, fullsetssince = ${sinceS}`) ?? '',
      new RegExp(`^3 of 3 used, until ${day} [\\d:]{8}$`),
    );
    assert.equal(shown(`fullsetssince = ${sinceS - 21 * 86_400}`), '0 of 3 used');
  });
});
