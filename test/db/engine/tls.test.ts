/** An engine that is spoken to over TLS: known by its certificate, and lost without a word. */
import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { Engine as EngineNodes } from '../../../src/db/engine/engine.js';
import { engineAccount } from '../../../src/db/engine/nodes.js';
import { systemClock } from '../../../src/lib/clock.js';
import { silentLog } from '../../../src/lib/log.js';
import { certify } from '../../support/certify.js';
import { Engine, noEngine } from '../../support/engine.js';

const never = new AbortController().signal;

describe('an engine over TLS', { skip: noEngine }, () => {
  const dir = mkdtempSync(join(tmpdir(), 'lcc-engine-tls-'));
  chmodSync(dir, 0o755);
  after(() => rmSync(dir, { recursive: true }));

  it('is known by its address; one that is killed, and one that is cut, end no process', async () => {
    const [cert, key, ca] = certify(dir, ['127.0.0.1']);
    chmodSync(key, 0o644);
    const args = [
      `--ssl-ca=${ca}`,
      `--ssl-cert=${cert}`,
      `--ssl-key=${key}`,
      '--require-secure-transport=ON',
    ];
    const engine = await Engine.start({ args });
    try {
      const account = { url: engine.url(), passwordFile: engine.passwordFile(), tlsCa: ca, plain: false };
      const nodes = new EngineNodes(engineAccount(account), { clock: systemClock, log: silentLog });
      const lane = nodes.lane();
      const cipher = () =>
        lane.run(
          async session => (await session.all<{ Value: string }>("show status like 'ssl_cipher'"))[0],
          never,
        );
      assert.match((await cipher())?.Value ?? '', /./);
      await engine.node.kill();
      await engine.node.start();
      assert.match((await cipher())?.Value ?? '', /./);
      nodes.close();
      // Known by another address than that of its certificate: never connected to.
      const other = { ...account, url: account.url.replace('127.0.0.1', 'localhost') };
      const refused = new EngineNodes(engineAccount(other), { clock: systemClock, log: silentLog });
      const stop = AbortSignal.timeout(3000);
      await assert.rejects(refused.lane().run(session => session.all('select 1'), stop));
      assert.match(refused.away?.reason ?? '', /altnames/);
      refused.close();
    } finally {
      await engine.remove();
    }
  });
});
