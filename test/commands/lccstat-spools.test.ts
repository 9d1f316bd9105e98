/** What daemons set aside in their spools, told by lccstat. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { Site, WholeLcc } from '../support/whole-lcc.js';

it(
  'lccstat tells files of others in the spools from sets and pages of deletions',
  { timeout: 60_000 },
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
