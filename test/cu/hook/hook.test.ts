/** lcchook's parts: batches into bodies, and one POST after the other until it is taken. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, describe, it } from 'node:test';
import fc from 'fast-check';
import { Webhook, WebhookVerificationError } from 'standardwebhooks';
import { deliverBatches } from '../../../src/cu/hook/batches.js';
import { Receiver } from '../../../src/cu/hook/receiver.js';
import { newSecret, readSecrets } from '../../../src/cu/hook/secret.js';
import { settle } from '../../support/duplex.js';
import { ManualClock } from '../../support/manual-clock.js';
import { until } from '../../support/until.js';

const dir = mkdtempSync(join(tmpdir(), 'lcc-hook-'));
after(() => rmSync(dir, { recursive: true }));
let files = 0;
function secretFile(...lines: string[]): string {
  const path = join(dir, `whsec-${++files}`);
  writeFileSync(path, lines.map(line => `${line}\n`).join(''), { mode: 0o600 });
  return path;
}

async function* inPieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield await Promise.resolve(bytes.subarray(at, at + size));
}

async function bodiesOf(input: string, maxBytes = 1e6, size = 7) {
  const said: string[] = [];
  await deliverBatches(inPieces(Buffer.from(input), size), {
    maxBytes,
    deliver: async body => void said.push(await Promise.resolve(body)),
    done: () => void said.push('ok'),
  });
  return said;
}

describe('batches of lines', () => {
  it('are one JSON object each, in order, and answered once they have been delivered', async () => {
    assert.deepEqual(await bodiesOf('{"seq":1}\n{"seq":2,"t":"ü\u2028"}\n\n\n{"seq":3}\n\n'), [
      '{"type":"lcc.changes","changes":[{"seq":1},{"seq":2,"t":"ü\u2028"}]}',
      'ok',
      // Nothing to tell is no call.
      'ok',
      '{"type":"lcc.changes","changes":[{"seq":3}]}',
      'ok',
    ]);
  });

  it('are divided between lines where they are larger than a POST, a larger line alone', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(fc.string({ maxLength: 300 }), { maxLength: 8 }), { maxLength: 4 }),
        fc.integer({ min: 100, max: 600 }),
        fc.integer({ min: 1, max: 50 }),
        async (batches, maxBytes, size) => {
          const lines = batches.map(batch => batch.map(each => JSON.stringify({ each })));
          const input = lines.map(batch => batch.map(line => `${line}\n`).join('') + '\n').join('');
          const said = await bodiesOf(input, maxBytes, size);
          const got = said
            .filter(body => body !== 'ok')
            .map(body => {
              const { type, changes } = JSON.parse(body) as { type: string; changes: object[] };
              assert.equal(type, 'lcc.changes');
              assert.ok(Buffer.byteLength(body) <= maxBytes || changes.length === 1);
              return changes;
            });
          assert.deepEqual(
            got.flat(),
            batches.flat().map(each => ({ each })),
          );
          assert.equal(said.filter(each => each === 'ok').length, batches.length);
        },
      ),
      { numRuns: 50 },
    );
  });

  for (const [what, input, code, place] of [
    ['that are no JSON', '{"seq":1}\n<url/>\n\n', 'data.malformed', 'standard input:2:1: '],
    ['that are no objects', '[1]\n\n', 'data.malformed', 'standard input:1:1: '],
    ['without the end of their batch', '{"seq":1}\n', 'data.cut', 'standard input:2:1: '],
    ['that are cut', '{"seq":1}\n\n{"se', 'data.cut', 'standard input:3:1: '],
  ] as const)
    it(`refuse lines ${what}`, async () => {
      await assert.rejects(bodiesOf(input), (error: Error & { code: string }) => {
        assert.equal(error.code, code);
        return error.message.startsWith(place);
      });
    });
});

type Answer = (request: IncomingMessage, response: ServerResponse, body: string) => void;

/** A receiver on the loopback, called by a Receiver whose clock is in the hand of the test. */
async function called(
  t: { after(action: () => void): void },
  answers: Answer[],
  { secrets = [newSecret()], giveUpMs = 86_400_000, allow = ['127.0.0.1'], protocol = 'http' } = {},
) {
  const heard: { body: string; headers: Record<string, string> }[] = [];
  const server = createServer((request, response) => {
    void text(request).then(body => {
      heard.push({ body, headers: request.headers as Record<string, string> });
      const answer = answers.shift() ?? ((_asked, ok) => void ok.writeHead(204).end());
      answer(request, response, body);
    });
  });
  await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const clock = new ManualClock(Date.now());
  const failures: string[] = [];
  const recoveries: string[] = [];
  const receiver = new Receiver({
    url: new URL(`${protocol}://127.0.0.1:${(server.address() as AddressInfo).port}/hook?token=t0ken`),
    secretFile: secretFile(...secrets),
    giveUpMs,
    allowAddresses: allow,
    clock,
    random: () => 1,
    note: message => void (message.includes('; again in ') ? failures : recoveries).push(message),
  });
  t.after(() => receiver.close());
  /** Delivers, and lets time pass for each try that failed. */
  const deliver = async (body: string) => {
    let isOver = false;
    const done = receiver.deliver(body).finally(() => (isOver = true));
    done.catch(() => undefined);
    let told = failures.length;
    await until('it is over', async () => {
      await settle();
      if (failures.length > told) {
        told = failures.length;
        clock.advance(Number(/again in (\d+) s$/.exec(failures.at(-1) ?? '')?.[1]) * 1000);
      }
      return isOver;
    });
    return done;
  };
  return { heard, failures, recoveries, deliver, clock, secrets, server };
}
const status =
  (code: number, headers: Record<string, string> = {}): Answer =>
  (_request, response) =>
    void response.writeHead(code, headers).end();

