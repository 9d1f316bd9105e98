import assert from 'node:assert/strict';
import { createServer, type AddressInfo } from 'node:net';
import { after, test } from 'node:test';
import { cuOptions } from '../../src/cu/server/options.js';
import { CuServer } from '../../src/cu/server/server.js';
import { loadConfig } from '../../src/config/load.js';
import { describe as describeSocket } from '../../src/daemon/listeners.js';
import { ManualClock } from '../../src/lib/clock.js';
import { silentLog } from '../../src/lib/log.js';
import { TestCache } from '../support/cache.js';
import { ask, Cu } from '../support/cu.js';
import { settle } from '../support/duplex.js';

const cache = new TestCache();
after(() => cache.close());

test(
  'lccd-cu stops at once although a content user waits after failed logins',
  { timeout: 20_000 },
  async () => {
    const clock = new ManualClock();
    const options = cuOptions(loadConfig({ env: { LCC_HOME: cache.home }, overrides: {} }), Infinity);
    const cu = new CuServer({ options, clock, log: silentLog, fail: error => assert.fail(String(error)) });
    const server = createServer(socket => cu.accept(describeSocket(socket)));
    await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const login = '<lococa:reader name="search" passwd="wrong"/>';
    for (let failures = 0; failures < 4; failures++) assert.match(await ask(port, login), /code="101"/);
    const waiting = new Cu(port).send(login);
    // What is left is due later than the wait, a tenth of a second.
    while ((clock.nextMs() ?? Infinity) > 100) await settle();
    await cu.stop();
    assert.match(await waiting.reply, /code="102">[^<]*the daemon stops/);
    server.close();
  },
);
