/** Each kind of failure, met at a real server or for want of one; and what a robot says of it. */
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { after, describe, it } from 'node:test';
import type { EngineOptions } from '../../src/fetch/engine.js';
import type { FetchFailure } from '../../src/fetch/failure.js';
import type { FetchJob } from '../../src/fetch/job.js';
import { freePort } from '../support/free-port.js';
import { answer, drip, fetchOnce, flood, md5, newEngine, PATIENT, rawServer } from './support.js';

interface Case {
  serve?: (socket: Socket) => void;
  onConnect?: (socket: Socket) => void;
  job?: Partial<FetchJob>;
  limits?: Partial<EngineOptions>;
  /** Instead of the server's. */
  url?: (port: number) => string;
  sink?: () => void;
  told: string;
}

const HEAD = 'HTTP/1.1 200 OK\r\n';
const say = (text: string) => (socket: Socket) => void socket.write(text);
const redirect = (to: string) => say(`HTTP/1.1 302 Found\r\nLocation: ${to}\r\nContent-Length: 0\r\n\r\n`);

const failingLookup = (code: string): Partial<EngineOptions> => ({
  resolve: (_name, _options, found) =>
    setImmediate(found, Object.assign(new Error('no answer'), { code }), []),
});

const CASES: Record<
  Exclude<
    FetchFailure['kind'],
    'unreachable' | 'connect-failed' | 'exhausted' | 'bug' | 'source' | 'redirect-downgrade'
  >,
  Case
