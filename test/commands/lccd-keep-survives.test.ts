/** A kept home whose machine is lost right after it has acknowledged: a pair, a password, a clear request, a removal that is held back. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Engine, noEngine } from '../support/engine.js';
import { freePort } from '../support/free-port.js';
import { deliver, KeptHomes, owns } from '../support/kept-homes.js';
import { urlTag } from '../support/lcc.js';
import { until } from '../support/until.js';

const started = noEngine === false ? await Engine.start() : undefined;
const PAGES = 20;
const REMOVED = 5;

describe('A machine that is lost right after it has acknowledged', { skip: noEngine }, () => {
  const homes = new KeptHomes(started as Engine);
  // Registration is of home 0.
  homes.shard = -1;
  it('a pair, a password, a clear request and a removal that is held back is survived by each of them', async () => {
    const port = await freePort();
    const address = `http://127.0.0.1:${port}/`;
    const rs = `[rs]\nlisten = ["127.0.0.1:${port}"]\nurl = "${address}"\nports = ["8080"]`;
    const h1 = await homes.owner(rs);
    const h2 = homes.machine('h2', rs);
    await h2.start();
    const pages = async (at: typeof h1) => Number(await at.run('lccq --count --no-deleted'));
    await h1.run('lccpidb set --pid=1 --fuse-percent=0 --fuse-urls=2');
    await deliver(h1, 0, PAGES);
    await h1.idle();
    await h1.run('lccrail target add www');
    await h1.shows('lcckeep status', /standby: h2, has all/);
    await until('its Registration Server listens', () => fetch(`${address}healthz`).catch(() => undefined));

    const [made] = await Promise.all([
      fetch(`${address}api/v1/pairs`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ url: 'http://h.example:8080/' }),
      }),
      h1.run('lccclear --target=www /a.html'),
      h1.run('lccpidb passwd --pid=1').then(said => (h2.env['LCC_PWD'] = said.trim())),
    ]);
    assert.equal(made.status, 201);
    const { id } = (await made.json()) as { id: string };
    const [old, now] = [h1.env['LCC_PWD'], h2.env['LCC_PWD']];
    assert.notEqual(old, now);
    h1.env['LCC_PWD'] = now;
    const gone = Array.from({ length: REMOVED }, (_, n) => urlTag(`${n}.html`, ' op="delete"'));
    await h1.deliver('partial', gone);
    await h1.killAll();

    await owns(h2);
    const pair = await until('the next Registration Server answers', async () => {
      const answer = await fetch(`${address}api/v1/pairs/${id}`).catch(() => undefined);
      return answer !== undefined && answer.status !== 503 && answer;
    });
    assert.equal(pair.status, 200);
    assert.match(await pair.text(), /"url":"http:\/\/h\.example:8080\/"/);
    assert.match(await h2.run('lccclearq pending'), /^\d+\t\/a\.html\t/);
    await deliver(h2, PAGES, PAGES + 1);
    h2.env['LCC_PWD'] = old;
    await assert.rejects(deliver(h2, 0, 1), /init_rejected/, 'the password before');
    await h2.idle();
    await h2.shows('lccstat', /removals of 1 provider are held back/);
    assert.equal(await pages(h2), PAGES + 1);
    await h2.run('lccctl release --pid=1');
    await until('they are carried out', async () => (await pages(h2)) === PAGES + 1 - REMOVED);
  });
});
