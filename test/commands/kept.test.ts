/**
 * Commands and daemons of a kept home as they are installed, beside a keeper that answers as it is told: nothing is told that
 * is not in the engine, and nothing is written where it could not come there.
 */
import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, before, describe, it } from 'node:test';
import { openReadOnly } from '../../src/db/sqlite/open.js';
import { runCommandLater, type Done } from '../support/command.js';
import { HeldKeeper, KEPT_HOME } from '../support/held-keeper.js';
import { Cp, init, newHome, set } from '../support/uns.js';
import { until, within } from '../support/until.js';

const home = newHome();
const password = home.addProvider(1);
const toml = (more = '') => writeFileSync(join(home.dir, 'lcc.toml'), more);
let keeper: HeldKeeper;
afterEach(() => keeper.close());

const run = (name: string, ...args: string[]): Promise<Done> => runCommandLater(home.dir, name, args);

function providers(): number[] {
  const db = openReadOnly(join(home.dir, 'lcc.db'));
  try {
    return db.prepare<[], number>('SELECT pid FROM pidb ORDER BY pid').pluck().all();
  } finally {
    db.close();
  }
}

/** Commands that write, each with what they write. */
const WRITING: readonly (readonly [name: string, kept: string, ...args: string[]])[] = [
  ['lccpidb', 'lcc', 'set', '--pid=1', '--priority=2'],
  ['lccrail', 'clear', 'target', 'add', 'www'],
  ['lccclear', 'clear', '--target=www', '/a'],
  ['lccclearq', 'clear', '--drop=1', '--yes'],
  ['lccrs', 'rs', 'operator', 'add', 'ann'],
];

describe('a command that writes in a kept home', () => {
  before(() => toml(KEPT_HOME));

  for (const [name, kept, ...args] of WRITING)
    it(`${name} ${args.join(' ')} ends when that is in the engine, and not before`, async () => {
      keeper = await new HeldKeeper(home.dir).open();
      keeper.hold();
      let done: Done | undefined;
      const ended = run(name, ...args).then(each => (done = each));
      await keeper.holds(kept);
      assert.equal(done, undefined);
      keeper.release();
      const { status, stderr } = await ended;
      assert.equal(status, 0, stderr);
    });

  it('writes nothing and ends with 75 without a keeper, or where another machine has the home, which it names', async () => {
    keeper = new HeldKeeper(home.dir);
    const add = ['add', '--pid=2', '--root=http://127.0.0.1:2/'];
    const without = await run('lccpidb', ...add);
    assert.deepEqual([without.status, providers()], [75, [1]]);
    assert.match(without.stderr, /lccd-keep does not run/);
    await keeper.open();
    keeper.lease = { word: 'standby', owner: 'h2.example.org' };
    for (const [name, , ...args] of [['lccpidb', 'lcc', ...add] as const, ...WRITING]) {
      const { status, stderr } = await run(name, ...args);
      assert.equal(status, 75, name);
      assert.match(stderr, /served by h2\.example\.org/, name);
    }
    assert.deepEqual(providers(), [1]);
    assert.equal((await run('lccpidb', 'list')).status, 0, 'reading needs no keeper');
  });

  it('ends with 75 when the home is lost before it is in the engine', async () => {
    keeper = await new HeldKeeper(home.dir).open();
    keeper.hold();
    const ended = run('lccpidb', 'set', '--pid=1', '--priority=1');
    await keeper.holds('lcc');
    keeper.refuse('another machine has it');
    assert.equal((await ended).status, 75);
  });
});

describe('lccq in a kept home', () => {
  before(() => toml(KEPT_HOME));
  const cursor = join(home.dir, 'c.cursor');

  it('ends with 75 and leaves its cursor where the engine does not take what it has looked at', async () => {
    keeper = await new HeldKeeper(home.dir).open();
    keeper.hold();
    const ended = run('lccq', `--cursor=${cursor}`, '--format=jsonl');
    await keeper.holds('lcc');
    keeper.refuse('the engine has not taken it');
    const { status, stdout, stderr } = await ended;
    assert.deepEqual([status, stdout], [75, '']);
    assert.match(stderr, /the engine has not taken it/);
    assert.ok(!existsSync(`${cursor}.next`));
    assert.equal((await run('lccq', '--format=jsonl')).status, 0, 'without a cursor nothing is asked');
  });

  it('offers its cursor when the engine has it', async () => {
    keeper = await new HeldKeeper(home.dir).open();
    const { status } = await run('lccq', `--cursor=${cursor}`, '--format=jsonl');
    assert.equal(status, 0);
    assert.ok(existsSync(`${cursor}.next`));
    assert.deepEqual(keeper.asked, ['lcc']);
  });
});

describe('daemons of a kept home', () => {
  before(() => toml(KEPT_HOME));

  it('accept a set when the engine has it; a Queue Manager that has lost the home ends with 75', async () => {
    keeper = await new HeldKeeper(home.dir).open();
    const qm = await home.startQm();
    const uns = await home.start();
    keeper.hold();
    const cp = new Cp(uns.port).send(init(1, password) + set('partial', 'a'));
    await keeper.holds('lcc');
    assert.doesNotMatch(cp.heard, /set_accepted/);
    keeper.release();
    assert.match(await cp.reply, /set_accepted received="1"/);
    keeper.tell({ word: 'standby', owner: 'h2' });
    assert.equal(await within('the Queue Manager ends', qm.ended), 75);
    assert.equal(await within('the UNS ends', uns.ended), 75);
  });

  it('without store.url connect to no keeper, and wait for none', async () => {
    toml();
    keeper = await new HeldKeeper(home.dir).open();
    const qm = await home.startQm();
    const uns = await home.start();
    const cp = new Cp(uns.port).send(init(1, password) + set('partial', 'b'));
    assert.match(await cp.reply, /set_accepted received="1"/);
    assert.equal((await run('lccpidb', 'set', '--pid=1', '--priority=2')).status, 0);
    assert.equal((await run('lccq', `--cursor=${join(home.dir, 'd.cursor')}`)).status, 0);
    await until('the set was absorbed', () => uns.log.includes('set absorbed'));
    assert.equal(keeper.came, 0);
    for (const daemon of [uns, qm]) await daemon.stop();
  });
});
