/** What a Galera cluster makes different: the next statement may be answered by another node, which lags, or by none for a while. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { EngineLedger } from '../../../src/db/engine/engine-ledger.js';
import { Engine as EngineNodes } from '../../../src/db/engine/engine.js';
import { HomeRows, makeTables } from '../../../src/db/engine/home-rows.js';
import { LeaseRows } from '../../../src/db/engine/lease-rows.js';
import { engineAccount } from '../../../src/db/engine/nodes.js';
import { systemClock } from '../../../src/lib/clock.js';
import { silentLog } from '../../../src/lib/log.js';
import { EngineProxy, type Loss } from '../../support/engine-proxy.js';
import { Engine, noGalera, TRIO } from '../../support/engine.js';
import { until } from '../../support/until.js';

const never = new AbortController().signal;

const started = noGalera === false ? await Engine.start({ hosts: TRIO }) : undefined;

describe('an engine of three nodes', { skip: noGalera }, () => {
  const engine = started as Engine;
  let proxy: EngineProxy;
  const opened: EngineNodes[] = [];
  let shard = 0;

  before(async () => {
    proxy = await EngineProxy.to(engine.node.port);
    const admin = nodes(engine.url().replace('lcc@', 'lcc_admin@'), 'lcc_admin');
    await makeTables(admin, never);
  });
  after(() => {
    for (const each of opened) each.close();
    proxy.close();
  });

  function nodes(url = engine.url(), user: 'lcc' | 'lcc_admin' = 'lcc'): EngineNodes {
    const store = { url, passwordFile: engine.passwordFile(user), tlsCa: '', plain: false };
    const made = new EngineNodes(engineAccount(store), { clock: systemClock, log: silentLog });
    opened.push(made);
    return made;
  }

  async function home(): Promise<number> {
    await new HomeRows(nodes(), ++shard).record('h1', false, { epoch: 0, n: 0 }, never);
    return shard;
  }

  async function there(mine: number, last: number): Promise<string[]> {
    const found: string[] = [];
    for await (const { n, data } of new EngineLedger(nodes(engine.url(2)), mine).log('lcc', 0, last, never))
      found.push(`${n} ${data.toString()}`);
    return found;
  }

  it('has a shipment once when the next node is asked, whether the COMMIT or its answer was lost', async () => {
    const mine = await home();
    const others = engine.nodes.slice(1).map(({ address, port }) => `${address}:${port}`);
    const losses: Loss[] = ['after', 'before', 'after', 'before'];
    for (const [i, loss] of losses.entries()) {
      const through = nodes(`mariadb://lcc@127.0.0.1:${proxy.port},${others.join()}/lcc`);
      const ledger = new EngineLedger(through, mine);
      const ship = (n: number, text: string, lose: () => void) => {
        const pieces = losing([Buffer.from(text)], lose);
        return ledger.ship({ name: 'lcc', n, pos: `${n}`, pieces }, 1, never);
      };
      assert.equal(await ship(2 * i + 1, 'none', () => undefined), 'done');
      assert.equal(await ship(2 * i + 2, loss, () => proxy.lose(loss)), 'done');
      assert.equal(proxy.lost, i + 1);
      assert.equal(through.failovers, 1);
    }
    assert.deepEqual(
      await there(mine, 9),
      losses.flatMap((loss, i) => [`${2 * i + 1} none`, `${2 * i + 2} ${loss}`]),
    );
  });

  it('acknowledges nothing of an owner after 300 claims on another node', async () => {
    const mine = await home();
    const acknowledged: { n: number; epoch: number }[] = [];
    const claims: { epoch: number; n: number }[] = [];
    const over = new AbortController();
    const shipper = (async () => {
      const own = new EngineLedger(nodes(engine.url(0)), mine);
      while (!over.signal.aborted) {
        const state = await own.state('lcc', never);
        assert.ok(state);
        for (let n = state.n + 1; !over.signal.aborted; n++) {
          const pieces = [Buffer.from(`${state.epoch}`)];
          const pos = `${state.epoch} ${n}`;
          if ((await own.ship({ name: 'lcc', n, pos, pieces }, state.epoch, never)) === 'lost') break;
          acknowledged.push({ n, epoch: state.epoch });
        }
      }
    })();
    const url = engine.url(1);
    const lease = new LeaseRows(nodes(url), mine, 'h2');
    const ledger = new EngineLedger(nodes(url), mine);
    while (claims.length < 300) {
      const look = await lease.look(never);
      assert.ok(look);
      const epoch = await lease.claim(look, never);
      if (epoch !== undefined) claims.push({ epoch, n: (await ledger.state('lcc', never))?.n ?? 0 });
    }
    over.abort();
    await shipper;
    let last = 0;
    for (const { n, epoch } of acknowledged) {
      assert.equal(n, ++last);
      const next = claims.find(claim => claim.epoch > epoch);
      assert.ok(next === undefined || n <= next.n, `${n} of epoch ${epoch} after a claim at ${next?.n}`);
    }
    assert.ok(last > 0);
    assert.deepEqual(
      await there(mine, last),
      acknowledged.map(({ n, epoch }) => `${n} ${epoch}`),
    );
  });

  it('refuses a claim on a look of a node that lags', async () => {
    const mine = await home();
    const [h1, h2] = [
      new LeaseRows(nodes(engine.url(0)), mine, 'h1'),
      new LeaseRows(nodes(engine.url(1)), mine, 'h2'),
    ];
    const stale = await h2.look(never);
    assert.ok(stale);
    const lagging = engine.nodes[1];
    assert.ok(lagging);
    // It applies nothing of the others meanwhile.
    const holder = await lagging.connect();
    await holder.query('FLUSH TABLES WITH READ LOCK');
    const beats = h1.beat(1, () => undefined, never);
    await beats;
    await holder.query('UNLOCK TABLES');
    holder.destroy();
    assert.equal(await h2.claim(stale, never), undefined);
    assert.equal((await h2.lookSynced(never))?.owner, 'h1');
  });

  it('does a transaction again that lost against one of another node, which no statement of it outlives', async () => {
    const mine = await home();
    const other = engine.nodes[1];
    assert.ok(other);
    const through = nodes(engine.url(0));
    const look = `SELECT n FROM file WHERE shard = ? AND name = 'lcc'`;
    let tries = 0;
    const seen = await through.lane().run(async session => {
      const before = await session.all<{ n: number }>(look, mine);
      await session.all(look, mine);
      await session.change(`UPDATE file SET pos = 'ours' WHERE shard = ? AND name = 'lcc'`, mine);
      if (++tries <= 3) {
        await other.query(`UPDATE lcc.file SET n = n + 1 WHERE shard = ${mine} AND name = 'lcc'`);
        // It has come to this node when that has it committed; only then a statement of its own is asked.
        await until('the other transaction is here', async () => {
          const [row] = await engine.node.query(look.replace('file', 'lcc.file').replace('?', `${mine}`));
          return Number(row?.['n']) !== before[0]?.n;
        });
      }
      const again = await session.all<{ pos: string }>(
        `SELECT pos, ${tries} FROM file WHERE shard = ? AND name = 'lcc'`,
        mine,
      );
      return [tries, again[0]?.pos];
    }, never);
    assert.deepEqual(seen, [4, 'ours']);
    assert.equal(through.failovers, 0);
  });

  it('goes on at the next node when one is killed, and owners stay', async () => {
    const mine = await home();
    const through = nodes(engine.url(1));
    const ledger = new EngineLedger(through, mine);
    const lease = new LeaseRows(through, mine, 'h1');
    const ship = (n: number) =>
      ledger.ship({ name: 'lcc', n, pos: `${n}`, pieces: [Buffer.from('x')] }, 1, never);
    assert.equal(await ship(1), 'done');
    assert.equal(await lease.beat(1, () => undefined, never), true);
    await engine.nodes[1]?.kill();
    const beganMs = performance.now();
    assert.equal(await ship(2), 'done');
    assert.equal(await lease.beat(1, () => undefined, never), true);
    const tookMs = performance.now() - beganMs;
    assert.ok(through.failovers > 0);
    assert.ok(tookMs < 60_000, `${tookMs} ms`);
    assert.deepEqual(await there(mine, 2), ['1 x', '2 x']);
  });
});

/** Pieces that call `action` when they are gone through. */
function* losing(pieces: readonly Buffer[], action: () => void): Generator<Buffer> {
  action();
  yield* pieces;
}
