/** Limits of bandwidth in a whole LCC: what is announced and does not come, and what people are told. */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { type Lcc, startLcc, urlTag } from '../support/lcc.js';
import { TestSite } from '../support/site.js';

/** Provider 1 or 2 announces a page, with more attributes. */
async function announce(lcc: Lcc, site: TestSite, pid: 1 | 2, name: string, more = ''): Promise<void> {
  const login = pid === 1 ? '--pid=1' : '--pid=2 --pwdfile=2.pwd';
  await lcc.announce([urlTag(name, more)], '', `${login} --urlprefix=${site.urlOf(`/${pid}/`)}`);
}

describe('beside a provider that announces 90 GB, at a limit of 1 MB a second for all', () => {
  let site: TestSite;
  let lcc: Lcc;
  const held: ServerResponse[] = [];
  let onAsked: (path: string) => void = () => undefined;
  const asked = (wanted: string) =>
    new Promise<void>(resolve => {
      onAsked = path => {
        if (path === wanted) resolve();
      };
    });

  before(async () => {
    site = await TestSite.listen((request, response) => {
      onAsked(request.url ?? '');
      if (request.url?.startsWith('/1/') === true) held.push(response);
      else response.end('page');
    });
    lcc = await startLcc(
      site.urlOf('/1/'),
      '[bot]\nmax_content_bytes = "200KB"\n[qm]\nbandwidth_bytes_per_s = "1MB"\n[lccd]\nrestart_min_ms = 10\n',
    );
    await lcc.run(`lccpidb add --pid=2 --root=${site.urlOf('/2/')} > 2.pwd`);
  });
  after(async () => {
    await lcc?.remove();
    site?.close();
  });

  it('another is fetched from before the first has answered', async () => {
    const first = asked('/1/large');
    await announce(lcc, site, 1, 'large', ' len="90000000000"');
    await first;
    const second = asked('/2/a');
    await announce(lcc, site, 2, 'a');
    await second;
    assert.equal(held.length, 1);
  });

  for (const killed of ['lccd-bm', 'lccd-qm'])
    it(`and after kill -9 of ${killed} meanwhile`, async () => {
      await announce(lcc, site, 2, `before-${killed}`);
      const daemons = await lcc.daemons();
      const again = asked('/1/large');
      process.kill(daemons[killed]?.pid ?? assert.fail(), 'SIGKILL');
      await again;
      const other = asked(`/2/${killed}`);
      await announce(lcc, site, 2, killed);
      await other;
    });

  it('says in words that a provider waits for a limit of its own', async () => {
    await lcc.run('lccpidb set --pid=2 --bandwidth=1');
    await announce(lcc, site, 2, 'last');
    await lcc.shows('lccq --format=urls', /2\/last/);
    await announce(lcc, site, 2, 'later');
    await lcc.shows('lccstat --queue', / waits for its bandwidth until \d\d:\d\d:\d\d$/m);
    await lcc.shows(
      'lccpidb show --pid=2',
      /^fetched from: +not before .*, for its bandwidth \(lccctl flush\)$/m,
    );
    assert.equal(
      (await lcc.sh('lccctl flush --pid=2')).stderr,
      'lccctl: the delays of provider 2 are forgotten, what failed is tried at once\n',
    );
    await lcc.shows('lccq --format=urls', /2\/later/);
  });
});

describe('an LCC that has used up its bandwidth', () => {
  let site: TestSite;
  let lcc: Lcc;

  before(async () => {
    site = await TestSite.listen((_request, response) => response.end('x'.repeat(100_000)));
    lcc = await startLcc(site.urlOf('/1/'), '[qm]\nbandwidth_bytes_per_s = 1000\n');
    await lcc.run(`lccpidb add --pid=2 --root=${site.urlOf('/2/')} > 2.pwd`);
    await announce(lcc, site, 1, 'a');
    await lcc.idle();
  });
  after(async () => {
    await lcc?.remove();
    site?.close();
  });

  it('says in words that providers wait for it, and until when', async () => {
    await announce(lcc, site, 2, 'a');
    await lcc.shows(
      'lccstat',
      /^! 1 provider waits for the bandwidth of the LCC \(qm\.bandwidth_bytes_per_s\), which is used up until \d\d:\d\d:\d\d; lccctl flush/m,
    );
    await lcc.shows('lccstat --queue', / waits for the bandwidth of the LCC until \d\d:\d\d:\d\d$/m);
    await lcc.shows(
      'lccpidb show --pid=2',
      /^fetched from: +not before .*, for the bandwidth of the LCC \(lccctl flush without --pid\)$/m,
    );
  });

  it('goes on at once when it is told to forget that, and not for one provider', async () => {
    const { stderr } = await lcc.sh('lccctl flush --pid=2');
    assert.match(stderr, /the bandwidth of the whole LCC \(qm\.bandwidth_bytes_per_s\) is used up until/);
    assert.equal(
      (await lcc.sh('lccctl flush')).stderr,
      'lccctl: the delays of all 2 providers are forgotten, what failed is tried at once (1 without a delay)\n',
    );
    await lcc.idle();
  });
});
