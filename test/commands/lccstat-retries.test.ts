import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { startLcc, type TestLcc } from '../support/shell-lcc.js';

describe('lccstat and urls that failed', { timeout: 300_000 }, () => {
  let lcc: TestLcc;
  let site: Server;
  before(async () => {
    site = createServer((request, response) => {
      response.writeHead(request.url?.endsWith('bad') === true ? 500 : 200, { 'content-type': 'text/html' });
      response.end('a page');
    });
    site.listen(0, '127.0.0.1');
    await once(site, 'listening');
    const root = `http://127.0.0.1:${(site.address() as AddressInfo).port}/`;
    lcc = await startLcc(root, '[qm]\nretry_delay_ms = "3h"\n');
    const urls = ['good', '1bad', '2bad'].map(curl => `<url curl="${curl}" mimetype="text/html"/>\n`);
    writeFileSync(join(lcc.dir, 'urls'), urls.join(''));
    await lcc.run(`lcccp --uns=${lcc.uns} --pid=1 --urlprefix=${root} <urls`);
    while (!/"state":"retry","until_ms"/.test(await lcc.run('lccstat --queue --json')));
  });
  after(async () => {
    await lcc.destroy();
    site.close();
  });

  it('says that they are tried again, and when', async () => {
    assert.match(
      await lcc.run('lccstat'),
      /^! 2 urls of 1 provider failed and are tried again, the next at [\d: -]+; lccctl flush tries at once$/m,
    );
    const { status, stderr } = await lcc.sh('lccstat --until-idle=0.2');
    assert.equal(status, 75);
    assert.match(
      stderr,
      /^lccstat: still busy after 0\.2 s\nlccstat: ! 2 urls of 1 provider failed and are /,
    );
    assert.match(
      await lcc.run('lccstat --queue'),
      /^ +1 +2 .* all urls failed, are tried again at [\d: -]+$/m,
    );
    assert.match(
      await lcc.run('lccpidb show --pid=1'),
      /^fetched from: +not now, 2 urls failed and are tried again, the next at [\d: -]+ \(lccctl flush\)$/m,
    );
  });

  it('tells programs the same, to the second', async () => {
    const { queue, daemons } = JSON.parse(await lcc.run('lccstat --json')) as {
      queue: Record<string, unknown>;
      daemons: Record<string, Record<string, unknown>>;
    };
    assert.deepEqual([queue['failed_urls'], queue['failed_providers']], [2, 1]);
    const atMs = Number(daemons['lccd-qm']?.['retry_at_ms']);
    // Not when the hour or the cell begins in which they are due, and no time beside the clock on the wall.
    assert.ok(Math.abs(atMs - Date.now() - 3 * 3_600_000) < 120_000, String(atMs));
    const { providers } = JSON.parse(await lcc.run('lccstat --queue --json')) as {
      providers: Record<string, unknown>[];
    };
    const [first] = providers;
    assert.equal(first?.['failed'], 2);
    assert.ok(Math.abs(Number(first?.['until_ms']) - atMs) < 1000);
  });
});
