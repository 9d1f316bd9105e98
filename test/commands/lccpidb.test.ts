import assert from 'node:assert/strict';
import { existsSync, statSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { openDatabase, openReadOnly } from '../../src/db/sqlite/open.js';
import { readProvider } from '../../src/db/providers/pidb.js';
import { passwordMatches } from '../../src/lib/password.js';
import { lccpidb, newHome } from '../support/lccpidb.js';
import { Cp, Home, init } from '../support/uns.js';

function provider(home: string, pid: number) {
  const db = openReadOnly(join(home, 'lcc.db'));
  const found = readProvider(db, pid);
  db.close();
  return found;
}

describe('lccpidb', () => {
  it('makes a home on first use and prints the new password alone on stdout', () => {
    const home = newHome();
    const { status, stdout, stderr } = lccpidb(home, 'add', '--pid=1', '--root=http://www.example.org/docs/');
    assert.equal(status, 0);
    assert.match(stdout, /^\S{27}\n$/);
    assert.match(stderr, /^lccpidb: provider 1 added/);
    const stored = provider(home, 1)?.password ?? '';
    assert.equal(passwordMatches(stdout.trim(), stored), true);
    assert.doesNotMatch(stored, new RegExp(stdout.trim()));
    assert.equal(statSync(join(home, 'lcc.db')).mode & 0o007, 0, 'others cannot read the hashes');
  });

  it('refuses terms where nothing is set, and says that --pid is missing: 64', () => {
    const home = newHome();
    lccpidb(home, 'add', '--pid=7', '--root=http://h/');
    const refusals: [string[], string][] = [
      [['show', '--pid=7', '--timeofday=25'], '--timeofday is for add, set, not for show'],
      [['list', '--fuse-urls=3'], '--fuse-urls is for add, set, not for list'],
      [['show'], "--pid=N is missing: give the provider's number, 1 or more"],
      [['set', '--priority=2'], "--pid=N is missing: give the provider's number, 1 or more"],
    ];
    for (const [args, why] of refusals) {
      const { status, stdout, stderr } = lccpidb(home, ...args);
      assert.deepEqual([status, stdout], [64, ''], stderr);
      assert.ok(stderr.includes(why), stderr);
    }
  });

  it('sets the terms given and no others', () => {
    const home = newHome();
    lccpidb(home, 'add', '--pid=1', '--root=http://h/', '--priority=2', '--timeofday=22-5');
    const args = [
      '--spacemax=2GB',
      '--enabled=no',
      '--enforce=yes',
      '--parallel=4',
      '--bandwidth=100KB',
      '--filesmax=9',
    ];
    assert.equal(lccpidb(home, 'set', '--pid=1', ...args).status, 0);
    const found = provider(home, 1);
    assert.deepEqual(
      [found?.spacemax, found?.enabled, found?.enforce, found?.parallel, found?.bandwidth, found?.filesmax],
      [2 * 2 ** 30, false, true, 4, 102_400, 9],
    );
    assert.deepEqual(
      [found?.priority, found?.timeofday, found?.fullsetsallowed],
      [2, '111111000000000000000011', 3],
    );
    writeFileSync(join(home, 'lcc.toml'), '[qm]\nslots = 168\n');
    lccpidb(home, 'set', '--pid=1', '--timeofday=24-26,167');
    assert.equal(provider(home, 1)?.timeofday.length, 168);
    lccpidb(home, 'set', '--pid=1', '--timeofday=always');
    assert.equal(provider(home, 1)?.timeofday, '');
  });

  it('says how what was refused is announced again when a provider may store more than it could', () => {
    const home = newHome();
    lccpidb(home, 'add', '--pid=1', '--root=http://h/', '--spacemax=30');
    assert.equal(lccpidb(home, 'set', '--pid=1', '--spacemax=40').stderr, '', 'nothing was announced yet');
    const db = openDatabase(join(home, 'lcc.db'));
    db.exec('UPDATE pidb SET lastset = 1 WHERE pid = 1');
    db.close();
    const words =
      'lccpidb: urls that were refused for the quota, if any, are announced again after lccctl want-full --pid=1, or when they change\n';
    assert.equal(lccpidb(home, 'set', '--pid=1', '--spacemax=50').stderr, words);
    assert.equal(lccpidb(home, 'set', '--pid=1', '--spacemax=50').stderr, '');
    assert.equal(lccpidb(home, 'set', '--pid=1', '--filesmax=2000000').stderr, words);
    assert.equal(lccpidb(home, 'set', '--pid=1', '--filesmax=10', '--priority=2').stderr, '');
  });

  it('refuses hours that never come, and says what it reads strictly or allows nothing', () => {
    const home = newHome();
    lccpidb(home, 'add', '--pid=1', '--root=http://h/');
    for (const hours of ['25', '24']) {
      const refused = lccpidb(home, 'set', '--pid=1', `--timeofday=${hours}`);
      assert.equal(refused.status, 64);
      assert.match(
        refused.stderr,
        /^lccpidb: --timeofday=2[45]: never with qm\.slots = 24, .*give hours of the day, 0-23, or set qm\.slots = 168\n$/,
      );
    }
    assert.equal(provider(home, 1)?.timeofday, '');
    const everyDay = Array.from({ length: 7 }, (_, day) => `${day * 24 + 3}`).join(',');
    const strict = lccpidb(home, 'set', '--pid=1', `--timeofday=${everyDay},5`);
    assert.deepEqual([strict.status, strict.stderr.endsWith('qm.slots = 24: 3\n')], [0, true], strict.stderr);
    const none = lccpidb(home, 'set', '--pid=1', '--filesmax=0');
    assert.deepEqual(
      [none.status, none.stderr],
      [
        0,
        'lccpidb: --filesmax=0: nothing of it may be stored; what waits already is fetched and refused, lccctl pause keeps it\n',
      ],
    );
  });

  it('sets the fuse of a provider, and back to what is configured', () => {
    const home = newHome();
    lccpidb(home, 'add', '--pid=1', '--root=http://h/', '--fuse-percent=20');
    const fuse = () => [provider(home, 1)?.fusepercent, provider(home, 1)?.fuseurls];
    assert.deepEqual(fuse(), [20, null]);
    assert.equal(lccpidb(home, 'set', '--pid=1', '--fuse-percent=0', '--fuse-urls=5').status, 0);
    assert.deepEqual(fuse(), [0, 5]);
    assert.match(lccpidb(home, 'show', '--pid=1').stdout, /^fuse: +0 %, 5 urls$/m);
    lccpidb(home, 'set', '--pid=1', '--fuse-percent=default', '--fuse-urls=default');
    assert.deepEqual(fuse(), [null, null]);
    assert.match(lccpidb(home, 'show', '--pid=1').stdout, /^fuse: +as configured$/m);
    const wrong = lccpidb(home, 'set', '--pid=1', '--fuse-percent=101');
    assert.deepEqual(
      [wrong.status, wrong.stderr],
      [64, 'lccpidb: --fuse-percent=101: give 0 to 100, or default\n'],
    );
  });

  it('sets what a robot is told of one fetch, and back to what is configured', () => {
    const home = newHome();
    lccpidb(home, 'add', '--pid=1', '--root=http://h/', '--maxlen=2MB', '--timeout=2.5');
    assert.equal(lccpidb(home, 'set', '--pid=1', '--user-agent=x/1 (m@example.org)').status, 0);
    const terms = () => {
      const { maxlen, fetchtimeout, useragent } = provider(home, 1) ?? {};
      return [maxlen, fetchtimeout, useragent];
    };
    assert.deepEqual(terms(), [2 * 2 ** 20, 2500, 'x/1 (m@example.org)']);
    const shown = lccpidb(home, 'show', '--pid=1').stdout;
    assert.match(shown, /^longest content: +2097152 bytes\ntimeout: +2\.5 s\nuser agent: +x\/1 \(m@example/m);
    for (const wrong of [
      '--maxlen=0',
      '--timeout=0',
      '--timeout=3601',
      '--user-agent=a\tb',
      '--user-agent=é',
    ])
      assert.equal(lccpidb(home, 'set', '--pid=1', wrong).status, 64, wrong);
    lccpidb(home, 'set', '--pid=1', '--maxlen=default', '--timeout=default', '--user-agent=default');
    assert.deepEqual(terms(), [null, null, null]);
  });

  it('takes the login for a site from a file, shows its user only, and forgets it', () => {
    const home = newHome();
    lccpidb(home, 'add', '--pid=1', '--root=http://h/');
    const file = join(home, 'login');
    const logins = () => readFileSync(join(home, 'logins'), 'utf8');
    writeFileSync(file, 'käthe:se:cret \r\nmore\n');
    assert.equal(lccpidb(home, 'set', '--pid=1', `--loginfile=${file}`).status, 0);
    assert.equal(logins(), '1 käthe:se:cret \n');
    const shown = lccpidb(home, 'show', '--pid=1').stdout;
    assert.match(shown, /^login: +käthe, with a password$/m);
    const printed = [shown, lccpidb(home, 'list').stdout, lccpidb(home, 'list', '--json').stdout];
    printed.push(lccpidb(home, 'show', '--pid=1', '--json').stdout);
    assert.doesNotMatch(printed.join(''), /cret/);
    for (const wrong of ['', 'user', ':word', 'us\u0001er:word']) {
      writeFileSync(file, `${wrong}\n`);
      const refused = lccpidb(home, 'set', '--pid=1', `--loginfile=${file}`);
      assert.deepEqual([refused.status, /write user:password/.test(refused.stderr)], [78, true], wrong);
      assert.doesNotMatch(refused.stderr, /word\n.*word/);
    }
    assert.equal(lccpidb(home, 'set', '--pid=1', '--loginfile=/nowhere').status, 66);
    assert.equal(logins(), '1 käthe:se:cret \n');
    lccpidb(home, 'set', '--pid=1', '--loginfile=none');
    assert.equal(logins(), '');
    assert.match(lccpidb(home, 'show', '--pid=1').stdout, /^login: +none$/m);
  });

  it('says of a root that another provider crawls it, and adds it', () => {
    const home = newHome();
    const crawled = (root: string) =>
      `lccpidb: --root=${root}: provider 1 crawls it as well, pages are fetched and kept twice; to end that: lccpidb set --pid=1 --spider=no\n`;
    assert.doesNotMatch(
      lccpidb(home, 'add', '--pid=1', '--spider=yes', '--root=http://h/').stderr,
      /as well/,
    );
    assert.ok(
      lccpidb(home, 'add', '--pid=2', '--root=http://h/a/').stderr.startsWith(crawled('http://h/a/')),
    );
    const { status, stderr } = lccpidb(home, 'root', 'add', '--pid=2', '--root=http://h/b/');
    assert.deepEqual([status, stderr], [0, crawled('http://h/b/')]);
    assert.equal(lccpidb(home, 'root', 'add', '--pid=1', '--root=http://h/b/').stderr, '');
    assert.equal(lccpidb(home, 'set', '--pid=1', '--spider=no').status, 0);
    assert.equal(lccpidb(home, 'root', 'add', '--pid=2', '--root=http://h/c/').stderr, '');
  });

  it('replaces a password; the old one is void', () => {
    const home = newHome();
    const first = lccpidb(home, 'add', '--pid=1', '--root=http://h/').stdout.trim();
    const second = lccpidb(home, 'passwd', '--pid=1').stdout.trim();
    const stored = provider(home, 1)?.password;
    assert.deepEqual([passwordMatches(first, stored), passwordMatches(second, stored)], [false, true]);
  });

  it('shows and lists, for people and programs, and never the password', () => {
    const home = newHome();
    lccpidb(home, 'add', '--pid=2', '--root=http://h/two/', '--enabled=no');
    lccpidb(home, 'add', '--pid=1', '--root=http://h/one/');
    assert.equal(
      lccpidb(home, 'list').stdout,
      '1\tenabled\t0\t0\thttp://h/one/\n2\tdisabled\t0\t0\thttp://h/two/\n',
    );
    assert.match(lccpidb(home, 'show', '--pid=2').stdout, /^enabled: +no$/m);
    const json = lccpidb(home, 'list', '--json')
      .stdout.trim()
      .split('\n')
      .map(line => JSON.parse(line) as object);
    assert.deepEqual(
      json.map(row => 'password' in row),
      [false, false],
    );
    assert.equal((json[1] as { pid: number }).pid, 2);
  });

  it('says which errors wait for a provider, by code, and how many are not kept', () => {
    const home = newHome();
    for (const pid of [1, 2]) lccpidb(home, 'add', `--pid=${pid}`, '--root=http://h/');
    const shown = () => /^errors: +(.*)$/m.exec(lccpidb(home, 'show', '--pid=1').stdout)?.[1];
    assert.equal(shown(), 'none to be delivered');
    const db = openDatabase(join(home, 'lcc.db'));
    const insert = db.prepare("INSERT INTO pierr(pid, code, text, attrs) VALUES (?, ?, 'x', ' curl=\"a\"')");
    for (const code of [606, 404, 404, 613, 610, 603, 602, 404]) insert.run(1, code);
    insert.run(2, 500);
    db.exec(`UPDATE pidb SET nurlerrs = 20 WHERE pid = 1;
      INSERT INTO known(pid, curl, code, asked, until) VALUES (1, 'http://h/gone', 404, 5, 9), (1, 'http://h/', 610, 7, 7),
        (1, 'http://h/moved', 301, 8, 9), (1, 'http://h/old', 404, 6, 9), (2, 'http://h/x', 404, 9, 9)`);
    db.close();
    // Of twenty eight are kept.
    assert.equal(
      shown(),
      '20 not delivered: 404 (3), 602 (1), 603 (1), 606 (1), 610 (1), others (1), 12 more not kept',
    );
    assert.match(
      lccpidb(home, 'show', '--pid=1').stdout,
      /^not to be had: +3 of its crawl: 404 \(2\), 610 \(1\); last http:\/\/h\/ \(610, address not permitted\)$/m,
    );
  });

  it('says in words whether a provider is fetched from, and when it was last heard of', () => {
    const home = newHome();
    lccpidb(home, 'add', '--pid=1', '--root=http://h/');
    const lineOf = (name: string, columns: string) => {
      const db = openDatabase(join(home, 'lcc.db'));
      db.exec(`UPDATE pidb SET ${columns}`);
      db.close();
      const shown = lccpidb(home, 'show', '--pid=1').stdout;
      return new RegExp(`^${name}: +(.*)$`, 'm').exec(shown)?.[1];
    };
    const hour = `unixepoch() + 3600`;
    const fetched = (columns: string) => lineOf('fetched from', columns);
    assert.equal(fetched('paused = 0'), 'yes');
    assert.match(
      fetched(`bandwidth = 1000, dueat = 1000 * (${hour})`) ?? '',
      /^not before \d{4}-\d\d-\d\d [\d:]{8}, for its bandwidth \(lccctl flush\)$/,
    );
    assert.match(
      fetched(`backoffs = 1, backoffuntil = ${hour}`) ?? '',
      /, its site has failed as a whole once \(lccctl flush\)$/,
    );
    assert.match(fetched('backoffs = 3') ?? '', /failed as a whole 3 times/);
    assert.match(fetched('backoffs = 0') ?? '', /, its site asks for patience \(lccctl flush\)$/);
    const never = `timeofday = '${'0'.repeat(24)}', backoffs = 0, backoffuntil = 0`;
    assert.equal(fetched(never), 'never, it is closed at all hours');
    const ahead = (new Date().getHours() + 12) % 24;
    const mask = Array.from({ length: 24 }, (_, each) => (each === ahead ? '1' : '0')).join('');
    assert.match(
      fetched(`timeofday = '${mask}'`) ?? '',
      /^not before \d{4}-\d\d-\d\d \d\d:00:00, for its hours$/,
    );
    assert.equal(lineOf('held back', 'paused = 0'), 'nothing');
    const held = openDatabase(join(home, 'lcc.db'));
    held.exec("INSERT INTO held VALUES (99, 1, 1, 1, 70, 'x', 0)");
    held.close();
    assert.equal(lineOf('held back', 'paused = 0'), '70 removals (lccctl release or discard)');
    assert.equal(fetched('paused = 1'), 'no, it is paused (lccctl resume)');
    assert.match(lccpidb(home, 'list').stdout, /^1\tpaused\t/);
    assert.equal(fetched('enabled = 0'), 'no, it is disabled');
    assert.equal(lineOf('last set', 'lastset = 0'), 'never');
    assert.equal(lineOf('last connection', 'lastconnseq = 0'), 'never');
    const atS = new Date(2026, 10, 20, 3, 4, 5).getTime() / 1000;
    assert.equal(lineOf('last set', `lastset = ${atS}`), '2026-11-20 03:04:05');
    assert.equal(
      lineOf('last connection', `lastconnseq = 12, lastconnip = '192.0.2.1', lastconntime = ${atS}`),
      '12 from 192.0.2.1, 2026-11-20 03:04:05',
    );
  });

  it('removes a provider only when nothing of it is left', () => {
    const home = newHome();
    lccpidb(home, 'add', '--pid=1', '--root=http://h/');
    const db = openDatabase(join(home, 'lcc.db'));
    db.exec(
      `INSERT INTO lccurl(pid, curl, mimetype, md5, len, fetched_time, fetched_machineid, fetched_fileid, psetid, seq)
       VALUES (1, 'http://h/a', 'text/html', 'x', 1, 1, 'm', 'f', 1, 1)`,
    );
    assert.match(
      lccpidb(home, 'rm', '--pid=1').stderr,
      /still has 1 url stored and 0 queued; lccpidb rm --pid=1 --purge removes them as well$/m,
    );
    db.exec('DELETE FROM lccurl');
    db.close();
    assert.equal(lccpidb(home, 'rm', '--pid=1').status, 0);
    assert.equal(provider(home, 1), undefined);
  });

  it('says what is wrong and changes nothing', () => {
    const home = newHome();
    lccpidb(home, 'add', '--pid=1', '--root=http://h/');
    for (const [args, message] of [
      [['add', '--pid=1', '--root=http://h/'], /provider 1 exists/],
      [['add', '--pid=2'], /--root=URL is missing/],
      [['add', '--pid=0', '--root=http://h/'], /--pid=0/],
      [['add', '--pid=2', '--root=ftp://h/'], /--root=ftp:\/\/h\/: it is no .*; give an absolute http/],
      [
        ['add', '--pid=2', '--root=http://*/'],
        /--root=http:\/\/\*\/: it names no host: there are no wildcards/,
      ],
      [['root', 'add', '--pid=1', '--root=http://*.h/'], /it names no host: there are no wildcards/],
      [['root', 'add', '--pid=1', '--root=http://h/*'], /it has a wildcard in its path/],
      [['add', '--pid=2', '--root=http://h/', '--priority=3'], /--priority=3: give 0, 1 or 2/],
      [['add', '--pid=2', '--root=http://h/', '--timeofday=8-25x'], /--timeofday=/],
      [['add', '--pid=2', '--root=http://h/', '--spacemax=lots'], /--spacemax=lots/],
      [['set', '--pid=1'], /^lccpidb: nothing to set; give a term, such as --priority=2\n$/],
      [['set', '--pid=9', '--priority=1'], /no provider 9/],
      [['frobnicate'], /"frobnicate" is no action/],
      [[], /nothing to do/],
      [['list', 'toString'], /is no action/],
    ] as const) {
      const { status, stdout, stderr } = lccpidb(home, ...args);
      assert.equal(status, 64, args.join(' '));
      assert.match(stderr, message);
      assert.equal(stdout, '');
    }
    assert.equal(lccpidb(home, 'list').stdout.split('\n').length, 2);
    const nowhere = newHome();
    assert.equal(lccpidb(nowhere, 'list').status, 66);
    assert.equal(existsSync(nowhere), false, 'looking makes nothing');
  });

  it('works while the UNS runs, which sees every change at once', async () => {
    const home = new Home();
    const first = home.addProvider(7);
    const daemon = await home.start();
    const login = async (password: string) => {
      const cp = new Cp(daemon.port);
      cp.socket.end(init(7, password));
      return /code="(\d+)"|init_accepted/.exec(await cp.reply)?.[1] ?? 'accepted';
    };
    assert.equal(await login(first), 'accepted');
    const second = lccpidb(home.dir, 'passwd', '--pid=7').stdout.trim();
    assert.deepEqual([await login(first), await login(second)], ['101', 'accepted']);
    lccpidb(home.dir, 'set', '--pid=7', '--enabled=no');
    assert.equal(await login(second), '105');
    await daemon.stop();
    await home.remove();
  });
});
