import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import type { FetchEngine } from '../../../src/fetch/engine.js';
import { fetchOnce, filesBelow, newEngine, newFolder, verdict, type Told } from '../support.js';

const CONTENT = Buffer.from('<p>what a page holds</p>\n'.repeat(60));
const text = (lines: string[], body: Buffer) =>
  Buffer.concat([Buffer.from(lines.map(line => `${line}\r\n`).join('') + '\r\n', 'latin1'), body]);
const chunked = (body: Buffer) =>
  Buffer.concat([
    Buffer.from(`5\r\n`),
    body.subarray(0, 5),
    Buffer.from(`\r\n${(body.length - 5).toString(16)};ext=1\r\n`),
    body.subarray(5),
    Buffer.from('\r\n0\r\nTrailer: x\r\n\r\n'),
  ]);
const coded = (coding: string, body: Buffer) =>
  text(['HTTP/1.1 200 OK', `Content-Encoding: ${coding}`, `Content-Length: ${body.length}`], body);

/** Good answers, from which bad ones are made. */
const ANSWERS = [
  text(['HTTP/1.1 200 OK', 'Content-Type: text/html', `Content-Length: ${CONTENT.length}`], CONTENT),
  text(['HTTP/1.1 200 OK', 'Transfer-Encoding: chunked', 'ETag: "x"'], chunked(CONTENT)),
  text(['HTTP/1.0 200 OK', 'Connection: close'], CONTENT),
  coded('gzip', gzipSync(CONTENT)),
  coded('br', brotliCompressSync(CONTENT)),
  text(['HTTP/1.1 103 Early Hints', 'Link: </a>', '', 'HTTP/1.1 204 No Content'], Buffer.alloc(0)),
  text(['HTTP/1.1 302 Found', 'Location: /elsewhere', 'Content-Length: 0'], Buffer.alloc(0)),
  text(['HTTP/1.1 304 Not Modified', 'ETag: "x"'], Buffer.alloc(0)),
  text(['HTTP/1.1 503 Busy', 'Retry-After: 17', 'Content-Length: 4'], Buffer.from('busy')),
];

interface Bad {
  bytes: Buffer;
  /** Where it is cut into pieces. */
  cuts: number[];
  end: 'close' | 'reset' | 'stay';
}

const mutation = fc.oneof(
  fc.record({ kind: fc.constant('set' as const), at: fc.nat(), byte: fc.nat(255) }),
  fc.record({ kind: fc.constant('remove' as const), at: fc.nat(), count: fc.integer({ min: 1, max: 40 }) }),
  fc.record({ kind: fc.constant('repeat' as const), at: fc.nat(), count: fc.integer({ min: 1, max: 300 }) }),
  fc.record({ kind: fc.constant('insert' as const), at: fc.nat(), bytes: fc.uint8Array({ maxLength: 30 }) }),
);
type Mutation = typeof mutation extends fc.Arbitrary<infer T> ? T : never;

function mutate(bytes: Buffer, change: Mutation): Buffer {
  const at = bytes.length === 0 ? 0 : change.at % bytes.length;
  const [before, behind] = [bytes.subarray(0, at), bytes.subarray(at)];
  switch (change.kind) {
    case 'set':
      return Buffer.concat([before, Buffer.from([change.byte]), behind.subarray(1)]);
    case 'remove':
      return Buffer.concat([before, behind.subarray(change.count)]);
    case 'repeat':
      return Buffer.concat([before, behind.subarray(0, change.count), behind]);
    case 'insert':
      return Buffer.concat([before, change.bytes, behind]);
  }
}

const bytes = fc.oneof(
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 3000 }).map(array => Buffer.from(array)) },
  {
    weight: 6,
    arbitrary: fc
      .tuple(fc.constantFrom(...ANSWERS), fc.array(mutation, { maxLength: 5 }))
      .map(([good, changes]) => changes.reduce(mutate, good)),
  },
);
const bad: fc.Arbitrary<Bad> = fc.record({
  bytes,
  cuts: fc.array(fc.nat(3000), { maxLength: 4 }),
  end: fc.constantFrom('close', 'reset', 'stay'),
});

describe('a robot and answers nobody thought of', () => {
  const folder = newFolder();
  const rejections: unknown[] = [];
  let engine: FetchEngine;
  let server: Server;
  let next: Bad = { bytes: Buffer.alloc(0), cuts: [], end: 'close' };
  process.on('unhandledRejection', reason => rejections.push(reason));

  before(async () => {
    engine = newEngine({
      connectTimeoutMs: 200,
      headersTimeoutMs: 200,
      idleTimeoutMs: 200,
      totalTimeoutMs: 400,
      maxContentBytes: 4000,
      contentLimitText: '4000 bytes',
      maxHeaderBytes: 2048,
    });
    server = createServer(socket => {
      socket.on('error', () => undefined);
      socket.on('data', () => void speak(socket, next));
    });
    await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve));
  });
  after(() => {
    server.close();
    assert.deepEqual(rejections, []);
  });

  it('has one result for each of them, of content within its limits or an error with a reason', async () => {
    let run = 0;
    await fc.assert(
      fc.asyncProperty(bad, fc.boolean(), async (answer, isConditional) => {
        next = answer;
        const file = join(folder, String(++run));
        const { port } = server.address() as AddressInfo;
        const outcome = await fetchOnce(engine, {
          url: `http://127.0.0.1:${port}/${run}`,
          file,
          ...(isConditional ? { etag: '"x"' } : undefined),
        });
        check(outcome, file);
        assert.equal(filesBelow(folder).filter(name => name.endsWith('.tmp')).length, 0);
      }),
      { numRuns: 300 },
    );
    assert.equal(engine.activeCount, 0);
  });

  it('takes a good answer after all that', async () => {
    const [good = Buffer.alloc(0)] = ANSWERS;
    next = { bytes: good, cuts: [], end: 'stay' };
    const { port } = server.address() as AddressInfo;
    const file = join(folder, 'good');
    // Its deadlines are so short that a slow machine may miss them.
    for (let tries = 0; ; tries++) {
      const found = verdict(await fetchOnce(engine, { url: `http://127.0.0.1:${port}/`, file }));
      if (found === 603 && tries < 20) continue;
      assert.equal(found, 'ok');
      break;
    }
    assert.ok(readFileSync(file).equals(CONTENT));
  });
});

function check(outcome: Told, file: string): void {
  assert.ok(outcome.wireBytes >= 0);
  assert.equal(existsSync(file), outcome.status === 'ok');
  switch (outcome.status) {
    case 'ok':
      assert.ok(outcome.len <= 4000);
      assert.equal(readFileSync(file).length, outcome.len);
      break;
    case 'unchanged':
      break;
    case 'error':
      assert.ok((outcome.code >= 400 && outcome.code <= 599) || (outcome.code >= 601 && outcome.code <= 613));
      // One line a person can read.
      assert.match(outcome.message, /^[^\n\r]+$/);
      assert.doesNotMatch(outcome.message, /a bug here/);
  }
}

async function speak(socket: Socket, { bytes, cuts, end }: Bad): Promise<void> {
  let from = 0;
  for (const cut of [...cuts.filter(at => at < bytes.length).sort((a, b) => a - b), bytes.length]) {
    if (socket.destroyed) return;
    if (cut > from) socket.write(bytes.subarray(from, cut));
    from = cut;
    await turn();
  }
  if (end === 'close') socket.end();
  else if (end === 'reset') socket.resetAndDestroy();
}
