/** A push that was answered is fetched, whatever is killed: lccd-rs, lccd-uns and lccd-qm at each of their steps. */
import { describe, it } from 'node:test';
import { lifeWithKill, type KillEnv } from '../support/kills.js';
import { isLong } from '../support/long.js';
import { PushScene, URLS } from '../support/push-scene.js';

const REQUESTS = 4;

/** Steps of a push whose key is known, and of one whose site is slow to show it. */
const STEPS = [
  'rs.push.committed',
  'rs.push.delivered',
  'rs.push.committed-sent',
  'uns.accepted',
  'uns.forwarded',
  'qm.set.complete',
  'qm.result.committed',
];
const SLOW_STEPS = ['rs.push.held', 'rs.push.decided'];
const IN_GATE = ['rs.push.delivered'];

async function life(env: KillEnv, isSlow: boolean): Promise<void> {
  const scene = await PushScene.start(env, isSlow);
  try {
    await scene.push(0);
    scene.showKey();
    for (let round = 1; round < REQUESTS; round++) await scene.push(round);
    await scene.areHeld(REQUESTS * URLS);
  } finally {
    await scene.end();
  }
}

describe('a push that was answered is fetched', () => {
  for (const [steps, isSlow] of [
    [STEPS, false],
    [SLOW_STEPS, true],
  ] as const)
    for (const step of steps.filter(name => isLong || IN_GATE.includes(name)))
      it(`after a kill at ${step}`, () => lifeWithKill(step, env => life(env, isSlow)));
});
