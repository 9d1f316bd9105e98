/** Pushes while lccd-rs, lccd-uns and lccd-qm are killed at any moment: what was answered is fetched. */
import { describe, it } from 'node:test';
import { PushScene, URLS } from '../support/push-scene.js';
import { until } from '../support/until.js';

const KILLS = 100;
const KILLED = ['lccd-rs', 'lccd-uns', 'lccd-qm'];

describe('a push that was answered', () => {
  it(`is fetched whatever is killed ${KILLS} times, each time at another moment`, async () => {
    const scene = await PushScene.start({}, false);
    try {
      for (let round = 0; round < KILLS; round++) {
        const name = KILLED[round % KILLED.length] ?? '';
        const pid = await until(`${name} answers`, async () => (await scene.lcc.daemons())[name]?.pid);
        const pushed = scene.push(round);
        for (let turns = round % 20; turns > 0; turns--) await new Promise(resolve => setImmediate(resolve));
        process.kill(pid, 'SIGKILL');
        await pushed;
      }
      await scene.areHeld(KILLS * URLS);
    } finally {
      await scene.end();
    }
  });
});