> = {
  'bad-url': { url: () => 'ftp://127.0.0.1/', told: '611 real' },
  dns: {
    url: port => `http://nowhere.example:${port}/`,
    limits: failingLookup('ENOTFOUND'),
    told: '601 provider',
  },
  'dns-temporary': {
    url: port => `http://nowhere.example:${port}/`,
    limits: failingLookup('EAI_AGAIN'),
    told: '601 provider',
  },
  guard: { limits: { allowAddresses: [] }, told: '610 real' },
  refused: { url: port => `http://127.0.0.1:${port}/`, told: '602 provider' },
  'connect-timeout': {
    url: port => `http://slow.example:${port}/`,
    limits: { resolve: () => undefined, connectTimeoutMs: 50 },
    told: '603 provider',
  },
  tls: {
    url: port => `https://127.0.0.1:${port}/`,
    onConnect: socket => void socket.end('HTTP/1.1 400 Bad\r\n\r\n'),
    told: '604 provider',
  },
  'headers-timeout': { serve: () => undefined, limits: { headersTimeoutMs: 50 }, told: '603 url' },
  'idle-timeout': {
    serve: say(`${HEAD}Content-Length: 9\r\n\r\n`),
    limits: { idleTimeoutMs: 50 },
    told: '603 url',
  },
  'too-slow': {
    serve: socket => {
      socket.write(`${HEAD}Content-Length: 999\r\n\r\n`);
      drip(socket, 'x');
    },
    limits: { minRateBytesPerS: 100_000, minRateWindowMs: 100 },
    told: '603 url',
  },
  'total-timeout': {
    serve: socket => {
      socket.write(`${HEAD}Content-Length: 999\r\n\r\n`);
      drip(socket, 'x');
    },
    job: { timeoutMs: 100 },
    told: '603 url',
  },
  reset: { serve: socket => void socket.resetAndDestroy(), told: '605 url' },
  cut: { serve: socket => void socket.end(`${HEAD}Content-Length: 9\r\n\r\nhel`), told: '605 url' },
  contradicted: { serve: socket => void socket.end(`${HEAD}\r\nhel`), job: { len: 9 }, told: '605 url' },
  'too-large': { serve: say(`${HEAD}Content-Length: 11\r\n\r\n`), job: { maxBytes: 10 }, told: '606 real' },
  flood: {
    serve: socket => {
      socket.write(`${HEAD}Transfer-Encoding: chunked\r\n\r\n1;`);
      flood(socket, 'x'.repeat(10_000));
    },
    job: { maxBytes: 10 },
    told: '606 real',
  },
  'headers-flood': {
    serve: socket => {
      socket.write('HTTP/1.1 200 ');
      flood(socket, 'O'.repeat(10_000));
    },
    job: { maxBytes: 10 },
    told: '606 real',
  },
  'headers-too-big': { serve: say(`${HEAD}X: ${'x'.repeat(20_000)}\r\n\r\n`), told: '611 url' },
  // Also where a length stands beside what is wrong.
  'content-length': { serve: say(`${HEAD}Content-Length: 1\r\nContent-Length: 2\r\n\r\n`), told: '611 url' },
  framing: { serve: say(`${HEAD}Transfer-Encoding: chunked\r\n\r\nzz\r\n`), told: '611 url' },
  interim: { serve: say('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(21)), told: '611 url' },
  coding: { serve: say(`${HEAD}Content-Encoding: gzip, gzip\r\nContent-Length: 2\r\n\r\n`), told: '611 url' },
  malformed: { serve: say('SSH-2.0-OpenSSH_9.2\r\n'), told: '611 url' },
  'unexpected-status': {
    serve: say('HTTP/1.1 206 Partial Content\r\nContent-Length: 0\r\n\r\n'),
    told: '611 url',
  },
  'redirect-loop': { serve: redirect('/'), told: '608 real' },
  'too-many-redirects': { serve: redirect('/2'), limits: { maxRedirects: 0 }, told: '608 real' },
  'no-location': { serve: say('HTTP/1.1 302 Found\r\nContent-Length: 0\r\n\r\n'), told: '611 url' },
  'bad-location': { serve: redirect('http://[::g]/'), told: '611 url' },
  'redirect-outside': {
    serve: redirect('/there'),
    job: { roots: ['http://elsewhere.example/'] },
    told: '609 real',
  },
  'other-type': {
    serve: socket => void socket.write(answer('x', 'Content-Type: text/html\r\n')),
    job: { mimetype: 'application/pdf' },
    told: '607 real',
  },
  'unaccepted-type': {
    serve: socket => void socket.write(answer('x', 'Content-Type: image/png\r\n')),
    job: { accept: ['text/*', 'application/pdf'] },
    told: '303 real',
  },
  differs: {
    serve: socket => void socket.write(answer('x')),
    job: { enforce: true, md5: md5('y') },
    told: '612 real',
  },
  cancelled: { serve: () => undefined, limits: { headersTimeoutMs: 3_600_000 }, told: '605 url' },
  status: { serve: socket => void socket.write(answer('', '', '404 Not Found')), told: '404 real' },
  sink: {
    serve: socket => void socket.write(answer('x')),
    sink: () => {
      throw Object.assign(new Error('no room'), { code: 'ENOSPC' });
    },
    told: '613 url',
  },
};

describe('a failure', () => {
  // Timers of the engine do not keep a process alive.
  const alive = setInterval(() => undefined, 60_000);
  after(() => clearInterval(alive));

  for (const [kind, { serve, onConnect, job, limits, url, sink, told }] of Object.entries(CASES) as [
    FetchFailure['kind'],
    Case,
  ][]) {
    it(`is known by its kind: ${kind}`, async () => {
      const server = await rawServer(serve ?? (() => undefined), onConnect);
      const engine = newEngine({ ...PATIENT, ...limits });
      const port = kind === 'refused' ? await freePort() : server.port;
      const fetching = fetchOnce(engine, {
        url: url?.(port) ?? server.url,
        sink: sink ?? (() => undefined),
        ...job,
      });
      if (kind === 'cancelled') engine.close();
      const outcome = await fetching;
      assert.ok(outcome.status === 'error', JSON.stringify(outcome));
      assert.equal(outcome.failure.kind, kind, JSON.stringify(outcome));
      assert.equal(`${outcome.code} ${outcome.reach}`, told);
      assert.match(outcome.message, /^[^\n\r]+$/);
    });
  }
});
