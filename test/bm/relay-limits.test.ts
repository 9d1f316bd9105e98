import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { silentLog } from '../../src/lib/log.js';
import { fetch, offered, RelayWorld } from './support.js';

const recalled = (id: number) => `<fetched id="${id}" status="recalled"/>`;

describe('what a relay lets those below it do', () => {
  it('tries a branch whose store takes nothing again after half a minute, whatever it asks for, and says why', async () => {
    const warnings: string[] = [];
    const log = {
      ...silentLog,
      warn: (event: string, { reason } = { reason: '' }) => void warnings.push(`${event}: ${reason}`),
    };
    const world = new RelayWorld({ log });
    const source = world.source();
    const full = await world.branch(4, 'm1');
    await source.say(fetch(1));
    await source.hear();
    await full.say(
      '<fetched id="1" status="error" code="613" reach="provider" retryafter="86400" wirebytes="0" time="0.000">cannot write</fetched>',
    );
    await world.pass(30_000);
    assert.deepEqual(await source.hear(), [offered(0, 'm1'), recalled(1), offered(4, 'm1')]);
    assert.deepEqual(warnings, ['Bot Manager cannot store content: cannot write']);
    await world.stop();
  });
});
