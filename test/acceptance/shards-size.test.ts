/**
 * A provider with very many urls, and with hours, a login and removals that are held back, moves to
 * another home and back while it sends, either side killed at each stage (acceptance 31 at its size).
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { openSqlite } from '../../src/lib/sqlite.js';
import { KeptCluster } from '../support/cluster.js';
import { noEngine } from '../support/engine.js';
import { killAt } from '../support/kills.js';
import { shell } from '../support/shell.js';
import { until } from '../support/until.js';

const URLS = Number(process.env['LCC_TEST_MOVED_URLS'] ?? 300);
const LONG_MS = 1_200_000;
/** Removals that are held back. */
const HELD = 40;
const HOUR_MS = 3_600_000;

/** The side that dies, at which step, in each of the moves to and fro. */
const KILLS = [
  ['source', 'qm.move.left'],
  ['destination', 'qm.move.copied:2'],
  ['destination', 'qm.move.reached'],
  ['destination', 'qm.move.reached:2'],
  ['source', 'qm.move.cleared'],
  ['destination', 'qm.move.settled'],
] as const;

describe('a provider with very many urls', { skip: noEngine }, () => {
  let homes: readonly [KeptCluster, KeptCluster];
  before(async () => {
    const first = await KeptCluster.start({ machines: 1, callers: 3, front: true });
    homes = [first, await KeptCluster.start({ beside: first })];
  });
  after(() => homes?.[0].remove());

  const query = (sql: string) => homes[0].engine.node.query(sql);
  const homeOf = async () =>
    Number((await query('select shard from lcc.pmdb where pid = 1'))[0]?.['shard']) as 0 | 1;
  const run = async (line: string, input = '') => {
    const { first, dir } = homes[await homeOf()];
    const { status, stdout, stderr } = await shell(line, first.env, dir, input);
    // That removals are held back is told with the next set: 1.
    assert.ok(
      status === 0 || (status === 1 && stdout.includes('code="205"')),
      `${line}: ${stdout} ${stderr}`,
    );
    return stdout;
  };

  async function deliver(names: readonly string[], more = ''): Promise<void> {
    const [{ callers, dir }] = homes;
    const { password, root } = callers.of(1);
    const tags = names.map(name => `<url curl="${name}" mimetype="text/html"${more}/>\n`).join('');
    await run(`lcccp -q --uns=unix:${dir}/front/cp.sock --pid=1 --pwd=${password} --urlprefix=${root}`, tags);
  }

  /** All of the provider that must be the same in either home, and how many urls wait. */
  async function standing() {
    const db = openSqlite(join(homes[await homeOf()].first.home, 'lcc.db'), { readonly: true });
    const all = (sql: string) => db.prepare(sql).raw().all();
    try {
      return {
        pages: all("SELECT id, curl, md5 FROM lccurl WHERE pid = 1 AND curl LIKE '%/big%' ORDER BY seq"),
        waiting: all("SELECT curl FROM qdb WHERE pid = 1 AND curl LIKE '%/late%' ORDER BY pos"),
        shown: (await run('lccpidb show --pid=1'))
          .split('\n')
          .filter(line => /^(held|login|hours|time|errors)/.test(line)),
      };
    } finally {
      db.close();
    }
  }

  it(`of which there are ${URLS} comes to the other home and back, whole and in its order`, async () => {
    const [first] = homes;
    const { root } = first.callers.of(1);
    const path = (name: string) => new URL(root + name).pathname;
    const big = Array.from({ length: URLS }, (_, n) => `big${n}.html`);
    const late = Array.from({ length: 5 }, (_, n) => `late${n}.html`);
    await run('printf reader:secret | lccpidb set --pid=1 --fuse-percent=0 --fuse-urls=2 --loginfile=-');
    await deliver(big);
    await run(`lccstat --until-idle=${LONG_MS / 1000}`);
    await deliver(big.slice(0, HELD), ' op="delete"');
    const hour = (new Date(Date.now() + 12 * HOUR_MS).getHours() + 24) % 24;
    await run(`lccpidb set --pid=1 --timeofday=${hour}`);
    await deliver(late);
    const before = await standing();
    assert.equal(before.pages.length, URLS);
    assert.equal(before.waiting.length, late.length);
    for (const said of [/^login: +reader/, /^held back: +40 /])
      assert.ok(before.shown.some(line => said.test(line)));

    first.callers.start();
    for (const [side, step] of KILLS) {
      const from = await homeOf();
      const to = (1 - from) as 0 | 1;
      const { first: machine } = homes[side === 'source' ? from : to];
      const kill = killAt(step);
      await machine.killLccd();
      await machine.start(kill.env);
      await first.first.run(`lccmap move --pid=1 --to=${to}`);
      await until(`${side} dies at ${step}`, () => kill.happened(), LONG_MS);
      await machine.killLccd();
      await machine.start();
      await until(
        'it has moved',
        async () => (await query('select pid from lcc.move')).length === 0,
        LONG_MS,
      );
      assert.equal(await homeOf(), to);
      assert.deepEqual(await standing(), before, step);
    }
    await first.callers.stop();
    await run('lccpidb set --pid=1 --timeofday=always');
    await run(`lccstat --until-idle=${LONG_MS / 1000}`);
    for (const name of [...big, ...late]) assert.equal(first.site.asks.get(path(name)), 1, name);
    await run('lccctl release --pid=1');
    await until('what was held back goes', async () => (await standing()).pages.length === URLS - HELD);
    assert.deepEqual(await first.faults(), []);
  });
});
