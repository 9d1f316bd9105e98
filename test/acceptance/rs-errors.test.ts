/** The page of errors where there are very many (acceptance 20). */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { MeScene } from '../rs/me-scene.js';
import { ground } from '../web/support.js';

const on = ground({ after });
const ERRORS = 100_000;
const MOST_MS = 200;

test('before 100,000 errors the first page is there within 200 ms, and CSV has them all', async t => {
  const scene = await MeScene.start(on);
  t.after(() => scene.close());
  scene.fail(ERRORS, [404, 500, 603]);
  const took = [];
  for (let i = 0; i < 5; i++) {
    const startMs = performance.now();
    const { status } = await scene.get('/me/errors');
    took.push(performance.now() - startMs);
    assert.equal(status, 200);
  }
  // Others use the machine, too: the fastest is what the page takes.
  const ms = Math.min(...took);
  t.diagnostic(`${ms.toFixed(0)} ms`);
  assert.ok(ms < MOST_MS, `${ms} ms`);
  const { html } = await scene.get('/me/errors.csv');
  assert.equal(html.split('\r\n').length, ERRORS + 2);
});
