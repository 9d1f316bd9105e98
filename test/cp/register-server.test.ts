/** What lccregister says of a server that does not answer as one should. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { loginOf } from '../../src/cp/register/account.js';
import { RegistrationServer } from '../../src/cp/register/server.js';
import { Authority } from '../fetch/authority.js';

const ends: (() => void)[] = [];
after(() => ends.forEach(end => end()));

async function serverAt(
  answer: RequestListener,
  tls?: { key: Buffer; cert: Buffer },
  ca?: Buffer,
): Promise<RegistrationServer> {
  const server = tls === undefined ? createServer(answer) : createTlsServer(tls, answer);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  ends.push(() => server.close());
  const { port } = server.address() as AddressInfo;
  const url = `http${tls === undefined ? '' : 's'}://localhost:${port}/`;
  return new RegistrationServer({ url, timeoutMs: 10_000, ca });
}

test('a certificate that is not trusted is said with --cafile, and is not tried again by itself', async () => {
  const authority = new Authority();
  const answer: RequestListener = (_request, response) => void response.end('{}');
  const certificate = authority.selfSigned();
  const untrusted = await serverAt(answer, certificate);
  await assert.rejects(untrusted.ask('GET', 'me'), {
    code: 'peer.unavailable',
    message: /^https:\S+: its certificate is not trusted: self-signed certificate; name .* with --cafile$/,
  });
  const trusted = await serverAt(answer, authority.issue(), Buffer.from(authority.ca));
  assert.deepEqual(await trusted.ask('GET', 'me'), {});
  const other = await serverAt(answer, authority.issue('lcc.example.org'), Buffer.from(authority.ca));
  await assert.rejects(other.ask('GET', 'me'), {
    code: 'peer.unavailable',
    message: /its certificate is for another name/,
  });
});

test('a server that had no time for the request is asked again later, one that is none is not', async () => {
  const of = (status: number) =>
    serverAt((_request, response) => void response.writeHead(status).end('late'));
  for (const status of [408, 502, 504])
    await assert.rejects((await of(status)).ask('GET', 'me'), { code: 'try.later' });
  for (const status of [404, 501])
    await assert.rejects((await of(status)).ask('GET', 'me'), { code: 'peer.protocol' });
});

test('a proxy that lets too many wait says so without JSON, and is asked again when it says', async () => {
  const busy = await serverAt(
    (_request, response) => void response.writeHead(429, { 'retry-after': '7' }).end('<html>'),
  );
  await assert.rejects(busy.ask('GET', 'me'), {
    code: 'try.later',
    retryAfterS: 7,
    message: /: status 429; try again in 7 s$/,
  });
});

test('a server that has moved is named, and gets nothing', async () => {
  const asked: string[] = [];
  const leads = (location: string, status = 301) =>
    serverAt((request, response) => {
      asked.push(request.url ?? '');
      response.writeHead(status, { location }).end('<html>');
    });
  for (const [location, target] of [
    ['https://lcc.example.org/api/v1/me', 'https://lcc.example.org/'],
    ['https://lcc.example.org/base/api/v1/me', 'https://lcc.example.org/base/'],
    ['https://lcc.example.org/', 'https://lcc.example.org/'],
    ['/other', 'http://localhost:\\d+/other'],
  ] as const)
    await assert.rejects(
      (await leads(location, location === '/other' ? 307 : 301)).ask('GET', 'me', undefined, '7:x'),
      {
        code: 'usage',
        message: new RegExp(`^http:\\S+: it leads to ${target}; give that as --server$`),
      },
    );
  assert.deepEqual(asked, Array(4).fill('/api/v1/me'));
  await assert.rejects((await leads('http://[')).ask('GET', 'me'), { code: 'peer.protocol' });
});

test('nothing that a server says comes to stand in a command, a path or a terminal, unless it has the form of ours', async () => {
  const right = {
    id: 'a-b_C',
    pid: 7,
    secret: 'S'.repeat(27),
    password: 'P'.repeat(27),
    state: 'issued',
    url: 'http://h.example/docs/',
    file: 'http://h.example/docs/lcc-0123abcd.txt',
    uns: 'tls:lcc.example.org:9443',
  };
  const make = async (said: object) =>
    (await serverAt((_request, response) => void response.end(JSON.stringify({ ...right, ...said })))).make(
      'x',
      {},
    );
  assert.equal((await make({})).secret, right.secret);
  for (const [name, values] of Object.entries({
    secret: ['x; touch /tmp/y #', 'short', '$(id)'.padEnd(27, 'x'), `${'S'.repeat(20)}\n`, 'S'.repeat(65), 7],
    password: ['x y', "'", 'P'.repeat(101)],
    id: ['../me', 'a b', ''],
    file: ['', 'a.txt', 'lcc-0.txt; id', '../lcc-0.txt', 'lcc-0/../x.txt', 'lcc-0.txt\n'].map(
      each => right.url + each,
    ),
    url: [
      'http://h.example/docs/ ',
      'http://h.example/a\u001b[2J/',
      'file:///etc/',
      'http://h.example/$(id) /',
    ],
  }))
    for (const value of values) {
      const file = name === 'url' ? { file: `${String(value)}lcc-0.txt` } : {};
      await assert.rejects(
        make({ [name]: value, ...file }),
        { code: 'peer.protocol' },
        `${name}: ${String(value)}`,
      );
    }
  const { reason, proven, uns, state } = await make({
    state: 'is\u001bsued',
    reason: { code: 'a\nb', what: '\u001b[2J', do: ['x'] },
    proven: ['a\u0007'],
    uns: 'h:1\n* * * * * root id',
  });
  assert.doesNotMatch(JSON.stringify([reason, proven, uns, state]), /\\n|\\u00/);
});

test('a password file that is not there is said with what to do', () => {
  assert.throws(() => loginOf({ pid: 7, pwdfile: '/none/at/all' }), {
    code: 'input.missing',
    message: /^--pwdfile=\/none\/at\/all: there is no such file; .* passwd --forgot makes another password$/,
  });
});
