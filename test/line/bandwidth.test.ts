/** Limits of bandwidth in a whole LCC: what is announced and does not come, and what people are told. */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { startLcc, type TestLcc } from '../support/shell-lcc.js';
import { TestSite } from '../support/site.js';

/** Provider 1 or 2 announces a page, with more attributes. */
async function announce(lcc: TestLcc, site: TestSite, pid: 1 | 2, name: string, more = ''): Promise<void> {
  const login = pid === 1 ? '--pid=1' : '--pid=2 --pwdfile=2.pwd';
  await lcc.run(
    `lcccp --uns=${lcc.uns} ${login} --set=partial --urlprefix=${site.urlOf(`/${pid}/`)} <<<'<url curl="${name}" mimetype="text/html"${more}/>'`,
  );
}

/** Looks until it is there: what has just been fetched may not be written yet. The runner's limit ends a wait in vain. */
async function shown(lcc: TestLcc, command: string, wanted: RegExp): Promise<void> {
  for (;;) {
    const { stdout, stderr } = await lcc.sh(command);
    if (wanted.test(stdout + stderr)) return;
  }
}

describe('beside a provider that announces 90 GB, at a limit of 1 MB a second for all', () => {
  let site: TestSite;
  let lcc: TestLcc;
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
      'max_content_bytes = "200KB"\n[qm]\nbandwidth_bytes_per_s = "1MB"\n[lccd]\nrestart_min_ms = 10\n',
    );
    await lcc.run(`lccpidb add --pid=2 --root=${site.urlOf('/2/')} > 2.pwd`);
  });
  after(async () => {
    await lcc?.destroy();
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
      const { daemons } = JSON.parse((await lcc.sh('lccstat --json')).stdout) as {
        daemons: Record<string, { pid: number }>;
      };
      const again = asked('/1/large');
      process.kill(daemons[killed]?.pid ?? assert.fail(), 'SIGKILL');
      await again;
      const other = asked(`/2/${killed}`);
      await announce(lcc, site, 2, killed);
      await other;
    });

  it('says in words that a provider waits for a limit of its own', { timeout: 60_000 }, async () => {
    await lcc.run('lccpidb set --pid=2 --bandwidth=1');
    await announce(lcc, site, 2, 'last');
    await shown(lcc, 'lccq --format=urls', /2\/last/);
    await announce(lcc, site, 2, 'later');
    await shown(lcc, 'lccstat --queue', / waits for its bandwidth until \d\d:\d\d:\d\d$/m);
    await shown(
      lcc,
      'lccpidb show --pid=2',
      /^fetched from: +not before .*, for its bandwidth \(lccctl flush\)$/m,
    );
    assert.equal(
      (await lcc.sh('lccctl flush --pid=2')).stderr,
      'lccctl: the delays of provider 2 are forgotten, what failed is tried at once\n',
    );
    await shown(lcc, 'lccq --format=urls', /2\/later/);
  });
});

describe('an LCC that has used up its bandwidth', () => {
  let site: TestSite;
  let lcc: TestLcc;

  before(async () => {
    site = await TestSite.listen((_request, response) => response.end('x'.repeat(100_000)));
    lcc = await startLcc(site.urlOf('/1/'), '[qm]\nbandwidth_bytes_per_s = 1000\n');
    await lcc.run(`lccpidb add --pid=2 --root=${site.urlOf('/2/')} > 2.pwd`);
    await announce(lcc, site, 1, 'a');
    await lcc.idle();
  });
  after(async () => {
    await lcc?.destroy();
    site?.close();
  });

  it('says in words that providers wait for it, and until when', { timeout: 60_000 }, async () => {
    await announce(lcc, site, 2, 'a');
    await shown(
      lcc,
      'lccstat',
      /^! 1 provider waits for the bandwidth of the LCC \(qm\.bandwidth_bytes_per_s\), which is used up until \d\d:\d\d:\d\d; lccctl flush/m,
    );
    await shown(lcc, 'lccstat --queue', / waits for the bandwidth of the LCC until \d\d:\d\d:\d\d$/m);
    await shown(
      lcc,
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
    await lcc.idle(30);
  });
});
