/** Random histories of a home: what a machine makes of the engine is the home, whatever died. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { openDatabase, type Db } from '../../src/db/sqlite/open.js';
import { KeptHome } from '../support/keeper.js';
import { killAt, type KillEnv } from '../support/kills.js';
import { isLong } from '../support/long.js';

const STEPS = ['keep.guard.moved', 'keep.shipped.sent', 'keep.shipped.committed'];

/** Numbers that a seed decides. */
function numbers(seed: number): (below: number) => number {
  let state = seed * 2_654_435_761 + 1;
  return below => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b_3c6d) + 0x9e37_79b9) >>> 0;
    return (state >>> 8) % below;
  };
}

/** What the Queue Manager, commands and people do to lcc.db. */
function act(db: Db, pick: (below: number) => number, mayMove: boolean): string {
  const rows = 1 + pick(40);
  switch (pick(mayMove ? 9 : 7)) {
    case 0:
    case 1:
      db.transaction(() => {
        for (let i = 0; i < rows; i++)
          db.prepare('INSERT INTO big(content) VALUES (randomblob(?))').run(pick(9000));
      })();
      return 'rows';
    case 2:
      db.prepare('UPDATE big SET content = randomblob(500) WHERE n % 17 = ?').run(pick(17));
      return 'scattered';
    case 3:
      db.prepare('DELETE FROM big WHERE n % 5 = ?').run(pick(5));
      return 'removed';
    case 4:
      db.prepare("UPDATE counter SET value = value + 1 WHERE name = 'seq'").run();
      return 'one page';
    case 5:
      if (pick(4) === 0) db.exec('VACUUM');
      return 'VACUUM';
    case 6: {
      // Taken back: its frames may lie in the log.
      db.exec('BEGIN');
      db.prepare('UPDATE big SET content = zeroblob(3000)').run();
      db.exec('ROLLBACK');
      return 'taken back';
    }
    default:
      db.pragma(`wal_checkpoint(${['PASSIVE', 'RESTART', 'TRUNCATE'][pick(3)] ?? ''})`);
      return 'checkpoint';
  }
}

async function history(seed: number, lives: readonly (KillEnv | undefined)[], losses = 0): Promise<KeptHome> {
  const pick = numbers(seed);
  const home = new KeptHome();
  const db = openDatabase(home.path);
  db.pragma('busy_timeout = 50');
  // The Queue Manager makes no checkpoint while the keeper is away.
  db.pragma('wal_autocheckpoint = 0');
  db.exec('CREATE TABLE big(n INTEGER PRIMARY KEY, content BLOB NOT NULL)');
  const first = home.keeper();
  await first.complete();
  await first.kill();
  for (const [life, env] of lives.entries()) {
    const keeper = home.keeper({ LCC_TEST_LOSSES: String(losses), ...env });
    assert.notEqual(await keeper.began(), 'other', `life ${life} of seed ${seed}`);
    // A checkpoint beside a keeper without guards, yet or any more, is another story (standing.test.ts).
    const isLasting = env === undefined || !('LCC_CRASH_AT' in env);
    let hasGuards = isLasting && pick(3) > 0 && (await keeper.shipped());
    let done = '';
    for (let i = 0; i < 12 && !keeper.isOver; i++) {
      done += ` ${act(db, pick, isLasting && hasGuards)}`;
      if (pick(3) > 0) continue;
      if (!(await keeper.shipped())) break;
      hasGuards = true;
      if (pick(4) === 0) await home.requireSame(`in life ${life} of seed ${seed} after${done}`);
    }
    if (env === undefined) await keeper.kill();
    else if (!keeper.isOver) await keeper.shipped();
    if (!keeper.isOver) await keeper.kill();
    for (let i = 0; i < 3; i++) act(db, pick, false);
  }
  const last = home.keeper();
  assert.notEqual(await last.began(), 'other');
  assert.ok(await last.shipped());
  await home.requireSame(`at the end of seed ${seed}`);
  db.close();
  await last.end();
  const again = home.keeper();
  assert.equal(await again.began(), 'ended');
  assert.ok(await again.shipped());
  await again.kill();
  return home;
}

const RUNS = isLong ? 40 : 1;

for (let seed = 1; seed <= RUNS; seed++)
  it(`history ${seed}: the copy is the home, whatever the keeper died of`, async () => {
    const kills = STEPS.map(step => killAt(seed % 2 === 0 ? `${step}:3` : step).env);
    const home = await history(seed, [...kills, undefined, undefined]);
    await home.close();
  });

it('answers of the engine that are lost, before a change or after it, change nothing', async () => {
  const home = await history(77, [{}, undefined, {}], 0.3);
  await home.close();
});