describe('a receiver', () => {
  it('gets each POST again until it takes it, after ever longer waits, with one id and a new signature, and is said to take again', async t => {
    const { heard, failures, recoveries, deliver, secrets } = await called(t, [
      status(500),
      status(302, { location: 'http://127.0.0.1:1/' }),
      request => void request.socket.destroy(),
      status(404),
      status(503, { 'retry-after': '7' }),
      status(429, { 'retry-after': '86400' }),
    ]);
    const body = '{"type":"lcc.changes","changes":[{"seq":1}]}';
    await deliver(body);
    assert.deepEqual(
      failures.map(message => Number(/again in (\d+) s$/.exec(message)?.[1])),
      [1, 2, 4, 8, 7, 3600],
    );
    assert.match(
      failures[1] ?? '',
      /answered 302, a redirect, which is not followed; give --url where it leads/,
    );
    for (const message of failures)
      assert.ok(!message.includes('t0ken') && !message.includes('/hook'), message);
    assert.equal(heard.length, 7);
    assert.match(recoveries.join(), /^http:\/\/127\.0\.0\.1:\d+: takes again, after 6 failures$/);
    assert.equal(new Set(heard.map(({ headers }) => headers['webhook-id'])).size, 1);
    assert.match(heard[0]?.headers['webhook-id'] ?? '', /^msg_[0-9a-f]{32}$/);
    const [first, last] = [heard[0], heard.at(-1)];
    const webhook = new Webhook(secrets[0] ?? '');
    assert.deepEqual(webhook.verify(first?.body ?? '', first?.headers ?? {}), JSON.parse(body));
    // Hours later by its own clock: the library takes it for a replay.
    assert.throws(() => webhook.verify(last?.body ?? '', last?.headers ?? {}), WebhookVerificationError);
  });

  it('may know either of two secrets; one that knows another, or gets other bytes, refuses', async t => {
    const secrets = [newSecret(), newSecret()];
    const { heard, deliver } = await called(t, [], { secrets });
    await deliver('{"a":"ü"}');
    const [{ body, headers } = { body: '', headers: {} }] = heard;
    assert.equal(headers['content-type'], 'application/json');
    for (const secret of secrets) assert.deepEqual(new Webhook(secret).verify(body, headers), { a: 'ü' });
    assert.throws(() => new Webhook(newSecret()).verify(body, headers));
    assert.throws(() => new Webhook(secrets[0] ?? '').verify(`${body} `, headers));
  });

  it('that wants no more is asked no more: 410', async t => {
    const { deliver, heard } = await called(t, [status(410)]);
    await assert.rejects(deliver('{}'), { code: 'auth.refused' });
    assert.equal(heard.length, 1);
  });

  it('is given up in time', async t => {
    const { deliver, failures } = await called(
      t,
      Array.from({ length: 20 }, () => status(500)),
      {
        giveUpMs: 60_000,
      },
    );
    await assert.rejects(deliver('{}'), ({ code, message }: Error & { code: string }) => {
      assert.equal(code, 'try.later');
      return /answered 500; given up \(--give-up\)/.test(message);
    });
    assert.equal(failures.length, 5, '1 + 2 + 4 + 8 + 16 s, and 32 more would be too late');
  });

  it('that never answers is cut off after 30 s, and one that answers without end is not read on', async t => {
    const { deliver, heard, clock, failures } = await called(t, [
      () => undefined,
      (_request, response) => {
        response.writeHead(200);
        const more = () => void (response.destroyed || response.write('x'.repeat(100_000), more));
        more();
      },
    ]);
    const done = deliver('{}');
    await until('it is called', () => heard.length === 1);
    await until('it is cut off', async () => {
      clock.advance(1000);
      await settle();
      return failures.length === 1;
    });
    await done;
    assert.equal(heard.length, 2);
  });

  for (const [what, options] of [
    ['an inner address, unless it is named', { allow: [], protocol: 'https' }],
    ['a public address without TLS', { allow: ['192.0.2.1'] }],
  ] as const)
    it(`is not ${what}`, async t => {
      const { deliver, heard, failures } = await called(t, [], {
        ...options,
        allow: [...options.allow],
        giveUpMs: 1500,
      });
      await assert.rejects(deliver('{}'), { code: 'try.later' });
      assert.match(failures[0] ?? '', /not public; --allow-address permits it/);
      assert.equal(heard.length, 0);
    });
});

describe('secrets', () => {
  it('are made with 32 bytes, and read with 24 to 64, two at most', () => {
    const secret = newSecret();
    assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
    assert.deepEqual(
      readSecrets(secretFile(secret, '', secret)).map(key => key.length),
      [32, 32],
    );
    const of = (bytes: number) => `whsec_${Buffer.alloc(bytes, 7).toString('base64')}`;
    for (const lines of [[], ['x'], [of(23)], [of(65)], [secret, secret, secret], [`${secret}!`]])
      assert.throws(
        () => readSecrets(secretFile(...lines)),
        ({ message }: Error) =>
          message.includes('lcchook --new-secret makes one') &&
          !lines.some(line => line !== 'x' && message.includes(line)),
      );
    const file = secretFile(secret);
    for (const length of [24, 64]) assert.equal(readSecrets(secretFile(of(length)))[0]?.length, length);
    writeFileSync(file, secret, { mode: 0o600 });
  });
});
