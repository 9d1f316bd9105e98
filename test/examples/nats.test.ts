/** examples/nats against a real nats-server, which is killed, as the program and lccq are. */
import assert from 'node:assert/strict';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { connect as dial } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { connect } from '@nats-io/transport-node';
import { TestCache } from '../support/cache.js';
import { freePort } from '../support/free-port.js';
import { LCCQ } from '../support/lccq.js';
import { isLong } from '../support/long.js';
import { ROOT } from '../support/tree.js';
import { until, within } from '../support/until.js';

const skip =
  spawnSync('nats-server', ['--version']).error !== undefined &&
  process.env['CI'] !== 'true' &&
  'no nats-server';

interface Stored {
  subject: string;
  id: string;
  line: string;
}

describe('examples/nats', { skip }, () => {
  it('has each change in the queue once and in order, whatever is killed', async t => {
    const cache = new TestCache();
    const dir = mkdtempSync(join(tmpdir(), 'lcc-nats-'));
    const children: ChildProcess[] = [];
    const kill = async (child: ChildProcess) => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGKILL');
      await once(child, 'exit');
    };
    t.after(async () => {
      await Promise.all(children.map(kill));
      cache.close();
      rmSync(dir, { recursive: true, force: true });
    });
    // As it is installed: the folder, with the client beside it.
    const folder = join(dir, 'nats');
    cpSync(join(ROOT, 'examples/nats'), folder, { recursive: true });
    mkdirSync(join(dir, 'node_modules'));
    symlinkSync(join(ROOT, 'node_modules/@nats-io'), join(dir, 'node_modules/@nats-io'));
    const port = await freePort();
    const server = async () => {
      const child = spawn(
        'nats-server',
        ['-js', '-a', '127.0.0.1', '-p', `${port}`, '-sd', join(dir, 'js')],
        {
          stdio: 'ignore',
        },
      );
      children.push(child);
      await until('nats-server listens', () => {
        const socket = dial(port, '127.0.0.1');
        return within(
          'a connection',
          new Promise<boolean>(done => {
            socket.once('connect', () => done(true)).once('error', () => done(false));
          }),
        ).finally(() => socket.destroy());
      });
      return child;
    };
    const follow = () => {
      const child = spawn(join(folder, 'follow'), {
        stdio: ['ignore', 'ignore', 'ignore'],
        detached: true,
        env: {
          ...process.env,
          PATH: `${dirname(LCCQ)}:${process.env['PATH']}`,
          LCC_HOME: cache.home,
          LCC_CONFIG: '',
          NATS: `127.0.0.1:${port}`,
        },
      });
      children.push(child);
      return child;
    };
    const cursorSeq = () => {
      try {
        return Number(readFileSync(join(folder, 'nats.cursor'), 'utf8').split(/\s/)[3]);
      } catch {
        return 0;
      }
    };
    let nats = await server();
    let lccq = follow();
    t.after(() => {
      // What is below lccq is of its group.
      try {
        process.kill(-(lccq.pid ?? 0), 'SIGKILL');
      } catch {
        // It has gone.
      }
    });
    let number = 0;
    const rounds = isLong ? 20 : 3;
    for (let round = 0; round < rounds; round++) {
      const before = number;
      for (let n = 0; n < 20; n++) cache.put({ curl: `http://h/${++number}` });
      await until('it has begun', () => cursorSeq() >= before);
      if (round % 2 === 0) {
        await kill(nats);
        cache.remove(`http://h/${number}`);
        cache.put({ curl: `http://h/${number}` });
        number += 2;
        nats = await server();
      } else {
        process.kill(-(lccq.pid ?? 0), 'SIGKILL');
        await kill(lccq);
        lccq = follow();
      }
      await until('the queue has all', () => cursorSeq() === number);
    }
    const client = await connect({ servers: `127.0.0.1:${port}` });
    const stored: Stored[] = [];
    for (let seq = 1; ; seq++) {
      const reply = (await client.request('$JS.API.STREAM.MSG.GET.lcc', JSON.stringify({ seq }))).json<{
        message?: { subject: string; hdrs: string; data: string };
      }>();
      if (reply.message === undefined) break;
      const { subject, hdrs, data } = reply.message;
      const id = /Nats-Msg-Id: (\S+)/.exec(Buffer.from(hdrs, 'base64').toString())?.[1] ?? '';
      stored.push({ subject, id, line: Buffer.from(data, 'base64').toString() });
    }
    await client.close();
    const store = cache.storeId;
    const seqs = stored.map(({ line }) => (JSON.parse(line) as { seq: number }).seq);
    assert.deepEqual(
      seqs,
      [...new Set(seqs)].sort((a, b) => a - b),
      'each once, in order',
    );
    const known = new Set(seqs);
    const held = cache.db
      .prepare<[], number>('SELECT seq FROM lccurl UNION SELECT seq FROM tombstone')
      .pluck()
      .all();
    assert.deepEqual(
      held.filter(seq => !known.has(seq)),
      [],
      'none missed',
    );
    for (const { subject, id, line } of stored) {
      const { op, seq } = JSON.parse(line) as { op: string; seq: number };
      assert.deepEqual([subject, id], [`lcc.${op}`, `${store}:${seq}`]);
    }
  });
});
