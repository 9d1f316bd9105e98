import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Lcc, startLcc } from '../support/lcc.js';
import { TestSite } from '../support/site.js';

describe('lccstat and addresses that are not permitted', () => {
  let lcc: Lcc;
  let site: TestSite;
  before(async () => {
    site = await TestSite.listen();
    lcc = await startLcc(site.urlOf('/'));
  });
  after(async () => {
    await lcc.remove();
    site.close();
  });

  it('says that a robot has refused fetches, and what permits them', async () => {
    assert.doesNotMatch(await lcc.run('lccstat'), /610/);
    const root = 'http://[::1]/';
    await lcc.run(`lccpidb add --pid=2 --spider=yes --root=${root}`);
    await lcc.run(`echo ${root} | lcclinks --seeds --deliver`);
    await lcc.idle();
    // The page, and robots.txt before it.
    assert.match(
      await lcc.run('lccstat'),
      /^! robots have refused 2 fetches since the start of lccd-qm, the last at [\d:]+: address not permitted \(610\); for a private network start lccd with --allow-address, or set bot\.allow_addresses on each machine with robots, then lccctl want-full, and give the seeds of crawls again \(lcclinks\)$/m,
    );
    // Nobody would send it.
    const { status, stderr } = await lcc.sh('lccctl want-full --pid=2');
    assert.equal(status, 64);
    assert.match(stderr, /^lccctl: provider 2 has no password, .* \(lcclinks --seeds\)\n/);
    assert.doesNotMatch(await lcc.run('lccstat'), /a full set is wanted/);
  });
});
