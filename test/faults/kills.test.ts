import assert from 'node:assert/strict';
import { it } from 'node:test';
import { noNginx } from '../support/nginx.js';
import { killRun } from './kills.js';

const setting = (name: string, otherwise: number) => Number(process.env[`LCC_TEST_${name}`] ?? otherwise);
const KILLS = setting('KILLS', 25);
const URLS = setting('URLS', 2000);
const PROVIDERS = setting('PROVIDERS', 4);

it(
  `${KILLS} random kill -9 over all daemons lose nothing of ${PROVIDERS} providers, and store nothing twice`,
  { skip: noNginx },
  async t => {
    const figures = await killRun({
      kills: KILLS,
      urls: URLS,
      providers: PROVIDERS,
      seed: setting('SEED', 1),
      progress: text => void (KILLS > 100 && console.error(text)),
    });
    const { lost, wrong, revived, ...counted } = figures;
    t.diagnostic(
      JSON.stringify({ ...counted, lost: lost.length, wrong: wrong.length, revived: revived.length }),
    );
    assert.deepEqual({ lost, wrong, revived }, { lost: [], wrong: [], revived: [] });
    assert.equal(figures.twice, 0);
    assert.ok(figures.kills >= KILLS);
    // A killed robot leaves content nobody points to, or half of it; nothing else may be amiss.
    const { orphan: _orphan, leftover: _leftover, ...amiss } = figures.found;
    assert.deepEqual(amiss, {});
    assert.deepEqual(figures.left, {}, 'lccfsck finds nothing the second time');
  },
);
