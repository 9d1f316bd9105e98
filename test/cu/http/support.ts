/** A change feed in the process of its test, and readers of it. */
import { request, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import { join } from 'node:path';
import { after } from 'node:test';
import { ChangesDoor } from '../../../src/cu/http/door.js';
import { SharedCache } from '../../../src/cu/server/cache.js';
import { cuOptions } from '../../../src/cu/server/options.js';
import { loadConfig } from '../../../src/config/load.js';
import { AccountFile } from '../../../src/lib/account-file.js';
import { systemClock, type Clock } from '../../../src/lib/clock.js';
import { parseEndpoint } from '../../../src/lib/endpoint.js';
import { LoginBackoff } from '../../../src/lib/login-backoff.js';
import { silentLog } from '../../../src/lib/log.js';
import { TestCache } from '../../support/cache.js';
import type { Overrides } from '../../support/settings.js';
import { within } from '../../support/until.js';
import { ground } from '../../web/support.js';

/** Makes caches with pages of these names; they are closed when the test file that asks for it ends. */
export function cachesOfFile(): (...names: string[]) => TestCache {
  const caches: TestCache[] = [];
  after(() => caches.forEach(cache => cache.close()));
  return (...names) => {
    const cache = new TestCache();
    caches.push(cache);
    for (const name of names)
      cache.put({ curl: `http://h/${name}`, content: `<title>${name}</title><p>Words.` });
    return cache;
  };
}

/** Names of the pages of these lines. */
export const curls = (text: string) =>
  [...text.matchAll(/"curl":"http:\/\/h\/([^"]*)"/g)].map(([, name]) => name);

export interface Feeds {
  door: ChangesDoor;
  port: number;
  counts: Record<string, number>;
  /** What ended the process, had it been one. */
  bugs: unknown[];
  readers: AccountFile;
}

/** Listens on a port of the loopback. */
export async function feedsOf(
  t: { after(action: () => void | Promise<void>): void },
  cache: TestCache,
  overrides: Overrides = {},
  clock: Clock = systemClock,
  shipped = () => Promise.resolve(),
): Promise<Feeds> {
  const config = loadConfig({
    env: { LCC_HOME: cache.home },
    overrides: { 'cu.anonymous': 'true', ...overrides },
  });
  const { services } = ground(t, overrides);
  const options = cuOptions(config, Infinity);
  const shared = new SharedCache(options.dbPath, options.machineId);
  const counts: Record<string, number> = {};
  const bugs: unknown[] = [];
  const door = new ChangesDoor({
    options,
    cache: shared,
    shipped,
    backoff: new LoginBackoff(clock),
    clock,
    log: silentLog,
    fail: error => void bugs.push(error),
    counted: (what, by) => void (counts[what] = (counts[what] ?? 0) + by),
  });
  t.after(async () => {
    await door.stop();
    shared.close();
  });
  const [endpoint] = await door.listen({ ...services, clock }, [parseEndpoint('127.0.0.1:0')]);
  const readers = new AccountFile(join(cache.home, 'readers'), { one: 'reader', madeBy: '--add-reader' });
  if (endpoint === undefined || endpoint.kind === 'unix') throw new Error('no port');
  return { door, port: endpoint.port, counts, bugs, readers };
}

/** An answer as it comes. */
export class Reader {
  readonly response: IncomingMessage;
  text = '';
  readonly over: Promise<void>;
  #wake: () => void = () => undefined;
  #isOver = false;

  constructor(response: IncomingMessage) {
    this.response = response;
    response.setEncoding('utf8').on('data', (more: string) => {
      this.text += more;
      this.#wake();
    });
    response.on('error', () => undefined);
    this.over = new Promise(resolve =>
      response.once('close', () => {
        this.#isOver = true;
        this.#wake();
        resolve();
      }),
    );
  }

  get status(): number {
    return this.response.statusCode ?? 0;
  }

  /** Resolves when the text matches. */
  async until(pattern: RegExp): Promise<string> {
    while (!pattern.test(this.text)) {
      if (this.#isOver) throw new Error(`over before ${String(pattern)}:\n${this.text}`);
      await within(`a reader gets ${String(pattern)}`, new Promise<void>(done => (this.#wake = done)));
    }
    return this.text;
  }

  leave(): void {
    this.response.destroy();
  }
}

export function reading(
  port: number,
  query: string,
  headers: OutgoingHttpHeaders = {},
  method = 'GET',
): Promise<Reader> {
  const path = query.startsWith('/') ? query : `/changes${query}`;
  return new Promise((resolve, reject) => {
    const asked = request({ port, host: '127.0.0.1', path, headers, method, agent: false }, response =>
      resolve(new Reader(response)),
    );
    asked.on('error', reject).end();
  });
}

/** A whole answer. */
export async function read(...asked: Parameters<typeof reading>): Promise<Reader> {
  const reader = await reading(...asked);
  await within(`the answer to ${asked[1]}`, reader.over);
  return reader;
}

export const EVENTS = { accept: 'text/event-stream' };

/** Cursor and `more` of a poll's last line, and the lines before it. */
export function polled(text: string): { lines: string; cursor: string; more: boolean } {
  const at = text.lastIndexOf('\n', text.length - 2) + 1;
  const { cursor, more } = JSON.parse(text.slice(at)) as { cursor: string; more: boolean };
  return { lines: text.slice(0, at), cursor, more };
}

export interface Event {
  id?: string;
  event?: string;
  data?: string;
}

/** Whole events of a stream, as the standard has them. */
export function eventsIn(text: string): Event[] {
  return text
    .split('\n\n')
    .slice(0, -1)
    .map(block =>
      Object.fromEntries(
        block
          .split('\n')
          .filter(line => line !== '' && !line.startsWith(':'))
          .map(line => {
            const [, name = '', value = ''] = /^([^:]*): ?(.*)$/.exec(line) ?? [];
            return [name, value];
          }),
      ),
    )
    .filter(event => Object.keys(event).length > 0);
}
