/** The engines that tests start: they answer, and what was committed is there after kills. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createConnection } from 'mariadb';
import { Engine, noGalera, PASSWORDS, TRIO, type EngineNode } from '../../support/engine.js';
import { longIt } from '../../support/long.js';
import { until } from '../../support/until.js';

async function rows(node: EngineNode): Promise<number> {
  const [row] = await node.query('select count(*) as n from lcc.t');
  return Number(row?.['n']);
}

const isRefusal = (error: Error) => /WSREP has not yet prepared/.test(error.message);

describe('an engine of tests', { skip: noGalera }, () => {
  it('is a MariaDB that lets the two accounts in, and has after a kill what it committed', async () => {
    const engine = await Engine.start();
    try {
      const { node } = engine;
      const log = async (user: keyof typeof PASSWORDS, sql: string) => {
        const connection = await createConnection({
          host: node.address,
          port: node.port,
          user,
          password: PASSWORDS[user],
          database: 'lcc',
        });
        return connection.query<unknown>(sql).finally(() => connection.destroy());
      };
      await log('lcc_admin', 'create table t (n int primary key)');
      await log('lcc', 'insert into t values (1)');
      await assert.rejects(log('lcc', 'drop table t'), /denied/);
      await node.kill();
      await node.start();
      assert.equal(await rows(node), 1);
    } finally {
      await engine.remove();
    }
  });

  longIt(
    'is a trio that goes on without a node, takes it back, and begins again when all are killed',
    async () => {
      const engine = await Engine.start({ hosts: TRIO });
      try {
        const [first, second, third] = engine.nodes as [EngineNode, EngineNode, EngineNode];
        const see = (size: number, ...nodes: EngineNode[]) =>
          until(`the cluster has ${size}`, async () => {
            // One that joins counts before it answers.
            const seen = nodes.map(async node => [
              await node.wsrep('cluster_size'),
              await node.wsrep('ready'),
            ]);
            return (await Promise.all(seen)).every(([n, ready]) => n === String(size) && ready === 'ON');
          });
        await see(3, ...engine.nodes);
        await first.query('create table lcc.t (n int primary key)');
        await first.kill();
        await see(2, second, third);
        await second.query('insert into lcc.t values (1)');
        await first.start();
        await see(3, ...engine.nodes);
        assert.equal(await rows(first), 1);
        // As one that ends by itself, which its service manager starts again.
        const before = third.pid;
        assert.ok(before);
        process.kill(before, 'SIGABRT');
        await until('another process has begun', () => third.pid !== undefined && third.pid !== before);
        await until('it answers', () => third.query('select 1').catch(() => false));
        await see(3, ...engine.nodes);
        third.freeze();
        await see(2, first, second);
        third.thaw();
        await until(
          'it notices',
          async () => (await third.wsrep('cluster_status').catch(() => '')) !== 'Primary',
        );
        await third.reconnect();
        await see(3, ...engine.nodes);
        await second.cut();
        await see(2, first, third);
        await until('it refuses', () => rows(second).then(() => false, isRefusal));
        await second.mend();
        await see(3, ...engine.nodes);
        await Promise.all(engine.nodes.map(node => node.kill()));
        await engine.bootstrap();
        await see(3, ...engine.nodes);
        assert.equal(await rows(third), 1);
      } finally {
        await engine.remove();
      }
    },
  );
});
