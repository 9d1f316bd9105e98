/** A whole LCC and a site that asks to be left alone in the middle of a large set. */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { Lcc, urlTag } from '../support/lcc.js';
import { TestSite } from '../support/site.js';

const URLS = 400;
const PARALLEL = 3;
const WAIT_S = 4;

describe('an LCC whose site asks to be left alone', () => {
  let site: TestSite;
  let lcc: Lcc;
  before(async () => {
    site = await TestSite.listen();
    lcc = new Lcc(`${site.url}/`);
    await lcc.addProvider();
    await lcc.run(`lccpidb set --pid=1 --parallel=${PARALLEL}`);
  });
  after(async () => {
    await lcc.remove();
    site.close();
  });

  it('asks it nothing more for that time than what was under way, and loses nothing', async () => {
    let refusedAtMs = 0;
    let beyond = 0;
    let asked = 0;
    const open = new Set<ServerResponse>();
    site.answer = (_request, response) => {
      asked++;
      const nowMs = performance.now();
      if (refusedAtMs > 0 && nowMs < refusedAtMs + WAIT_S * 1000) beyond++;
      open.add(response);
      response.once('close', () => open.delete(response));
      if (refusedAtMs === 0 && asked > 50 && open.size === PARALLEL) {
        // All lanes have asked: none of these answers is given before the refusal is.
        refusedAtMs = nowMs;
        for (const each of open) each.writeHead(429, { 'retry-after': String(WAIT_S) }).end();
        return;
      }
      if (refusedAtMs === 0 && asked > 50) return;
      response.writeHead(200, { 'content-type': 'text/html' }).end('page');
    };
    await lcc.start();
    await lcc.deliver(
      'full',
      Array.from({ length: URLS }, (_, n) => urlTag(`${n}.html`)),
    );
    await lcc.idle();
    assert.ok(refusedAtMs > 0, 'it refused');
    assert.equal(beyond, 0, 'requests in the time it wanted to be left alone');
    const { rows } = await lcc.holdings();
    assert.equal(rows.length, URLS);
    assert.equal(asked, URLS + PARALLEL, 'each was asked for once, and those refused once more');
    assert.deepEqual([...lcc.reported], []);
  });
});
