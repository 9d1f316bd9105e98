import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { Worker } from 'node:worker_threads';
import { StoreFiles } from '../../src/bot/store-files.js';
import { FileWriter } from '../../src/bot/writer.js';
import { systemClock } from '../../src/lib/clock.js';
import {
  answer,
  fetchOnce,
  filesBelow,
  md5,
  newEngine,
  newFolder,
  rawServer,
  verdict,
} from '../fetch/support.js';
import { until } from '../support/until.js';

describe('many fetches at a time', () => {
  const pageOf = (n: number) => Buffer.alloc(n * 97, `page ${n} `);

  it('store each its own content, and nothing of those refused', async () => {
    const server = await rawServer(
      (socket, request) => void socket.write(answer(pageOf(Number(/\/(\d+)/.exec(request)?.[1])))),
    );
    const engine = newEngine();
    const folder = newFolder();
    const files = new StoreFiles(false, systemClock);
    const received: string[] = [];
    const intoStore = (file: string) =>
      files.sinkFor(file, {
        isBusy: () => true,
        isAwaited: () => false,
        received: () => void received.push(file),
      });
    await until('the writer is ready', () => files.writer.isReady);
    writeFileSync(join(folder, 'blocked'), 'x');
    const outcomes = await Promise.all(
      Array.from({ length: 300 }, (_, n) =>
        fetchOnce(engine, {
          url: `${server.url}${n}`,
          into: intoStore(join(folder, n % 10 === 3 ? `blocked/${n}` : `${n % 7}/${n}`)),
          ...(n % 10 === 5 ? { enforce: true, md5: md5('something else') } : {}),
          ...(n % 10 === 6 ? { enforce: true, md5: md5(pageOf(n)) } : {}),
        }),
      ),
    );
    for (const [n, outcome] of outcomes.entries()) {
      const expected = n % 10 === 3 ? 613 : n % 10 === 5 ? 612 : 'ok';
      assert.equal(verdict(outcome), expected, JSON.stringify(outcome));
      if (outcome.status !== 'ok') continue;
      assert.equal(outcome.md5, md5(pageOf(n)));
      assert.ok(readFileSync(join(folder, `${n % 7}/${n}`)).equals(pageOf(n)));
    }
    assert.equal(filesBelow(folder).length, 1 + 300 - 60);
    assert.ok(received.length > 0, 'none was put in place by the thread');
    files.close();
  });

  it('are written all the same when their thread ends before it answers', async () => {
    const writer = new FileWriter();
    const folder = newFolder();
    const names = Array.from({ length: 300 }, (_, n) => `${n}`);
    // As if it had ended in the middle of one, having put another in place.
    writeFileSync(join(folder, '5.a.tmp'), 'beg');
    writeFileSync(join(folder, '6'), 'content of 6');
    let threads = 0;
    const kill = (thread: Worker) => {
      threads++;
      void thread.terminate();
    };
    process.on('worker', kill);
    const write = (name: string) =>
      new Promise<unknown[]>(resolve => {
        const bytes = Buffer.from(`content of ${name}`);
        const content = { path: join(folder, name), attempt: 'a', chunks: [bytes], length: bytes.length };
        writer.write(content, name === '7' ? md5('another') : undefined, (...result) => resolve(result));
      });
    const written = await Promise.all(names.map(write));
    process.off('worker', kill);
    assert.ok(threads > 0);
    for (const [n, result] of written.entries())
      assert.deepEqual(result, [undefined, md5(`content of ${n}`)]);
    assert.deepEqual(await write('more'), [undefined, md5('content of more')]);
    writer.close();
    const expected = [...names.filter(name => name !== '7'), 'more'];
    assert.deepEqual(filesBelow(folder).sort(), expected.sort());
  });

  it('do not wait for a thread that has only begun to start', async () => {
    const writer = new FileWriter();
    assert.equal(writer.isReady, false);
    await until('the writer is ready', () => writer.isReady);
    const path = join(newFolder(), 'file');
    const content = { path, attempt: 'a', chunks: [Buffer.from('one')], length: 3 };
    await new Promise(resolve => writer.write(content, undefined, resolve));
    assert.equal(readFileSync(path, 'utf8'), 'one');
    writer.close();
    assert.equal(writer.isReady, false, 'the next one starts anew');
    writer.close();
  });

  it('go on with a new thread when theirs was ended', async () => {
    const writer = new FileWriter();
    const folder = newFolder();
    for (const name of ['one', 'two']) {
      const content = { path: join(folder, name), attempt: 'a', chunks: [Buffer.from(name)], length: 3 };
      const written = await new Promise<unknown[]>(resolve =>
        writer.write(content, undefined, (...result) => resolve(result)),
      );
      assert.deepEqual(written, [undefined, md5(name)]);
      writer.close();
    }
    assert.deepEqual(filesBelow(folder).sort(), ['one', 'two']);
  });
});
