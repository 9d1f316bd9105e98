import assert from 'node:assert/strict';
import { it } from 'node:test';
import { noNginx } from '../support/nginx.js';
import { killRun } from './kills.js';

const KILLS = Number(process.env['LCC_TEST_KILLS'] ?? 25);
const URLS = Number(process.env['LCC_TEST_URLS'] ?? 2000);

it(
  `${KILLS} random kill -9 over all daemons lose nothing that was acknowledged and store nothing twice`,
  { skip: noNginx },
  async t => {
    const figures = await killRun({
      kills: KILLS,
      urls: URLS,
      seed: Number(process.env['LCC_TEST_SEED'] ?? 1),
    });
    t.diagnostic(
      `kills ${figures.kills} ${JSON.stringify(figures.killed)}; acknowledged ${figures.acknowledged}, stored ${figures.stored}, ` +
        `lost ${figures.lost.length}, wrong ${figures.wrong.length}, twice ${figures.twice}, errors reported ${figures.errorsReported}`,
    );
    assert.deepEqual(figures.lost, []);
    assert.deepEqual(figures.wrong, []);
    assert.equal(figures.twice, 0);
    assert.equal(figures.kills, KILLS);
  },
);
