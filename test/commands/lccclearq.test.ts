import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { ClearDatabase } from '../../src/db/clear/database.js';
import { COMMAND_BUSY_MS } from '../../src/db/clear/open.js';
import { runCommand } from '../support/command.js';
import { addTargets, railOf } from '../db/clear/support.js';

const home = mkdtempSync(join(tmpdir(), 'lcc-clearq-'));
after(() => rmSync(home, { recursive: true, force: true }));

const clearq = (...args: string[]) => runCommand(home, 'lccclearq', args);

describe('lccclearq', () => {
  it('says that there is no database: 66', () => {
    const { status, stderr } = clearq();
    assert.equal(status, 66);
    assert.match(stderr, /clear\.db: there is none yet; lccrail target add makes it/);
  });

  it('shows what waits, is given up and was rejected, and changes that only when told to', () => {
    const db = ClearDatabase.open(join(home, 'clear/clear.db'), COMMAND_BUSY_MS);
    after(() => db.close());
    const parked = {
      op: 'D',
      contentId: 'x',
      bodySha: null,
      attempts: 3,
      nextMs: 9e15,
      error: 'status\t500',
    } as const;
    db.write(() => {
      addTargets(db, 'www');
      for (const name of ['r1', 'r2']) db.rails.add(railOf(name, 'www'), 1);
      for (const contentId of ['a', 'b'])
        db.queue.add({ contentId, contentType: 'page', target: 'www', force: false, source: '' }, Date.now());
      db.queue.reject(2, 'no-path-map: none', 5);
      db.backlog.park({ ...parked, rail: 'r1', url: '/x', dead: 0 }, Date.now());
      db.backlog.park({ ...parked, rail: 'r2', url: '/x', dead: 1 }, Date.now());
    });
    assert.match(
      clearq().stdout,
      /^pending 1, the oldest for .*\nto be published 0\nbacklog of r1 1, the oldest for .*\nbacklog of r2 0; dead 1\nrejected 1\n$/,
    );
    const summary = JSON.parse(clearq('--json').stdout) as Record<string, unknown>;
    assert.deepEqual([summary['pending'], summary['rejected'], summary['publications']], [1, 1, 0]);
    assert.match(clearq('pending').stdout, /^1\ta\tpage\twww\t0\t\d+\n$/);
    db.write(() => db.soft.publish({ url: '/s', target: 'www' }, 7));
    assert.equal(clearq('unpublished').stdout, '/s\twww\t7\t0\t0\t\n');
    assert.match(clearq('rejected').stdout, /^2\tb\tpage\twww\tno-path-map: none\t5\n$/);
    assert.match(clearq('backlog').stdout, /^r1\t\/x\tclear\t\d+\t3\t\d+\tstatus 500\n$/);
    assert.equal(clearq('backlog', '--rail=r2').stdout, '');
    assert.match(
      clearq('dead', '--json').stdout,
      /^\{"rail":"r2","url":"\/x","op":"clear",.*"last_error":"status\\t500"\}\n$/,
    );

    assert.match(clearq('--retry').stderr, /2 pages tried again at once/);
    assert.deepEqual(
      ['r1', 'r2'].map(rail => [db.backlog.get(rail, '/x')?.dead, db.backlog.get(rail, '/x')?.nextMs]),
      [
        [0, 0],
        [0, 0],
      ],
    );
    assert.match(clearq('--retry').stderr, /nothing waits there/);

    assert.equal(clearq('--drop=1').status, 64);
    assert.match(clearq('--drop=1', '--yes').stderr, /a \(page\) on www is forgotten/);
    assert.match(clearq('--drop=2', '--yes').stderr, /b \(page\) on www is forgotten/);
    assert.match(clearq('--drop', '--yes', '--rail=r1', '--url=/x').stderr, /rail r1 keeps \/x as it is/);
    assert.match(clearq().stdout, /^pending 0\n/);
    assert.equal(db.backlog.get('r1', '/x'), undefined);
    for (const [args, says] of [
      [['--drop=1', '--yes'], /neither queued nor rejected/],
      [['--drop', '--yes'], /give a number, or --rail and --url/],
      [['--drop', '--yes', '--rail=r1', '--url=/x'], /rail r1 has no \/x in its backlog/],
      [['backlog', '--rail=r9'], /there is no rail r9/],
      [['all'], /"all" is no list; give one of pending, unpublished, backlog, dead, rejected/],
      [['backlog', '--limit=0'], /--limit=0: give a number from 1/],
    ] as const) {
      const { status, stderr } = clearq(...args);
      assert.equal(status, 64, args.join(' '));
      assert.match(stderr, says);
    }
  });
});
