/** What daemons set aside in their spools, told by lccstat. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { startDaemon } from '../support/daemon.js';
import { Site, urlTag, WholeLcc } from '../support/whole-lcc.js';

it(
  'lccstat tells files of others in the spools from sets and pages of deletions',
  { timeout: 300_000 },
  async () => {
    const site = new Site();
    await site.listen();
    const lcc = new WholeLcc(site);
    try {
      await lcc.addProvider();
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
    } finally {
      await lcc.killAll();
      await lcc.remove();
      site.close();
    }
  },
);

it(
  'lccstat tells of accepted sets of a UNS that does not run, and is not idle',
  { timeout: 300_000 },
  async () => {
    const site = new Site();
    await site.listen();
    const lcc = new WholeLcc(site);
    const told = () => lcc.run('lccstat').catch((error: { code: number; stdout: string }) => error.stdout);
    try {
      await lcc.addProvider();
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
    } finally {
      await lcc.killAll();
      await lcc.remove();
      site.close();
    }
  },
);
