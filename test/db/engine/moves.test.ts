/** Moves of providers, in a real engine. */
import assert from 'node:assert/strict';
import { before, beforeEach, describe, it } from 'node:test';
import { Engine } from '../../../src/db/engine/engine.js';
import { makeTables } from '../../../src/db/engine/home-rows.js';
import { EngineMoves, type Move, type MoveStage } from '../../../src/db/engine/moves.js';
import { engineAccount } from '../../../src/db/engine/nodes.js';
import { systemClock } from '../../../src/lib/clock.js';
import { silentLog } from '../../../src/lib/log.js';
import { atEnd } from '../../support/at-end.js';
import { Engine as TestEngine, noEngine } from '../../support/engine.js';

const stop = new AbortController().signal;

const opened: Engine[] = [];
atEnd(() => {
  for (const engine of opened) engine.close();
});

describe('the moves of providers', { skip: noEngine }, () => {
  let test: TestEngine;
  let moves: EngineMoves;

  const open = (user: 'lcc' | 'lcc_admin' = 'lcc'): Engine => {
    const url = test.url().replace('//lcc@', `//${user}@`);
    const account = engineAccount({ url, passwordFile: test.passwordFile(user), tlsCa: '', plain: false });
    const engine = new Engine(account, { clock: systemClock, log: silentLog });
    opened.push(engine);
    return engine;
  };
  before(async () => {
    test = await TestEngine.start();
    await makeTables(open('lcc_admin'), stop);
    moves = new EngineMoves(open());
  });
  beforeEach(async () => {
    for (const table of ['pmdb', 'home', 'move']) await test.node.query(`delete from lcc.${table}`);
    await test.node.query("insert into lcc.home values (0, 'l', 1, 'm', 1), (1, 'l', 1, 'm', 1)");
    await test.node.query("insert into lcc.pmdb values (7, 0, 'served'), (8, 1, 'served')");
  });

  const located = async () => {
    const [row] = await test.node.query('select shard, state from lcc.pmdb where pid = 7');
    return `${String(row?.['shard'])} ${String(row?.['state'])}`;
  };
  const through = async (move: Move, ...stages: MoveStage[]): Promise<Move> => {
    let at = move;
    for (const stage of stages) {
      assert.equal(await moves.reach({ ...at, n: 5 }, stage, stop), true);
      assert.equal(await moves.reach({ ...at, n: 5 }, stage, stop), true, 'said again after a lost answer');
      at = { ...at, stage, n: 5 };
    }
    return at;
  };

  it('go through their stages, and the provider has its new home from moved on', async () => {
    const asked = await moves.ask(7, 1, stop);
    assert.deepEqual(await moves.ask(7, 1, stop), asked, 'asked again after a lost answer');
    assert.equal(await located(), '0 moving');
    const copied = await through(asked, 'closed', 'copied');
    assert.equal(await located(), '0 moving');
    assert.deepEqual(await moves.of(1, stop), [{ pid: 7, src: 0, dst: 1, stage: 'copied', n: 5 }]);
    const moved = await through(copied, 'moved');
    assert.equal(await located(), '1 moving');
    await through(moved, 'cleared', 'served');
    assert.equal(await located(), '1 served');
    assert.deepEqual(await moves.all(stop), []);
  });

  it('are taken back until the provider has moved, and only forward from then on', async () => {
    const copied = await through(await moves.ask(7, 1, stop), 'closed', 'copied');
    const cancelled = await moves.cancel(7, stop);
    assert.equal(await moves.reach(copied, 'moved', stop), false, 'the new home is told that it is too late');
    await through(cancelled, 'withdrawn', 'served');
    assert.equal(await located(), '0 served');
    await through(await moves.ask(7, 1, stop), 'closed', 'copied', 'moved');
    await assert.rejects(moves.cancel(7, stop), /provider 7 has moved to home 1/);
    assert.equal(await located(), '1 moving');
  });

  it('end one way where one is taken back in the moment in which the provider moves', async () => {
    const others = new EngineMoves(open());
    for (let n = 0; n < 20; n++) {
      const copied = await through(await moves.ask(7, 1, stop), 'closed', 'copied');
      const [cancelled, isMoved] = await Promise.all([
        others.cancel(7, stop).then(
          () => true,
          () => false,
        ),
        moves.reach(copied, 'moved', stop),
      ]);
      assert.notEqual(cancelled, isMoved);
      assert.equal(await located(), isMoved ? '1 moving' : '0 moving');
      await test.node.query('delete from lcc.move');
      await test.node.query("update lcc.pmdb set shard = 0, state = 'served' where pid = 7");
    }
  });

  it('are refused for a provider that moves, that no home has, that is there, or to a home that is not', async () => {
    await moves.ask(7, 1, stop);
    await assert.rejects(moves.ask(7, 0, stop), /provider 7 moves from home 0 to home 1 already/);
    await assert.rejects(moves.ask(9, 1, stop), /no home has provider 9/);
    await assert.rejects(moves.ask(8, 1, stop), /home 1 has provider 8 already/);
    await assert.rejects(moves.ask(8, 4, stop), /the engine has no home 4/);
    await assert.rejects(moves.cancel(8, stop), /provider 8 does not move/);
  });

  it('skip no stage', () => {
    const move: Move = { pid: 7, src: 0, dst: 1, stage: 'asked', n: 0 };
    assert.throws(() => void moves.reach(move, 'moved', stop), /move 7: asked does not become moved/);
    assert.throws(() => void moves.reach({ ...move, stage: 'moved' }, 'cancelled', stop), /does not become/);
  });
});
