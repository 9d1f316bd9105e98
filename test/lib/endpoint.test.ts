import assert from 'node:assert/strict';
import fc from 'fast-check';
import { test } from 'node:test';
import { formatEndpoint, parseEndpoint, type Endpoint } from '../../src/lib/endpoint.js';
import { LccError } from '../../src/lib/errors.js';

const FORMS: [string, Endpoint][] = [
  ['127.0.0.1:9001', { kind: 'tcp', host: '127.0.0.1', port: 9001 }],
  ['lcc.example.org:80', { kind: 'tcp', host: 'lcc.example.org', port: 80 }],
  ['lcc.example.org', { kind: 'tcp', host: 'lcc.example.org', port: 9000 }],
  ['0.0.0.0:9000', { kind: 'tcp', host: '0.0.0.0', port: 9000 }],
  ['[::]:9000', { kind: 'tcp', host: '::', port: 9000 }],
  ['[fe80::1%eth0]:9000', { kind: 'tcp', host: 'fe80::1%eth0', port: 9000 }],
  ['[2001:db8::7]', { kind: 'tcp', host: '2001:db8::7', port: 9000 }],
  ['tls:lcc.example.org:9443', { kind: 'tls', host: 'lcc.example.org', port: 9443 }],
  ['tls:lcc.example.org', { kind: 'tls', host: 'lcc.example.org', port: 9000 }],
  ['tls:[2001:db8::7]:9443', { kind: 'tls', host: '2001:db8::7', port: 9443 }],
  ['unix:/run/lcc/qm.sock', { kind: 'unix', path: '/run/lcc/qm.sock' }],
  ['unix:relative path:with colon', { kind: 'unix', path: 'relative path:with colon' }],
];

test('reads every form an endpoint can be written in', () => {
  for (const [text, endpoint] of FORMS) assert.deepEqual(parseEndpoint(text), endpoint, text);
});

test('an endpoint without host is loopback: nothing listens on the outside unless told to', () => {
  for (const text of ['9001', ':9001', 'tls:9001', 'tls::9001']) {
    const endpoint = parseEndpoint(text);
    assert.ok(endpoint.kind !== 'unix' && endpoint.host === '127.0.0.1' && endpoint.port === 9001, text);
  }
});

test('refuses what is no endpoint, naming it and the accepted forms', () => {
  for (const text of [
    '',
    ':',
    'host:',
    'host:port',
    'host:99999',
    'host:000080',
    'a:b:1',
    '2001:db8::7',
    'unix:',
    'host name:1x',
    'host name:1',
  ]) {
    assert.throws(
      () => parseEndpoint(text),
      (error: unknown) =>
        error instanceof LccError && error.code === 'usage' && error.message.includes(`"${text}"`),
      text,
    );
  }
});

test('takes a path for no host, and says how a socket is written', () => {
  for (const text of ['/run/spider.sock', './spider.sock', 'run/spider.sock:9'])
    assert.throws(() => parseEndpoint(text), {
      code: 'usage',
      message: `endpoint "${text}": that is a path; for a socket write unix:${text}`,
    });
  assert.throws(() => parseEndpoint('http://example.org'), /write host:port, unix:\/path or tls:host:port$/);
});

test('refuses a socket path the system cannot hold, counted in bytes', () => {
  assert.equal(parseEndpoint(`unix:/${'a'.repeat(106)}`).kind, 'unix');
  assert.throws(() => parseEndpoint(`unix:/${'a'.repeat(107)}`), /107 bytes/);
  assert.throws(() => parseEndpoint(`unix:/${'é'.repeat(54)}`), /107 bytes/);
});

test('an endpoint that is printed is read back as it was', () => {
  const PLAIN = { noNullPrototype: true };
  const host = fc.oneof(fc.domain(), fc.ipV4(), fc.ipV6());
  const endpoint: fc.Arbitrary<Endpoint> = fc.oneof(
    fc.record({ kind: fc.constant('unix' as const), path: fc.stringMatching(/^[ -~]{1,100}$/) }, PLAIN),
    fc.record(
      {
        kind: fc.constantFrom('tcp' as const, 'tls' as const),
        host,
        port: fc.integer({ min: 0, max: 65535 }),
      },
      PLAIN,
    ),
  );
  fc.assert(fc.property(endpoint, e => assert.deepEqual(parseEndpoint(formatEndpoint(e)), e)));
});
