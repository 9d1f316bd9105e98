/** What lies in the spools, told by lccstat. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { startDaemon } from '../support/daemon.js';
import { Site, urlTag, WholeLcc } from '../support/whole-lcc.js';

describe('lccstat and spools', { timeout: 600_000 }, () => {
  let site: Site;
  let lcc: WholeLcc;
  beforeEach(async () => {
    site = new Site();
    await site.listen();
    lcc = new WholeLcc(site);
    await lcc.addProvider();
  });
  afterEach(async () => {
    await lcc.killAll();
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
    lcc.start();
    await lcc.untilIdle();
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
    const told = () => lcc.run('lccstat').catch((error: { code: number; stdout: string }) => error.stdout);
    site.pages.set('/a', 'a');
    const alone = startDaemon('lccd-uns', lcc.home, ['--id=u1', `--qm=unix:${lcc.home}/run/qm-uns.sock`]);
    await alone.ready;
    await lcc.deliver('partial', [urlTag('a')]);
    alone.child.kill('SIGTERM');
    assert.equal(await alone.ended, 0);
    lcc.start();
    // It answers when all its daemons do.
    while (!/^lccd +(idle|busy) /m.test(await told()));
    await assert.rejects(lcc.run('lccstat', '--until-idle=2'), { code: 75 });
    assert.match(
      await told(),
      /^! lccd-uns-u1 does not answer: not running; 1 accepted set waits in its spool$/m,
    );
    const back = startDaemon('lccd-uns', lcc.home, [
      '--id=u1',
      `--listen=unix:${lcc.home}/other.sock`,
      `--qm=unix:${lcc.home}/run/qm-uns.sock`,
    ]);
    await back.ready;
    await lcc.untilIdle();
    back.child.kill('SIGTERM');
    await back.ended;
    await lcc.untilIdle();
    assert.doesNotMatch(await told(), /lccd-uns-u1/);
    assert.equal((await lcc.holdings()).rows.length, 1);
  });
});
