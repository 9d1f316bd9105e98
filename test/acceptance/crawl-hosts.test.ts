/** Many sites crawled at once with real daemons: each at its own pace, and none waits for one that hangs. */
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { CrawlService } from '../support/crawl-service.js';
import { Lcc } from '../support/lcc.js';
import { BOUND_MS, within } from '../support/until.js';

const HOSTS = Number(process.env['LCC_TEST_CRAWL_HOSTS'] ?? 20);
const PACE_MS = 100;
/** Clocks of two processes, in whole milliseconds. */
const GRAIN_MS = 5;
const SLOW = 3;
/** By path: what its page links to; `next` is a page of the next host. */
const LINKS: Readonly<Record<string, readonly string[]>> = {
  '/': ['/a', '/b', 'next'],
  '/a': ['/c', '/missing'],
  '/b': ['/c', '/'],
  '/c': [],
  '/found': ['/'],
};
const PATHS = Object.keys(LINKS);

/** Addresses of this machine, as many as there are hosts. */
const addressOf = (host: number) => `127.0.${1 + Math.floor(host / 200)}.${1 + (host % 200)}`;

interface Asked {
  path: string;
  beganMs: number;
  endedMs: number;
}

class Sites {
  readonly #server = createServer((request, response) => this.#answer(request, response));
  readonly #events = new EventEmitter();
  /** By host: what it was asked for, in order. */
  readonly asked: Asked[][] = Array.from({ length: HOSTS }, () => []);
  #held: (() => void) | undefined;
  #pages = 0;

  async listen(): Promise<void> {
    this.#server.listen(0, '0.0.0.0');
    await once(this.#server, 'listening');
  }

  rootOf(host: number): string {
    return `http://${addressOf(host % HOSTS)}:${(this.#server.address() as AddressInfo).port}/`;
  }

  /** Settles when every page of every other site was served, while the slow one still keeps its page. */
  async othersServed(): Promise<void> {
    while (this.#pages < (HOSTS - 1) * PATHS.length)
      await within('every other site is crawled', once(this.#events, 'page'));
  }

  get isHanging(): boolean {
    return this.#held !== undefined;
  }

  release(): void {
    this.#held?.();
    this.#held = undefined;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const [, third = '', last = ''] = /^127\.0\.(\d+)\.(\d+):/.exec(request.headers.host ?? '') ?? [];
    const host = (Number(third) - 1) * 200 + Number(last) - 1;
    const path = request.url ?? '';
    const asked = { path, beganMs: performance.now(), endedMs: Infinity };
    this.asked[host]?.push(asked);
    const serve = () => {
      const links = LINKS[path];
      const page = (links ?? [])
        .map(to => `<a href="${to === 'next' ? `${this.rootOf(host + 1)}found` : to}">`)
        .join('');
      asked.endedMs = performance.now();
      response
        .writeHead(links === undefined ? 404 : 200, { 'content-type': 'text/html' })
        .end(`${host}${path}${page}`);
      if (links === undefined || host === SLOW) return;
      this.#pages++;
      this.#events.emit('page');
    };
    if (host === SLOW && path === '/a') this.#held = serve;
    else serve();
  }
}

test(`${HOSTS} sites are crawled at once, each at its pace, while one of them hangs`, async t => {
  const sites = new Sites();
  await sites.listen();
  t.after(() => sites.close());
  const lcc = new Lcc(sites.rootOf(0), '[bot]\nheaders_timeout_ms = "4min"\ntotal_timeout_ms = "4min"\n');
  t.after(() => lcc.remove());
  await lcc.start();
  const roots = Array.from({ length: HOSTS }, (_, host) => sites.rootOf(host));
  writeFileSync(join(lcc.dir, 'hosts.txt'), `${roots.join('\n')}\n`);
  const add = `lccpidb add --sites=hosts.txt --pid-from=1000 --spider=yes --pace=${PACE_MS}ms`;
  assert.equal((await lcc.run(add)).match(/\tnew\n/g)?.length, HOSTS);
  const service = new CrawlService(lcc);
  t.after(() => service.stop());
  await lcc.run('lcclinks --seeds --deliver <hosts.txt');
  await sites.othersServed();
  assert.ok(sites.isHanging, 'the others did not wait for it');
  sites.release();
  await lcc.run(`lccstat --until-idle=${(4 * BOUND_MS) / 1000} --cursor=links.cursor`);

  const wanted = [...PATHS, '/missing', '/robots.txt'].toSorted();
  sites.asked.forEach((asked, host) => {
    assert.deepEqual(asked.map(({ path }) => path).toSorted(), wanted, `host ${host}: each once`);
    assert.equal(asked[0]?.path, '/robots.txt');
    asked.slice(2).forEach(({ path, beganMs }, i) => {
      const pausedMs = beganMs - (asked[i + 1]?.endedMs ?? NaN);
      assert.ok(pausedMs >= PACE_MS - GRAIN_MS, `host ${host}: ${path} after ${pausedMs} ms`);
    });
  });
  assert.equal((await lcc.run('lccq --format=urls | wc -l')).trim(), String(HOSTS * PATHS.length));
});
