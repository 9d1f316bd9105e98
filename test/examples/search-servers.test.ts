/** The script for search servers, against a stand-in that answers as they document it. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, it } from 'node:test';
import { ROOT } from '../support/tree.js';

const SCRIPT = join(ROOT, 'examples/search-servers/to-search.mjs');
const row = (id: number, markdown: string | null, op = 'upsert') => ({
  op,
  id,
  burl: `https://h/${id}`,
  title: 'T',
  markdown,
});

let server: Server | undefined;
afterEach(() => server?.close());

type Answer = (method: string, path: string, body: string) => [status: number, body: unknown];

async function run(kind: string, rows: object[], answer: Answer) {
  const heard: string[] = [];
  server = createServer((request, response) => {
    let body = '';
    request.on('data', chunk => (body += chunk));
    request.on('end', () => {
      const { method = '', url = '' } = request;
      heard.push(`${method} ${url}`);
      const [status, said] = answer(method, url, body);
      response.statusCode = status;
      response.end(typeof said === 'string' ? said : JSON.stringify(said));
    });
  }).listen(0, '127.0.0.1');
  await new Promise(resolve => server?.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  const input = rows.map(each => `${JSON.stringify(each)}\n`).join('') + '\n';
  return await new Promise<{ status: number; stdout: string; stderr: string; heard: string[] }>(resolve => {
    const child = execFile(
      process.execPath,
      [SCRIPT, kind, `http://127.0.0.1:${port}/`],
      (error, stdout, stderr) => resolve({ status: Number(error?.code ?? 0), stdout, stderr, heard }),
    );
    child.stdin?.end(input);
  });
}

const ROWS = [row(1, 'one'), row(2, null), row(3, 'three', 'delete')];

describe('to-search.mjs', () => {
  it('waits until the tasks of Meilisearch are done', async () => {
    let asked = 0;
    const done = await run('meilisearch', ROWS, (_method, path, body) => {
      if (path.startsWith('/tasks')) return [200, { status: ++asked < 3 ? 'processing' : 'succeeded' }];
      if (path.endsWith('delete-batch')) assert.deepEqual(JSON.parse(body), [2, 3]);
      else assert.equal((JSON.parse(body) as { url: string }).url, 'https://h/1');
      return [202, { taskUid: 1 }];
    });
    assert.deepEqual([done.status, done.stdout, asked >= 3], [0, 'ok\n', true], done.stderr);
  });

  it('takes each line of the answer of Typesense, and what is not there for deleted', async () => {
    const done = await run('typesense', ROWS, method =>
      method === 'DELETE' ? [404, {}] : [200, '{"success":true}\n'],
    );
    assert.deepEqual([done.status, done.stdout], [0, 'ok\n'], done.stderr);
    assert.deepEqual(done.heard, [
      'POST /collections/pages/documents/import?action=upsert',
      'DELETE /collections/pages/documents/2',
      'DELETE /collections/pages/documents/3',
    ]);
  });

  it('asks OpenSearch in one request, again where it is busy', async () => {
    let asked = 0;
    const done = await run('opensearch', ROWS, (_method, _path, body) => {
      if (++asked === 1) return [429, 'busy'];
      assert.equal(body.trim().split('\n').length, 4);
      return [200, { items: [{ index: { status: 201 } }, { delete: { status: 404 } }] }];
    });
    assert.deepEqual([done.status, done.stdout, asked], [0, 'ok\n', 2], done.stderr);
  });

  for (const [kind, answer] of [
    [
      'meilisearch',
      path => (path.startsWith('/tasks') ? [200, { status: 'failed' }] : [202, { taskUid: 1 }]),
    ],
    ['typesense', () => [200, '{"success":false,"error":"no"}\n']],
    ['opensearch', () => [200, { items: [{ index: { status: 400, error: { type: 'no' } } }] }]],
    ['opensearch', () => [403, 'forbidden']],
  ] as [string, (path: string) => [number, unknown]][])
    it(`says no ok where ${kind} refuses: 76`, async () => {
      const done = await run(kind, ROWS, (_method, path) => answer(path));
      assert.deepEqual([done.status, done.stdout], [76, '']);
    });
});
