/** Random histories of the real Queue Manager against the model. LCC_MODEL_RUNS asks for more of them. */
import { test } from 'node:test';
import { runHistories } from './histories.js';

const RUNS = Number(process.env['LCC_MODEL_RUNS'] ?? 300);

test('the Queue Manager does what the model says, through any history', async t => {
  const seed = Number(process.env['LCC_MODEL_SEED'] ?? 1);
  await runHistories({ seed, runs: RUNS });
  t.diagnostic(`${RUNS} histories, seed ${seed}`);
});
