/** `lccctl backup` and `lccctl restore`: of an LCC that runs, under load, killed at each step, on another disk. */
import assert from 'node:assert/strict';
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { runCommand, runProgram } from '../support/command.js';
import { Lcc, startLcc, urlTag } from '../support/lcc.js';
import { longIt } from '../support/long.js';
import { Restored } from '../support/restored.js';
import { TestSite } from '../support/site.js';
import { ROOT } from '../support/tree.js';

const BACKUP_STEPS = [
  'backup.begun',
  'backup.spool.copied',
  'backup.files.copied',
  'backup.content.linked',
  'backup.database.copied',
  'backup.whole',
  'backup.named',
];
const RESTORE_STEPS = [
  'restore.begun',
  'restore.files.copied',
  'restore.content.copied',
  'restore.database.named',
];

let site: TestSite;
before(async () => {
  site = await TestSite.listen();
});
after(() => site.close());

describe('a backup', () => {
  let lcc: Lcc;
  let restored: Restored;
  let to: string;
  beforeEach(() => {
    restored = new Restored(`${site.url}/`);
    to = join(restored.dir, 'backup');
  });
  afterEach(async () => {
    await Promise.all([restored.remove(), lcc.remove()]);
  });
  const backup = (...options: string[]) => runCommand(lcc.home, 'lccctl', ['backup', to, ...options]);
  /** With three pages, a tombstone, a page that waits, a cursor and a file of its owner's. */
  async function filled(toml = ''): Promise<void> {
    lcc = await startLcc(`${site.url}/`, toml);
    await lcc.publish(site, { a: 'page a', b: 'page b', c: 'page c', d: 'page d' });
    await lcc.run(`lccq --cursor=${lcc.home}/index.cursor -- cat`);
    await lcc.deliver('partial', [urlTag('d', ' op="delete"')]);
    await lcc.idle();
    await lcc.freed();
    await lcc.run('lccctl pause -q');
    await lcc.deliver('partial', [urlTag('later')]);
    site.pages.set('/later', 'page later');
    writeFileSync(join(lcc.home, 'notes'), 'mine');
  }

  it('of an LCC that runs has its pages, its queue and its settings, for its owner alone', async () => {
    await filled();
    const { status, stderr } = backup();
    assert.deepEqual({ status, stderr }, { status: 0, stderr: `lccctl: ${to}: 3 pages of this machine\n` });
    assert.equal(statSync(to).mode & 0o777, 0o700);
    assert.equal(existsSync(`${to}.part`), false);
    const held = await lcc.holdings();
    const done = restored.restore(to);
    assert.equal(done.status, 0, done.stderr);
    restored.isClean();
    assert.deepEqual(await restored.holdings(), held);
    assert.equal(readFileSync(join(restored.home, 'notes'), 'utf8'), 'mine');
    // Its own settings stay, for the socket in them is another's.
    assert.match(readFileSync(join(restored.home, 'lcc.toml'), 'utf8'), new RegExp(restored.uns));
    const show = runCommand(restored.home, 'lccpidb', ['show', '--pid=1', '--json']).stdout;
    const { nurlproc, paused, fullsetwanted } = JSON.parse(show) as Record<string, unknown>;
    assert.deepEqual([nurlproc, paused, fullsetwanted], [1, 1, 'restored from a backup']);
    const refused = runCommand(restored.home, 'lccq', [`--cursor=${restored.home}/index.cursor`]);
    assert.equal(refused.status, 65, 'it knows nothing of what came since');
    await restored.serves();
    assert.equal((await restored.holdings()).rows.length, 4);
  });

  longIt('shares what never changes with the LCC on one disk, and copies to another', async () => {
    await filled();
    assert.equal(backup().status, 0);
    const files = (dir: string) =>
      readdirSync(join(dir, 'store'), { recursive: true, withFileTypes: true })
        .filter(file => file.isFile() && /^[0-9a-f]{8}\./.test(file.name))
        .map(file => statSync(join(file.parentPath, file.name)));
    assert.deepEqual(
      files(to).map(({ nlink }) => nlink),
      [2, 2, 2],
    );
    assert.equal(statSync(join(to, 'notes')).nlink, 1, 'somebody may write to it');
    const other = ['/var/tmp', '/dev/shm'].find(dir => statSync(dir).dev !== statSync(lcc.home).dev);
    assert.ok(other !== undefined);
    const there = join(other, `lcc-backup-${process.pid}`);
    try {
      assert.equal(runCommand(lcc.home, 'lccctl', ['backup', there]).status, 0);
      assert.deepEqual(
        files(there).map(({ nlink }) => nlink),
        [1, 1, 1],
      );
      const done = restored.restore(there);
      assert.equal(done.status, 0, done.stderr);
      restored.isClean();
    } finally {
      rmSync(there, { recursive: true, force: true });
    }
  });

  longIt('of an LCC that was stopped moves it: cursors and sites go on', async () => {
    await filled();
    const live = backup();
    assert.equal(live.status, 0);
    const { status, stderr } = restored.restore(to, '--moved');
    assert.equal(status, 78);
    assert.match(stderr, /made while the LCC ran, and lacks what came since; leave out --moved/);
    rmSync(to, { recursive: true });
    await lcc.stop();
    assert.equal(backup().status, 0);
    const done = restored.restore(to, '--moved');
    assert.equal(done.status, 0, done.stderr);
    const changes = runCommand(restored.home, 'lccq', [`--cursor=${restored.home}/index.cursor`]);
    assert.equal(changes.status, 0, changes.stderr);
    assert.deepEqual(
      [...changes.stdout.matchAll(/<url curl="[^"]*\/(\w+)".* op="(\w+)"/g)].map(
        ([, name, op]) => `${op} ${name}`,
      ),
      ['delete d'],
    );
    const show = runCommand(restored.home, 'lccpidb', ['show', '--pid=1', '--json']).stdout;
    assert.equal((JSON.parse(show) as Record<string, unknown>)['fullsetwanted'], null);
    await restored.serves();
  });

  /** Contents, where readers find them. */
  const pagesOf = (of: Lcc) => of.run('lccq --format=tar | tar -xO');

  longIt('has content that lccd.store has elsewhere, and is restored to where that is', async () => {
    lcc = new Lcc(`${site.url}/`);
    const big = join(lcc.dir, 'big');
    lcc.configure(`lccd.store = "${big}"`);
    await lcc.addProvider();
    await lcc.start();
    await lcc.publish(site, { a: 'page a', b: 'page b' });
    assert.equal(existsSync(join(lcc.home, 'store')), false);
    assert.deepEqual(await pagesOf(lcc), 'page apage b');
    assert.equal(backup().status, 0);
    const other = join(restored.dir, 'big');
    restored.configure(`lccd.store = "${other}"`);
    const done = restored.restore(to);
    assert.equal(done.status, 0, done.stderr);
    assert.ok(existsSync(join(other, 'machine-id')));
    await restored.serves();
    assert.deepEqual(await pagesOf(restored), 'page apage b');
    // Where the settings name the store of another, nothing is touched.
    rmSync(restored.home, { recursive: true });
    mkdirSync(restored.home);
    restored.configure(`lccd.store = "${big}"`);
    const { status, stderr } = restored.restore(to);
    assert.equal(status, 73);
    assert.match(stderr, /big\/\S+: something is there; name an empty LCC_HOME, and an empty lccd\.store/);
  });

  it('is refused where it would write over something, and a restore of what is none', async () => {
    await filled();
    const refusal = (args: string[], home = lcc.home) => {
      const { status, stderr } = runCommand(home, 'lccctl', args);
      assert.match(stderr, /^lccctl: [^\n]+\n$/);
      return `${status} ${stderr.slice('lccctl: '.length, -1)}`;
    };
    mkdirSync(to);
    writeFileSync(join(to, 'mine'), '');
    assert.equal(refusal(['backup', to]), `73 ${to}: exists; give another name`);
    assert.match(
      refusal(['backup', '/dev/shm']),
      /^73 .*: (?:exists; give another name|a disk is mounted here)/,
    );
    assert.match(refusal(['backup', `${lcc.home}/copy`]), /^64 .*: below the LCC that is copied/);
    assert.match(refusal(['backup', `${to}-2`], join(lcc.dir, 'none')), /^66 /);
    assert.match(refusal(['backup']), /^64 lccctl backup: name one folder$/);
    assert.match(
      refusal(['restore', to], restored.home),
      /^65 .*: no backup of an LCC; give what lccctl backup has made/,
    );
    rmSync(to, { recursive: true });
    mkdirSync(`${to}.part`);
    writeFileSync(join(`${to}.part`, 'mine'), '');
    assert.match(refusal(['backup', to]), /^73 .*\.part: exists, and is no part of a backup; move it away$/);
    rmSync(`${to}.part`, { recursive: true });
    mkdirSync(to);
    assert.equal(backup('-q').status, 0, 'an empty folder is replaced');
    assert.match(refusal(['restore', to]), /^73 .*: something is there; name an empty LCC_HOME/);
    const facts = JSON.parse(readFileSync(join(to, 'backup.json'), 'utf8')) as Record<string, unknown>;
    writeFileSync(join(to, 'backup.json'), JSON.stringify({ ...facts, schema: 999, version: '9.9.9' }));
    assert.match(
      refusal(['restore', to], restored.home),
      /^78 .*: a backup of the newer LCC 9\.9\.9; restore it with that/,
    );
    writeFileSync(join(to, 'backup.json'), JSON.stringify({ ...facts, ended: undefined }));
    assert.match(
      refusal(['restore', to], restored.home),
      /^65 .*: a backup that was interrupted; take another one/,
    );
    assert.deepEqual(readdirSync(restored.home), ['lcc.toml']);
  });

  /** Kills a command at a step. */
  const killed = (home: string, args: string[], step: string) => {
    const env = { ...lcc.env, LCC_HOME: home, LCC_CRASH_AT: step };
    const { signal, stderr } = runProgram(join(ROOT, 'bin/lccctl'), args, { env });
    assert.equal(signal, 'SIGKILL', stderr);
  };
  for (const step of BACKUP_STEPS)
    longIt(`killed at ${step} is whole or refused, and made by the next try`, async () => {
      await filled();
      killed(lcc.home, ['backup', to], step);
      const isNamed = step === 'backup.named';
      assert.equal(existsSync(to), isNamed);
      if (!isNamed) {
        const early = restored.restore(`${to}.part`);
        assert.ok(early.status === 65 || step === 'backup.whole', early.stderr);
        rmSync(restored.home, { recursive: true });
        mkdirSync(restored.home);
        restored.configure('');
        assert.equal(backup().status, 0);
      }
      const done = restored.restore(to);
      assert.equal(done.status, 0, done.stderr);
      restored.isClean();
      assert.deepEqual(await restored.holdings(), await lcc.holdings());
    });
  for (const step of RESTORE_STEPS)
    longIt(
      `whose restore is killed at ${step} is served by nobody, and restored by the next try`,
      async () => {
        await filled();
        assert.equal(backup().status, 0);
        killed(restored.home, ['restore', to], step);
        const lccd = restored.launch();
        assert.notEqual(await lccd.ended, 0);
        assert.match(
          lccd.log,
          /lcc\.db: (?:not there, though it was served|another database than the one served last)/,
        );
        if (step === 'restore.database.named') {
          const { status, stderr } = runCommand(restored.home, 'lccfsck', ['--repair', '--restored']);
          assert.equal(status, 0, stderr);
        } else {
          const done = restored.restore(to);
          assert.equal(done.status, 0, done.stderr);
        }
        await restored.serves();
        const { rows } = await restored.holdings();
        const isLater = (row: string) => row.startsWith('later ');
        assert.deepEqual(
          rows.filter(row => !isLater(row)),
          (await lcc.holdings()).rows,
        );
        assert.ok(rows.some(isLater), 'what waited is fetched');
      },
      step === 'restore.content.copied',
    );

  longIt('that root makes and restores stays whose the LCC is, or is whose the new home is', async () => {
    if (process.getuid?.() !== 0) return;
    await filled();
    await lcc.stop();
    const own = (dir: string, id: number) =>
      assert.equal(runProgram('chown', ['-R', `${id}:${id}`, dir], {}).status, 0);
    const ofOthers = (dir: string, id: number) =>
      readdirSync(dir, { recursive: true }).filter(path => lstatSync(join(dir, String(path))).uid !== id);
    own(lcc.home, 65_534);
    assert.equal(backup().status, 0);
    assert.deepEqual(ofOthers(to, 65_534), []);
    const same = join(restored.dir, 'same');
    assert.equal(runCommand(same, 'lccctl', ['restore', to, '--moved']).status, 0);
    assert.deepEqual(ofOthers(same, 65_534), []);
    own(restored.home, 1);
    const done = restored.restore(to);
    assert.equal(done.status, 0, done.stderr);
    assert.deepEqual(ofOthers(restored.home, 1), []);
  });

  longIt('of sets that no Queue Manager has taken has them in its spool', async () => {
    await filled();
    await lcc.stop();
    const uns = lcc.startDaemon('lccd-uns', `--listen=${lcc.uns}`, `--qm=unix:${lcc.dir}/nobody`);
    await uns.ready;
    site.pages.set('/spooled', 'page spooled');
    await lcc.deliver('partial', [urlTag('spooled')]);
    assert.equal(backup().status, 0);
    await uns.stop();
    assert.equal(restored.restore(to).status, 0);
    await restored.start();
    await restored.run('lccctl resume -q');
    await restored.idle();
    assert.ok((await restored.holdings()).rows.some(row => row.startsWith('spooled ')));
    // A number that the copy knows is given to no other set.
    restored.env['LCC_PWD'] = lcc.env['LCC_PWD'];
    site.pages.set('/new', 'page new');
    await restored.deliver('partial', [urlTag('new')]);
    await restored.idle();
    assert.ok((await restored.holdings()).rows.some(row => row.startsWith('new ')));
  });

  longIt('of a home with registration, clearing and files of people has all of them', async () => {
    await filled('[clear]\nenabled = true\n[rs]\nlisten = ["127.0.0.1:0"]\nurl = "http://127.0.0.1/"\n');
    await lcc.run(
      'lccrail target add www; lccrail add -q --target=www --url=http://127.0.0.1:9/ --driver=nginx-dav www1',
    );
    cpSync(join(lcc.home, 'notes'), join(lcc.home, 'mine.db'));
    assert.equal(backup().status, 0);
    const done = restored.restore(to);
    assert.equal(done.status, 0, done.stderr);
    for (const file of ['rs/rs.db', 'clear/clear.db', 'spool/uns/sessions.db'])
      assert.ok(existsSync(join(restored.home, file)), file);
    assert.equal(readFileSync(join(restored.home, 'mine.db'), 'utf8'), 'mine');
    assert.match(runCommand(restored.home, 'lccrail', ['status']).stdout, /www1/);
  });
});
