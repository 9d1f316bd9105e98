import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { EngineLedger } from '../../../src/db/engine/engine-ledger.js';
import { Engine as EngineNodes } from '../../../src/db/engine/engine.js';
import { HomeRows, makeTables } from '../../../src/db/engine/home-rows.js';
import { LeaseRows } from '../../../src/db/engine/lease-rows.js';
import { engineAccount } from '../../../src/db/engine/nodes.js';
import { systemClock } from '../../../src/lib/clock.js';
import { silentLog } from '../../../src/lib/log.js';
import { isLong } from '../../support/long.js';
import { EngineProxy } from '../../support/engine-proxy.js';
import { Engine, noEngine } from '../../support/engine.js';
import { until } from '../../support/until.js';

const many = Array.from({ length: 100 }, (_, i) => i + 1);
const never = new AbortController().signal;

/** Ended with the process, or with the file. */
const started = noEngine === false ? await Engine.start() : undefined;

describe('an engine', { skip: noEngine }, () => {
  const engine = started as Engine;
  let proxy: EngineProxy;
  const opened: EngineNodes[] = [];
  /** Warnings since the last of them was made. */
  const told: string[] = [];
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
    told.length = 0;
    const log = { ...silentLog, warn: (event: string) => void told.push(event) };
    const made = new EngineNodes(engineAccount(store), { clock: systemClock, log });
    opened.push(made);
    return made;
  }

  /** A home of its own. */
  async function home(through = nodes()) {
    const mine = ++shard;
    await new HomeRows(through, mine).record('h1', false, { epoch: 0, n: 0 }, never);
    const ledger = new EngineLedger(through, mine);
    return {
      shard: mine,
      ledger,
      lease: (machine: string, by = nodes()) => new LeaseRows(by, mine, machine),
      ship: (n: number, pieces: Buffer[] = [Buffer.from(`piece of ${n}`)], epoch = 1) =>
        ledger.ship({ name: 'lcc', n, pos: `after ${n}`, pieces }, epoch, never),
      read: async (from: number, to: number) => {
        const rows: string[] = [];
        for await (const { n, k, data } of ledger.log('lcc', from, to, never))
          rows.push(`${n}.${k} ${data.length > 40 ? data.length : data.toString()}`);
        return rows;
      },
    };
  }

  it('has the shipments of a database in order, and the place up to which they go', async () => {
    const { ledger, ship, read } = await home();
    assert.equal(await ship(1), 'done');
    assert.equal(await ship(2, [Buffer.from('a'), Buffer.from('b')]), 'done');
    assert.deepEqual(await ledger.state('lcc', never), { epoch: 1, n: 2, pos: 'after 2', base: 0 });
    assert.deepEqual(await read(0, 2), ['1.0 piece of 1', '2.0 a', '2.1 b']);
    assert.deepEqual(await read(1, 1), []);
    assert.deepEqual(await ledger.state('rs', never), { epoch: 1, n: 0, pos: '', base: 0 });
  });

  it('has a shipment once, whether the COMMIT or its answer was lost', async () => {
    const through = nodes(`mariadb://lcc@127.0.0.1:${proxy.port}/lcc`);
    const { ship, read, ledger } = await home(through);
    for (const [i, loss] of (['after', 'before', 'after'] as const).entries()) {
      proxy.lose(loss);
      assert.equal(await ship(i + 1), 'done');
      assert.equal(proxy.lost, i + 1);
    }
    assert.deepEqual(await read(0, 9), ['1.0 piece of 1', '2.0 piece of 2', '3.0 piece of 3']);
    assert.equal((await ledger.state('lcc', never))?.n, 3);
  });

  it('lets nobody ship who has lost the home', async () => {
    const { ship, lease, ledger, shard: mine } = await home();
    await ship(1);
    const other = lease('h2');
    const look = await other.look(never);
    assert.ok(look);
    assert.equal(await other.claim(look, never), 2);
    assert.equal(await ship(2), 'lost');
    assert.equal(await ledger.putBlock('lcc', 1, 0, Buffer.from('x'), 1, never), 'lost');
    assert.equal(await ledger.completeBase('lcc', 1, 1, never), 'lost');
    assert.equal(await lease('h1').beat(1, () => undefined, never), false);
    assert.deepEqual(await ledger.state('lcc', never), { epoch: 2, n: 1, pos: 'after 1', base: 0 });
    assert.equal(await lease('h2').beat(2, () => undefined, never), true);
    assert.equal((await new HomeRows(nodes(), mine).state(never)).home?.owner, 'h2');
  });

  it('puts a shipment of more than 16 MiB in parts, which count together', async () => {
    const { ship, read, ledger } = await home();
    const piece = randomBytes(1024 * 1024);
    assert.equal(
      await ship(
        1,
        Array.from({ length: 40 }, () => piece),
      ),
      'done',
    );
    assert.deepEqual(
      await read(0, 1),
      Array.from({ length: 40 }, (_, k) => `1.${k} 1048576`),
    );
    assert.equal((await ledger.state('lcc', never))?.n, 1);
  });

  it('counts no piece of a shipment that was never whole', async () => {
    const { ship, read, shard: mine } = await home();
    await ship(1);
    await engine.node.query(
      `INSERT INTO lcc.log VALUES ${Array.from({ length: 40 }, (_, k) => `(${mine}, 'lcc', 2, ${k}, 'old')`).join()}`,
    );
    const { ledger } = { ledger: new EngineLedger(nodes(), mine) };
    assert.equal(
      await ledger.ship({ name: 'lcc', n: 2, pos: '', pieces: [Buffer.from('new')] }, 1, never),
      'done',
    );
    assert.deepEqual(await read(0, 2), ['1.0 piece of 1', '2.0 new']);
  });

  it('removes the older base and the log that a new base has', async () => {
    const { ship, read, ledger, shard: mine } = await home();
    for (let n = 1; n <= 40; n++) await ship(n);
    const put = (base: number, i: number) =>
      ledger.putBlock('lcc', base, i, Buffer.from(`${base}.${i}`), 1, never);
    for (const i of [0, 1, 2]) await put(20, i);
    // Begun again under its number, and smaller.
    for (const i of [0, 1]) await put(20, i);
    await ledger.completeBase('lcc', 20, 1, never);
    for (let i = 0; i < 40; i++) await put(30, i);
    await ledger.completeBase('lcc', 30, 1, never);
    assert.equal((await ledger.state('lcc', never))?.base, 30);
    const rows = await engine.node.query(
      `SELECT base, count(*) AS blocks FROM lcc.base WHERE shard = ${mine} GROUP BY base`,
    );
    assert.deepEqual(
      rows.map(({ base, blocks }) => [Number(base), Number(blocks)]),
      [[30, 40]],
    );
    assert.deepEqual((await read(0, 40))[0], '31.0 piece of 31');
    const blocks: string[] = [];
    for await (const { data } of ledger.base('lcc', 30, never)) blocks.push(data.toString());
    assert.deepEqual(
      blocks,
      Array.from({ length: 40 }, (_, i) => `30.${i}`),
    );
  });

  it('acknowledges nothing of an owner after a claim', async () => {
    const { shard: mine } = await home();
    const acknowledged: { n: number; epoch: number }[] = [];
    const claims: { epoch: number; n: number }[] = [];
    const ledger = new EngineLedger(nodes(), mine);
    const over = new AbortController();
    const shipper = (async () => {
      const own = new EngineLedger(nodes(), mine);
      while (!over.signal.aborted) {
        const there = await own.state('lcc', never);
        assert.ok(there);
        for (let n = there.n + 1; ; n++) {
          const pieces = [Buffer.from(`${there.epoch} ${n}`)];
          if ((await own.ship({ name: 'lcc', n, pos: '', pieces }, there.epoch, never)) === 'lost') break;
          acknowledged.push({ n, epoch: there.epoch });
          if (over.signal.aborted) break;
        }
      }
    })();
    const lease = new LeaseRows(nodes(), mine, 'h2');
    while (claims.length < (isLong ? 3000 : 300)) {
      const look = await lease.look(never);
      assert.ok(look);
      const epoch = await lease.claim(look, never);
      if (epoch === undefined) continue;
      claims.push({ epoch, n: (await ledger.state('lcc', never))?.n ?? 0 });
    }
    over.abort();
    await shipper;
    assert.ok(acknowledged.length > 0);
    let last = 0;
    for (const { n, epoch } of acknowledged) {
      assert.equal(n, ++last, 'each number is acknowledged once, in order');
      // What the claim of the next epoch found is all that any older one was told.
      const next = claims.find(claim => claim.epoch > epoch);
      if (next !== undefined) assert.ok(n <= next.n, `${n} of epoch ${epoch} after the claim at ${next.n}`);
    }
    const there: string[] = [];
    for await (const { n, data } of ledger.log('lcc', 0, last, never)) {
      assert.equal(n, there.push(data.toString()));
    }
    assert.deepEqual(
      there,
      acknowledged.map(({ n, epoch }) => `${epoch} ${n}`),
    );
  });

  it('takes the home from an owner that is silent, once, and from none that beats', async () => {
    const { lease } = await home();
    const [h1, h2, h3] = ['h1', 'h2', 'h3'].map(name => lease(name));
    assert.ok(h1 && h2 && h3);
    const late = await h2.look(never);
    assert.ok(late);
    assert.equal(await h1.beat(1, () => undefined, never), true);
    assert.equal(await h2.claim(late, never), undefined);
    const look = await h2.look(never);
    assert.ok(look);
    const won = await Promise.all([h2.claim(look, never), h3.claim(look, never)]);
    assert.deepEqual(
      won.filter(epoch => epoch !== undefined),
      [2],
    );
    await h2.free(1, never);
    const winner = won[0] === 2 ? h2 : h3;
    await winner.free(2, never);
    assert.equal((await h1.lookSynced(never))?.owner, '');
  });

  it('knows its own claim again when the answer was lost', async () => {
    const { lease } = await home();
    const h2 = lease('h2', nodes(`mariadb://lcc@127.0.0.1:${proxy.port}/lcc`));
    const look = await h2.lookSynced(never);
    assert.ok(look);
    proxy.lose('after');
    const lost = proxy.lost;
    assert.equal(await h2.claim(look, never), 2);
    assert.equal(proxy.lost, lost + 1);
  });

  it('is asked again, and is not away, when two transactions wait for each other', async () => {
    const through = nodes();
    const [first, second] = [(await home()).shard, (await home()).shard];
    const beat = (of: number) => `UPDATE lcc.pulse SET beat = beat + 1 WHERE shard = ${of}`;
    const other = await engine.node.connect();
    await other.beginTransaction();
    // The one that has changed less is given up.
    await other.query(`INSERT INTO lcc.pmdb VALUES ${many.map(pid => `(${pid}, 0, 'served')`).join()}`);
    await other.query(beat(second));
    const waiting = async () => {
      const [row] = await engine.node.query(
        "SELECT 1 FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'",
      );
      return row !== undefined;
    };
    let tries = 0;
    let crossed: Promise<void> | undefined;
    await through.lane().run(async session => {
      tries++;
      await session.change(beat(first));
      crossed ??= other.query(beat(first)).then(() => other.rollback());
      if (tries === 1) await until('the other one waits', waiting);
      await session.change(beat(second));
    }, never);
    await crossed;
    await other.end();
    assert.deepEqual([tries, through.failovers, told], [2, 0, []]);
  });

  it('is away when a transaction met another five times, or where its nodes have no majority', async () => {
    for (const [errno, times, isAway] of [
      [1213, 4, false],
      [1213, 5, true],
      [1205, 4, false],
      [1047, 1, true],
    ] as const) {
      const through = nodes();
      let tries = 0;
      await through.lane().run(async session => {
        if (++tries <= times)
          await session.all(`BEGIN NOT ATOMIC SIGNAL SQLSTATE '45000' SET MYSQL_ERRNO = ${errno}; END`);
      }, never);
      assert.deepEqual([tries, told], [times + 1, isAway ? ['engine away'] : []], `${errno}, ${times} times`);
    }
  });

  it('has a row for what an older lcckeep did not know of, made by the owner, once', async () => {
    const { shard: mine, ledger, lease } = await home();
    const forget = () => engine.node.query(`DELETE FROM lcc.file WHERE shard = ${mine} AND name = 'logins'`);
    const take = (epoch: number) => new EngineLedger(nodes(), mine).take('logins', epoch, never);
    await forget();
    const row = { epoch: 1, n: 0, pos: '', base: 0 };
    assert.deepEqual(await Promise.all([take(1), take(1), take(1)]), [row, row, row]);
    assert.equal(await ledger.ship({ name: 'logins', n: 1, pos: 'a', pieces: [] }, 1, never), 'done');
    assert.equal((await take(1))?.n, 1);
    await forget();
    const h2 = lease('h2');
    const look = await h2.lookSynced(never);
    assert.ok(look);
    assert.equal(await h2.claim(look, never), 2);
    assert.equal(await take(1), undefined);
    assert.equal(await ledger.state('logins', never), undefined);
    assert.deepEqual(await take(2), { ...row, epoch: 2 });
  });

  it('is waited for while it is frozen, and answers then', async () => {
    const through = nodes();
    const { ship } = await home(through);
    await ship(1);
    engine.node.freeze();
    const shipped = ship(2);
    await until('the silence is noticed', () => through.away !== undefined);
    const reason = through.away?.reason;
    engine.node.thaw();
    // Of the connection that was there, or of another.
    assert.match(reason ?? '', /no answer for 1500 ms|failed to create socket after 15\d\d ?ms/);
    assert.equal(await shipped, 'done');
    assert.equal(through.away, undefined);
  });

  it('is refused while it would lose what it has acknowledged, or cannot take a piece', async () => {
    const state = () => new EngineLedger(nodes(), 1).state('lcc', never);
    for (const [setting, bad, good] of [
      ['innodb_flush_log_at_trx_commit', 2, 1],
      ['max_allowed_packet', 1_048_576, 16_777_216],
    ] as const) {
      await engine.node.query(`SET GLOBAL ${setting} = ${bad}`);
      await assert.rejects(state(), { code: 'config', message: new RegExp(`set ${setting} = `) });
      await engine.node.query(`SET GLOBAL ${setting} = ${good}`);
    }
    await state();
  });

  it('says what to do where it has no tables, or does not know the password', async () => {
    await engine.node.query("CREATE DATABASE bare; GRANT ALL ON bare.* TO lcc@'%'").catch(() => undefined);
    const ask = (url: string, user: 'lcc' | 'lcc_admin') =>
      new EngineLedger(nodes(url, user), 1).state('lcc', never);
    await assert.rejects(ask(engine.url(), 'lcc_admin'), { code: 'config', message: /Access denied/ });
    await engine.node.query('CREATE DATABASE IF NOT EXISTS bare');
    await engine.node.query("GRANT ALL ON bare.* TO lcc@'%'");
    await assert.rejects(ask(engine.url().replace(/lcc$/, 'bare'), 'lcc'), {
      code: 'config',
      message: /lcckeep init/,
    });
  });

  it('makes a home the record once, and again only when told so', async () => {
    const { shard: mine, ship, ledger } = await home();
    await ship(1);
    const rows = new HomeRows(nodes(), mine);
    await assert.rejects(rows.record('h2', false, { epoch: 0, n: 0 }, never), /lcckeep init --again/);
    await rows.record('h2', true, { epoch: 7, n: 5 }, never);
    const { home: there, files } = await rows.state(never);
    assert.deepEqual(
      [there?.epoch, there?.owner, files.map(({ n }) => n)],
      [8, 'h2', [1_000_005, 1_000_005, 1_000_005, 1_000_005]],
    );
    assert.equal(await ledger.ship({ name: 'lcc', n: 1_000_006, pos: '', pieces: [] }, 8, never), 'done');
    await rows.remove(never);
    assert.deepEqual(await rows.state(never), { home: undefined, files: [], standbys: [] });
  });
});
