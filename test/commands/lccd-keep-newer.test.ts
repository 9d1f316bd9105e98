/** Keepers of different releases: one that is older than the databases stands by, and serves nothing of them. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { askStatus, controlSocket } from '../../src/daemon/ask.js';
import { SCHEMA_VERSION } from '../../src/db/sqlite/open.js';
import { openSqlite } from '../../src/lib/sqlite.js';
import type { Daemon } from '../support/daemon.js';
import { Engine, noEngine } from '../support/engine.js';
import { KeptHomes } from '../support/kept-homes.js';
import type { Lcc } from '../support/lcc.js';
import { until } from '../support/until.js';

const started = noEngine === false ? await Engine.start() : undefined;
/** Two seconds more than a lease. */
const LONG_S = 5;
const REASON = /"reason":"[^"]*lcc\.db: a newer LCC made it; install that one on this machine"/g;

describe('A keeper of another release', { skip: noEngine }, () => {
  const engine = started as Engine;
  const homes = new KeptHomes(engine);

  /** A home with its owner and its standby, which has all. */
  async function pair(): Promise<[Lcc, Daemon, Lcc, Daemon]> {
    const [h1, h2] = [homes.machine('h1'), homes.machine('h2')];
    await homes.init(h1);
    await h1.addProvider();
    const owner = h1.startDaemon('lccd-keep');
    await owner.logged('"event":"base made","name":"lcc"');
    const standby = h2.startDaemon('lccd-keep');
    await h1.shows('lcckeep status', /standby: h2, has all/);
    return [h1, owner, h2, standby];
  }

  /** As the migration of a newer LCC. */
  function upgrade(lcc: Lcc): void {
    const db = openSqlite(join(lcc.home, 'lcc.db'));
    db.pragma(`user_version = ${SCHEMA_VERSION + 1}`);
    db.close();
  }
  const status = (lcc: Lcc) => askStatus(controlSocket(join(lcc.home, 'run'), 'lccd-keep'));

  it('says once that it is older than the databases, and takes nothing over', async () => {
    const [h1, owner, h2, standby] = await pair();
    upgrade(h1);
    await standby.logged('"event":"cannot take the home over"');
    await owner.stop('SIGKILL');
    await until('the lease is over for long', async () => Number((await status(h2))['beat_age']) > LONG_S);
    const { phase, epoch, standby_trouble: trouble } = await status(h2);
    assert.deepEqual([phase, epoch], ['standby', 1]);
    assert.match(String(trouble), /a newer LCC made it/);
    assert.equal(standby.log.match(REASON)?.length, 1);
    await standby.stop();
  });

  it('gives a home back that it took the moment after they were upgraded', async () => {
    const [h1, owner, h2, standby] = await pair();
    // What the owner ships last is in the engine, and nobody can read it for a while.
    standby.child.kill('SIGSTOP');
    upgrade(h1);
    await until('it is in the engine', async () => (await status(h1))['unshipped_bytes'] === 0);
    const connection = await engine.node.connect();
    await connection.query('lock tables lcc.log write');
    await owner.stop('SIGKILL');
    standby.child.kill('SIGCONT');
    await standby.logged('"event":"opening"');
    await connection.end();
    assert.equal(await standby.ended, 75);
    assert.equal(standby.log.match(REASON)?.length, 1);
    assert.doesNotMatch(standby.log, /"event":"owner"/);
    const again = h2.startDaemon('lccd-keep');
    await again.logged('"event":"cannot take the home over"');
    assert.match((await h2.sh('lcckeep status')).stdout, /epoch 2\nowner: none/);
    await again.stop();
  });

  it('serves a home that an older lcckeep has made, which did not know of logins', async () => {
    const lcc = homes.machine('h1');
    await homes.init(lcc);
    await lcc.addProvider();
    await engine.node.query(`DELETE FROM lcc.file WHERE shard = ${homes.shard} AND name = 'logins'`);
    const keeper = lcc.startDaemon('lccd-keep');
    await keeper.logged('"event":"owner"');
    await lcc.shows('lcckeep status', /^logins: /m);
    await keeper.stop();
  });
});
