import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Lcc, startLcc, urlTag } from '../support/lcc.js';
import { TestSite } from '../support/site.js';

describe('lccstat and urls that failed', () => {
  let lcc: Lcc;
  let site: TestSite;
  before(async () => {
    site = await TestSite.listen((request, response) => {
      response.writeHead(request.url?.endsWith('bad') === true ? 500 : 200, { 'content-type': 'text/html' });
      response.end('a page');
    });
    lcc = await startLcc(site.urlOf('/'), '[qm]\nretry_delay_ms = "3h"\n');
    await lcc.announce(['good', '1bad', '2bad'].map(curl => urlTag(curl)));
    await lcc.shows('lccstat --queue --json', /"state":"retry","until_ms"/);
  });
  after(async () => {
    await lcc.remove();
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

  it('says of such a url that lcccp has not told it yet', async () => {
    const { stdout } = await lcc.sh(`lccstat --url=${site.urlOf('/1bad')}`);
    assert.match(stdout, /^last fetch +failed at [\d:]+: 500 .*; lcccp tells it if no try succeeds$/m);
    assert.match(await lcc.run(`lccstat --json --url=${site.urlOf('/1bad')}`), /"received":false/);
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
