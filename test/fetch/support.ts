/** Engines with short deadlines, servers that say exactly what a test wants, folders that go away. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FetchEngine, type EngineOptions } from '../../src/fetch/engine.js';
import { verdictOf, type Verdict } from '../../src/bot/verdict.js';
import { FileSink } from '../../src/fetch/file-sink.js';
import type { FetchJob } from '../../src/fetch/job.js';
import type { Failed, Fetched, FetchOutcome, Unchanged } from '../../src/fetch/outcome.js';
import { CallbackSink, type Sink } from '../../src/fetch/sink.js';
import { atEnd } from '../support/at-end.js';

export const LOOPBACK = ['127.0.0.0/8', '::1'];

const OPTIONS: EngineOptions = {
  connectTimeoutMs: 30_000,
  headersTimeoutMs: 30_000,
  idleTimeoutMs: 30_000,
  drainTimeoutMs: 1000,
  minRateBytesPerS: 100,
  minRateText: '100 bytes/s (bot.min_rate_bytes_per_s)',
  minRateWindowMs: 30_000,
  slowAfterMs: 5000,
  totalTimeoutMs: 60_000,
  maxContentBytes: 1024 * 1024,
  maxHeaderBytes: 16 * 1024,
  maxRedirects: 10,
  redirectLimitText: '10 (bot.max_redirects)',
  contentLimitText: '1 MB (bot.max_content_bytes)',
  headerLimitText: '16 KB',
  userAgent: 'test/1 (+mailto:robots@example.org)',
  allowAddresses: LOOPBACK,
  maxIdleConnections: 16,
  maxConnectionsPerHost: 1000,
  keepAliveMs: 4000,
};

/** What an answer may have at that content limit, and what may come with the read that finds it to be more. */
export const MOST_WIRE_BYTES = 2 * OPTIONS.maxContentBytes + 64 * 1024 + 128 * 1024;

/** For what ends by a deadline only. */
export const IMPATIENT = {
  connectTimeoutMs: 300,
  headersTimeoutMs: 500,
  idleTimeoutMs: 500,
  totalTimeoutMs: 1000,
};

/** For fetches that have to end without any deadline except that of an answer with a known outcome. */
export const PATIENT = {
  connectTimeoutMs: 3_600_000,
  headersTimeoutMs: 3_600_000,
  idleTimeoutMs: 3_600_000,
  totalTimeoutMs: 3_600_000,
  drainTimeoutMs: 200,
};

const engines: FetchEngine[] = [];
const servers: Server[] = [];
const folders: string[] = [];
atEnd(() => {
  for (const engine of engines) engine.close();
  for (const server of servers) server.close();
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

export function newEngine(options: Partial<EngineOptions> = {}): FetchEngine {
  const engine = new FetchEngine({ ...OPTIONS, ...options });
  engines.push(engine);
  return engine;
}

export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'lcc-bot-'));
  folders.push(folder);
  return folder;
}

/** Every file below a folder, temporary ones included. */
export function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => !entry.isDirectory())
    .map(entry => entry.name);
}

/** Where the content of a test's fetch goes. */
type Into = { file: string } | { sink: (chunk: Uint8Array) => void } | { into: Sink };

/** An outcome; a failure with what a robot would say of it. */
export type Told = Fetched | Unchanged | (Failed & Verdict);

let attempts = 0;

/** One fetch; a test file that imports this fails at its end when there was a second result. */
export function fetchOnce(
  engine: FetchEngine,
  job: Partial<FetchJob> & { url: string } & Into,
): Promise<Told> {
  return new Promise(resolve => {
    let results = 0;
    engine.fetch({ roots: [], ...job }, sinkOf(job), {
      done: outcome => {
        // At whatever time: it fails the test that runs then.
        assert.equal(++results, 1, `a second result of ${job.url}`);
        resolve(toldOf(outcome, 'file' in job ? job.file : ''));
      },
    });
  });
}

function sinkOf(job: Into): Sink {
  if ('into' in job) return job.into;
  return 'file' in job ? new FileSink(job.file, `test-${++attempts}`) : new CallbackSink(job.sink);
}

export function toldOf(outcome: FetchOutcome, file: string): Told {
  return outcome.status === 'error' ? { ...outcome, ...verdictOf(outcome.failure, file) } : outcome;
}

/** `ok`, `unchanged`, or the code. */
export function verdict(outcome: Told): string | number {
  return outcome.status === 'error' ? outcome.code : outcome.status;
}

/** Speaks on a connection: `request` is the head of what was asked, `nth` counts requests of the server from 1. */
export type Behaviour = (socket: Socket, request: string, nth: number) => void;

export interface RawServer {
  url: string;
  port: number;
  /** Requests received. */
  requests: string[];
  connections: number;
}

/** A TCP server that hands every request head to `behave`; `onConnect` runs before anything is received. */
export async function rawServer(behave: Behaviour, onConnect?: (socket: Socket) => void): Promise<RawServer> {
  const state: RawServer = { url: '', port: 0, requests: [], connections: 0 };
  const server = createServer(socket => {
    state.connections++;
    socket.on('error', () => undefined);
    onConnect?.(socket);
    let received = '';
    socket.on('data', chunk => {
      received += chunk.toString('latin1');
      for (let end = received.indexOf('\r\n\r\n'); end >= 0; end = received.indexOf('\r\n\r\n')) {
        const request = received.slice(0, end);
        received = received.slice(end + 4);
        state.requests.push(request);
        behave(socket, request, state.requests.length);
      }
    });
  });
  servers.push(server);
  await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve));
  server.unref();
  state.port = (server.address() as AddressInfo).port;
  state.url = `http://127.0.0.1:${state.port}/`;
  return state;
}

/** In hex. */
export function md5(content: string | Buffer): string {
  return createHash('md5').update(content).digest('hex');
}

/** A complete answer with a length. */
export function answer(body: string | Buffer, headers = '', status = '200 OK'): Buffer {
  const bytes = Buffer.from(body);
  return Buffer.concat([
    Buffer.from(`HTTP/1.1 ${status}\r\nContent-Length: ${bytes.length}\r\n${headers}\r\n`, 'latin1'),
    bytes,
  ]);
}

/** Writes `text` every `everyMs` until the connection is gone. */
export function drip(socket: Socket, text: string | Buffer, everyMs = 20): void {
  const timer = setInterval(() => socket.write(text), everyMs);
  socket.on('close', () => clearInterval(timer));
}

/** Writes `chunk` as fast as the other end reads, until the connection is gone. */
export function flood(socket: Socket, chunk: string | Buffer): void {
  const more = () => {
    while (!socket.destroyed && socket.write(chunk));
  };
  socket.on('drain', more);
  more();
}
