/** A whole LCC and a site that asks to be left alone in the middle of a large set. */
import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { Site, urlTag, WholeLcc } from '../support/whole-lcc.js';

const URLS = 400;
const PARALLEL = 3;
const WAIT_S = 4;

class BusySite extends Site {
  readonly asked: string[] = [];
  answer: (request: IncomingMessage, response: ServerResponse) => void = () => undefined;
  readonly #own = createServer((request, response) => {
    this.asked.push(request.url ?? '');
    this.answer(request, response);
  });
  override async listen(): Promise<void> {
    await new Promise<void>(resolve => void this.#own.listen(0, '127.0.0.1', resolve));
  }
  override get url(): string {
    return `http://127.0.0.1:${(this.#own.address() as AddressInfo).port}`;
  }
  override close(): void {
    this.#own.closeAllConnections();
    this.#own.close();
  }
}

describe('an LCC whose site asks to be left alone', () => {
  const site = new BusySite();
  let lcc: WholeLcc;
  before(async () => {
    await site.listen();
    lcc = new WholeLcc(site);
    await lcc.addProvider();
    await lcc.run('lccpidb', 'set', '--pid=7', `--parallel=${PARALLEL}`);
  });
  after(async () => {
    await lcc.remove();
    site.close();
  });

  it('asks it nothing more for that time than what was under way, and loses nothing', async () => {
    let refusedAtMs = 0;
    let beyond = 0;
    const open = new Set<ServerResponse>();
    site.answer = (_request, response) => {
      const nowMs = performance.now();
      if (refusedAtMs > 0 && nowMs < refusedAtMs + WAIT_S * 1000) beyond++;
      open.add(response);
      response.once('close', () => open.delete(response));
      if (refusedAtMs === 0 && site.asked.length > 50 && open.size === PARALLEL) {
        // All lanes have asked: none of these answers is given before the refusal is.
        refusedAtMs = nowMs;
        for (const each of open) each.writeHead(429, { 'retry-after': String(WAIT_S) }).end();
        return;
      }
      if (refusedAtMs === 0 && site.asked.length > 50) return;
      response.writeHead(200, { 'content-type': 'text/html' }).end('page');
    };
    lcc.start();
    await lcc.deliver(
      'full',
      Array.from({ length: URLS }, (_, n) => urlTag(`${n}.html`)),
    );
    await lcc.untilIdle();
    assert.ok(refusedAtMs > 0, 'it refused');
    assert.equal(beyond, 0, 'requests in the time it wanted to be left alone');
    const { rows } = await lcc.holdings();
    assert.equal(rows.length, URLS);
    assert.equal(site.asked.length, URLS + PARALLEL, 'each was asked for once, and those refused once more');
    assert.deepEqual([...lcc.reported], []);
  });
});
