/** Content for the other machines: the files of a store, and nothing else on the disk. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { serveContent } from '../../src/bm/content-door.js';
import { fileIdOf } from '../../src/db/names/naming.js';
import { ask, ground, open } from '../web/support.js';
import { until } from '../support/until.js';

async function door(t: TestContext, overrides = {}) {
  const dir = mkdtempSync(join(tmpdir(), 'lcc-door-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  const its = ground(t, overrides);
  const at = [{ kind: 'tcp', host: '127.0.0.1', port: 0 } as const];
  const server = await serveContent(its.services, at, { dir, machineId: 'm1', stallMs: 60_000 });
  const put = (id: number, content: string | Buffer) => {
    const fileId = fileIdOf({ id, gen: 3 });
    mkdirSync(dirname(join(dir, fileId)), { recursive: true });
    writeFileSync(join(dir, fileId), content);
    return fileId;
  };
  return { ...its, dir, server, put };
}

describe('the content door of a Bot Manager', () => {
  it('gives a file as it is, its length first, and says whose store it is', async t => {
    const { server, put } = await door(t);
    for (const [id, content] of [
      [1, 'one'],
      [2, ''],
      [300, 'x'.repeat(1_000_001)],
    ] as const) {
      const { status, headers, body } = await ask(server, `/${put(id, content)}`, {
        headers: { 'accept-encoding': 'gzip' },
      });
      assert.deepEqual(
        [status, headers['content-length'], headers['lcc-machineid']],
        [200, String(content.length), 'm1'],
      );
      assert.equal(headers['content-encoding'], undefined);
      assert.ok(body === content);
    }
    const whose = await ask(server, '/');
    assert.deepEqual([whose.status, whose.body], [200, 'm1\n']);
  });

  it('has nothing under any other name', async t => {
    const { server, put, dir } = await door(t);
    const fileId = put(1, 'one');
    writeFileSync(join(dir, 'names.db'), 'secret');
    const link = put(2, 'two');
    rmSync(join(dir, link));
    symlinkSync('/etc/passwd', join(dir, link));
    const folder = fileIdOf({ id: 4, gen: 0 });
    mkdirSync(join(dir, folder));
    const pipe = fileIdOf({ id: 5, gen: 0 });
    execFileSync('mkfifo', [join(dir, pipe)]);
    for (const path of [
      '/names.db',
      '/machine-id',
      '/../../etc/passwd',
      `/${fileId}/..`,
      `//${fileId}`,
      `/./${fileId}`,
      `/${fileId}?x`,
      `/${fileId.replace('.3', '.03')}`,
      `/${fileId.toUpperCase()}x`,
      `/%2e%2e/${fileId}`,
      `/${encodeURIComponent(fileId)}`,
      `/${link}`,
      `/${folder}`,
      `/${pipe}`,
      `/${fileIdOf({ id: 9, gen: 9 })}`,
      '/00',
      '/00/00',
    ]) {
      const { status, body } = await ask(server, path);
      assert.equal(status, 404, path);
      assert.doesNotMatch(body, /secret|root/);
    }
    assert.equal((await ask(server, `/${fileId}`, { method: 'PUT', body: 'x' })).status, 405);
    assert.equal((await ask(server, `/${fileId}`, { method: 'HEAD' })).body, '');
    assert.equal((await ask(server, `/${fileId}`)).body, 'one');
  });

  it('lets a reader notice that a file became shorter while it was sent', async t => {
    const { server, put, dir } = await door(t);
    const fileId = put(1, Buffer.alloc(32 * 1024 * 1024));
    const [endpoint] = server.endpoints;
    assert.ok(endpoint?.kind === 'tcp');
    const broken = await new Promise<boolean>((resolve, reject) => {
      const { host, port } = endpoint;
      httpRequest({ host, port, path: `/${fileId}`, agent: false }, response => {
        response.once('readable', () => {
          truncateSync(join(dir, fileId), 0);
          response.resume();
        });
        response.on('error', () => resolve(true));
        response.on('end', () => resolve(false));
      })
        .on('error', reject)
        .end();
    });
    assert.ok(broken);
  });

  it('has a bound on its readers, and takes no more from one that sends no request', async t => {
    const { server, put, clock } = await door(t, { 'web.max_connections': '2' });
    const fileId = put(1, 'one');
    const slow = [await open(server), await open(server)];
    clock.advance(1000);
    assert.equal((await ask(server, `/${fileId}`)).body, 'one', 'one that has not asked makes room');
    slow[1]?.socket.write('GET / HTTP/1.1\r\n');
    clock.advance(10_000);
    await until('the slow are gone', () => slow.every(({ socket }) => socket.destroyed));
  });
});
