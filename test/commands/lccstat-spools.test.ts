/** What lies in the spools, told by lccstat. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { Lcc, urlTag } from '../support/lcc.js';
import { TestSite } from '../support/site.js';

describe('lccstat and spools', () => {
  let site: TestSite;
  let lcc: Lcc;
  beforeEach(async () => {
    site = await TestSite.listen();
    lcc = new Lcc(`${site.url}/`);
    await lcc.addProvider();
  });
  afterEach(async () => {
    await lcc.remove();
    site.close();
  });

  it('tells files of others from sets and pages of deletions', async () => {
    for (const [spool, names] of [
      ['spool/uns/uns', ['notes', 'copy.tar']],
      ['spool/fsm', ['notes', '000000000000001-elsewhere']],
    ] as const) {
      mkdirSync(join(lcc.home, spool, 'new'), { recursive: true });
      mkdirSync(join(lcc.home, spool, 'bad'), { recursive: true });
      for (const name of names)
        writeFileSync(join(lcc.home, spool, name.startsWith('0') ? 'bad' : 'new', name), 'x');
    }
    await lcc.start();
    await lcc.idle();
    const told = (await lcc.run('lccstat')).split('\n').filter(line => line.includes('set aside'));
    assert.deepEqual(
      told.map(line => line.replace(/^\W*/, '').replace(/: .*/, '')),
      [
        '1 damaged page of deletions is set aside in spool/fsm/bad',
        '1 foreign file is set aside in spool/fsm, below bad/',
        '2 foreign files are set aside in the spool of lccd-uns, below bad/',
      ],
    );
  });

  it('tells of accepted sets of a UNS that does not run, and is not idle', async () => {
    const told = async () => (await lcc.sh('lccstat')).stdout;
    site.pages.set('/a', 'a');
    const alone = lcc.startDaemon('lccd-uns', '--id=u1', `--qm=unix:${lcc.home}/run/qm-uns.sock`);
    await alone.ready;
    await lcc.deliver('partial', [urlTag('a')]);
    assert.equal(await alone.stop(), 0);
    await lcc.start();
    // It answers when all its daemons do.
    await lcc.shows('lccstat', /^lccd +(idle|busy) /m);
    assert.equal((await lcc.sh('lccstat --until-idle=2')).status, 75);
    assert.match(
      await told(),
      /^! lccd-uns-u1 does not answer: not running; 1 accepted set waits in its spool$/m,
    );
    const back = lcc.startDaemon(
      'lccd-uns',
      '--id=u1',
      `--listen=unix:${lcc.home}/other.sock`,
      `--qm=unix:${lcc.home}/run/qm-uns.sock`,
    );
    await back.ready;
    await lcc.idle();
    await back.stop();
    await lcc.idle();
    assert.doesNotMatch(await told(), /lccd-uns-u1/);
    assert.equal((await lcc.holdings()).rows.length, 1);
  });
});
