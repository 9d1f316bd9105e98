/** lccrs on a database that nobody serves: an operator decides also while the daemons are away. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { openDatabase } from '../../src/db/sqlite/open.js';
import { addProvider } from '../../src/db/providers/pidb.js';
import { RegisteredStore } from '../../src/db/providers/registered.js';
import { RsDatabase } from '../../src/db/rs/database.js';
import type { IssuedPair } from '../../src/rs/registrar.js';
import { runCommand } from '../support/command.js';
import { RsScene } from '../rs/support.js';

let scene: RsScene;
let pairs: IssuedPair[];

before(async () => {
  scene = await RsScene.start({ 'rs.pairs_per_network': '10' });
  pairs = ['/a/', '/b/', '/c/', '/d/'].map(path => scene.issue(path));
  for (const pair of pairs.slice(0, 3)) {
    scene.place(pair);
    await scene.registrar.check(pair.capability);
  }
});
after(() => scene.close());

const lccrs = (...args: string[]) => runCommand(scene.dir, 'lccrs', args);

function ok(...args: string[]): string {
  const { status, stdout, stderr } = lccrs(...args);
  assert.equal(status, 0, `${args.join(' ')}: ${stderr}`);
  return stdout;
}

describe('lccrs', () => {
  it('lists what is under way, shows one, and keeps what is secret to itself', () => {
    const lines = ok('list').trimEnd().split('\n');
    assert.deepEqual(
      lines.map(line => line.split(/ +/).slice(0, 3).join(' ')),
      ['1 waiting 100000', '2 waiting 100001', '3 waiting 100002', '4 issued 100003'],
    );
    assert.equal(ok('list', '--limit=2').trimEnd().split('\n').length, 2);
    const [json = ''] = ok('list', '--json').split('\n');
    assert.equal((JSON.parse(json) as { prefix: string }).prefix, scene.site.urlOf('/a/'));
    const text = ok('show', '1');
    for (const line of [
      /^registration +1, waiting$/m,
      /^provider +100000$/m,
      /^applicant +192\.0\.2\.0\/24$/m,
    ])
      assert.match(text, line);
    const all = text + json + ok('show', '1', '--json');
    assert.doesNotMatch(all, /sha256|"secret"|"password"/);
    assert.match(ok('show', '4', '--json'), /"state":"issued"/);
  });

  it('names providers that crawl the same site, with what to do', () => {
    assert.match(ok('show', '2'), /^crawled by +not known: lcc\.db, or another home, cannot be read$/m);
    assert.match(ok('show', '2', '--json'), /"crawled_by":null/);
    const lcc = openDatabase(join(scene.dir, 'lcc.db'));
    addProvider(lcc, 300, 'x', { spider: true }, [scene.site.urlOf('/')]);
    addProvider(lcc, 301, 'x', { spider: true }, [scene.site.urlOf('/b/sub/')]);
    addProvider(lcc, 302, 'x', { spider: false }, [scene.site.urlOf('/')]);
    addProvider(lcc, 100_001, 'x', { spider: true }, [scene.site.urlOf('/b/')]);
    lcc.close();
    const text = ok('show', '2');
    assert.deepEqual(
      text.match(/^crawled by +provider \d+/gm)?.map(line => line.replace(/ +/g, ' ')),
      ['crawled by provider 300', 'crawled by provider 301'],
    );
    assert.match(text, /lccpidb set --pid=300 --spider=no;[^\n]* lccpidb passwd --pid=300$/m);
    assert.match(ok('show', '2', '--json'), /"crawled_by":\[300,301\]/);
    assert.match(ok('show', '1', '--json'), /"crawled_by":\[300\]/);
    assert.match(text, /^announced by +provider 302, too: fetched and kept twice where both are approved/m);
    assert.match(ok('show', '2', '--json'), /"had_by":\[302\]/);
  });

  it('approves with terms as far as an approval may give them, and refuses with a reason, each once', () => {
    const most = /: more than an approval may give; lccpidb set gives a provider more$/m;
    for (const terms of [
      '--filesmax=1000001',
      '--spacemax=101GB',
      '--priority=2',
      '--bandwidth=0',
      '--bandwidth=11MB',
    ]) {
      const { status, stderr } = lccrs('approve', '1', terms);
      assert.equal(status, 64, terms);
      assert.match(stderr, most);
    }
    assert.equal(scene.db.outbox.count(), 0);
    assert.match(
      lccrs('approve', '1', '--filesmax=20000', '--bandwidth=2MB').stderr,
      /its pages are announced by provider 302, too[^\n]*\n.*registration 1 is approved/,
    );
    assert.deepEqual(
      scene.db.outbox.waiting(9).map(({ change }) => change.op),
      ['register', 'terms'],
    );
    assert.match(lccrs('approve', '1').stderr, /registration 1 is applying, and does not wait for approval/);
    assert.match(lccrs('refuse', '2').stderr, /--reason=TEXT is missing/);
    ok('refuse', '2', '--reason=not\nthis one');
    const [, second] = pairs;
    assert.ok(second);
    assert.deepEqual(
      [scene.standing(second).state, scene.standing(second).reason?.what],
      ['refused', 'not this one'],
    );
    assert.match(lccrs('approve', '4').stderr, /registration 4 is issued/);
    assert.doesNotMatch(ok('list'), /refused/);
    assert.match(ok('list', '--all'), /^2 +refused/m);
  });

  it('says what happened, and to whom', () => {
    const audit = ok('audit');
    assert.match(
      audit,
      /^\S+Z {2}approved by operator {2}registration 1 {2}provider 100000 {2}lccrs: \{"filesmax":20000/m,
    );
    assert.match(ok('audit', '--pid=100001'), /^[^]*refused by operator[^]*$/);
    assert.doesNotMatch(ok('audit', '--pid=100001'), /provider 100000/);
    assert.equal(ok('audit', '--limit=1').split('\n').length, 2);
  });

  it('names providers that only one of the two databases knows', () => {
    const lcc = openDatabase(join(scene.dir, 'lcc.db'));
    const registered = new RegisteredStore(lcc);
    registered.add(100_000, 'x', {}, []);
    registered.add(100_009, 'x', {}, []);
    lcc.close();
    scene.db.write(() => {
      for (const pid of [100_000, 100_005])
        scene.db.providers.put({
          leavesMs: null,
          pid,
          registration: 1,
          prefix: 'http://a/',
          sinceMs: 1,
          hours: null,
          zone: null,
          timeofday: '',
        });
    });
    const { status, stdout } = lccrs('list', '--differs');
    assert.equal(status, 1);
    assert.equal(
      stdout,
      '100005 is in rs.db only: its site has to register again\n' +
        '100009 is in lcc.db only: it goes on delivering; lccpidb show --pid=100009\n',
    );
  });

  it('copies the database while it is in use, and nothing over another file', () => {
    const copy = join(scene.dir, 'copy.db');
    const mail = {
      kind: 'pair',
      registration: 1,
      message: '<1@a>',
      address: 'a@b',
      body: 'a password',
    } as const;
    scene.db.write(() => scene.db.mails.add(mail, 1));
    assert.match(ok('mail'), /^1 {5}pair {5}a…?\S*@b {2}for \d+ d {2}registration 1\n$/);
    assert.ok(!ok('mail', '--json').includes('a password'));
    ok('backup', copy);
    assert.equal(statSync(copy).mode & 0o777, 0o600);
    assert.equal(readFileSync(copy).includes('a password'), false, 'mails are left out');
    const there = RsDatabase.openForReading(copy);
    assert.equal(there.registrations.count('applying'), 1);
    there.close();
    assert.equal(lccrs('backup', copy).status, 73);
    assert.equal(lccrs('backup', `${copy}/in-a-file`).status, 73);
  });

  it('lists feeds of any provider, adds them inside of its roots, and removes them', () => {
    const [root, feed] = ['http://www.example.org/f/', 'http://www.example.org/f/feed'];
    const lcc = openDatabase(join(scene.dir, 'lcc.db'));
    addProvider(lcc, 7, '', {}, [root]);
    lcc.close();
    assert.equal(ok('feed', 'list'), '');
    assert.equal(ok('feed', 'add', '--pid=7', '--every=10min', feed), '');
    assert.match(
      ok('feed', 'list', '--pid=7'),
      /^7 {2}\S+\/f\/feed {2}every 10 min {2}never read {2}0 items\n$/,
    );
    assert.equal(ok('feed', 'list', '--pid=8'), '');
    const json = JSON.parse(ok('feed', 'list', '--json')) as Record<string, unknown>;
    assert.deepEqual([json['pid'], json['url'], json['every_s']], [7, feed, 600]);
    const cases: [RegExp, ...string[]][] = [
      [/listed already/, 'feed', 'add', '--pid=7', feed],
      [/outside of the directories/, 'feed', 'add', '--pid=7', 'http://www.example.org/a/feed'],
      [/between 1 min and 1 d/, 'feed', 'add', '--pid=7', '--every=2d', `${feed}2`],
      [/--every=10: give a time with its unit/, 'feed', 'add', '--pid=7', '--every=10', `${feed}2`],
      [/no provider 9 with a root/, 'feed', 'add', '--pid=9', feed],
      [/write lccrs feed add --pid=N URL/, 'feed', 'add', feed],
      [/write lccrs feed add --pid=N URL/, 'feed', 'add', '--pid=7'],
      [/write lccrs feed list$/m, 'feed', 'list', 'x'],
      [/"feed drop" is no action; give one of feed add, feed rm, feed list/, 'feed', 'drop'],
      [/"feed" is no action; give one of feed add, feed rm, feed list/, 'feed'],
      [/not listed/, 'feed', 'rm', '--pid=7', `${feed}2`],
    ];
    for (const [says, ...args] of cases) {
      const { status, stderr } = lccrs(...args);
      assert.equal(status, 64, args.join(' '));
      assert.match(stderr, says);
    }
    ok('feed', 'rm', '--pid=7', feed);
    assert.equal(ok('feed', 'list'), '');
    assert.match(ok('audit', '--pid=7'), /feed added[^\n]*\n[^\n]*feed removed/);
  });

  it('refuses what cannot be', () => {
    const cases: [number, RegExp, string[]][] = [
      [64, /nothing to do; give one of list, show/, []],
      [64, /"drop" is no action; give one of list, .*, mail, operator, feed$/m, ['drop']],
      [64, /write lccrs approve ID/, ['approve']],
      [64, /write lccrs list$/m, ['list', '3']],
      [64, /"x": give a number/, ['show', 'x']],
      [64, /there is no registration 99/, ['show', '99']],
      [64, /there is no registration 99/, ['approve', '99']],
      [64, /--limit=0: give a number/, ['list', '--limit=0']],
    ];
    for (const [status, says, args] of cases) {
      const done = lccrs(...args);
      assert.equal(done.status, status, args.join(' '));
      assert.match(done.stderr, says);
    }
    const home = join(scene.dir, 'nobody');
    const { status, stderr } = runCommand(home, 'lccrs', ['approve', '1']);
    assert.equal(status, 66);
    assert.match(stderr, /rs\.db: there is none yet; lccd-rs makes it/);
    assert.ok(!existsSync(home));
  });
});
