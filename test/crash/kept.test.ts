/** Daemons of a kept home killed at the steps that it has more than another: nothing is told twice that differs, or lost. */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { openReadOnly } from '../../src/db/sqlite/open.js';
import { HeldKeeper, KEPT_HOME } from '../support/held-keeper.js';
import { Cp, init, newHome, set, type Home } from '../support/uns.js';

let home: Home;
let password: string;
let keeper: HeldKeeper;
beforeEach(async () => {
  home = newHome();
  password = home.addProvider(7);
  home.configure(KEPT_HOME);
  keeper = await new HeldKeeper(home.dir).open();
});
afterEach(() => keeper.close());

function queued(): string[] {
  const db = openReadOnly(join(home.dir, 'lcc.db'));
  try {
    return db.prepare<[], string>('SELECT curl FROM qdb ORDER BY curl').pluck().all();
  } finally {
    db.close();
  }
}

describe('a kept home', () => {
  it('killed at uns.absorbed.told: the set is absorbed, its CP sends it again, and it is there once', async () => {
    const qm = await home.startQm();
    const doomed = await home.start({ LCC_CRASH_AT: 'uns.absorbed.told' });
    const reply = await new Cp(doomed.port).send(init(7, password) + set('partial', 'a')).reply;
    assert.equal(await doomed.ended, 'SIGKILL');
    assert.doesNotMatch(reply, /set_accepted/);
    const next = await home.start();
    const again = await new Cp(next.port).send(init(7, password) + set('partial', 'a')).reply;
    assert.match(again, /set_accepted received="1"/);
    assert.equal(queued().length, 1);
    for (const daemon of [next, qm]) await daemon.stop();
  });

  it('killed at qm.gate.opened: the set comes again, and its CP hears of it once', async () => {
    const doomed = await home.startQm({ LCC_CRASH_AT: 'qm.gate.opened' });
    const uns = await home.start();
    const cp = new Cp(uns.port).send(init(7, password) + set('partial', 'a'));
    assert.equal(await doomed.ended, 'SIGKILL');
    assert.doesNotMatch(cp.heard, /set_accepted/);
    const next = await home.startQm();
    assert.match(await cp.reply, /set_accepted received="1"/);
    assert.equal(queued().length, 1);
    for (const daemon of [uns, next]) await daemon.stop();
  });

  it('killed at uns.spool.cleared, after another machine had it: the next start does the same', async () => {
    const spool = join(home.dir, 'spool/uns/uns');
    mkdirSync(spool, { recursive: true });
    for (const place of [spool, join(spool, '..')]) writeFileSync(join(place, 'epoch'), '4\n');
    const doomed = home.begin({ LCC_CRASH_AT: 'uns.spool.cleared' });
    assert.equal(await doomed.ended, 'SIGKILL');
    assert.equal(readFileSync(join(spool, 'epoch'), 'utf8'), '4\n');
    const next = await home.start();
    assert.deepEqual(home.spooled(), []);
    assert.equal(readFileSync(join(spool, 'epoch'), 'utf8'), '1\n');
    await next.stop();
  });
});
