import assert from 'node:assert/strict';
import { closeSync, openSync, readdirSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { readQueueSummary } from '../../src/db/queue/shape.js';
import { urlTag } from '../support/lcc.js';
import { isLong } from '../support/long.js';
import { until } from '../support/until.js';
import { exec, fsck, heals, kindsOf, lcc, one, withDb } from './checked.js';

describe('the queue, the sequence and the counters', () => {
  before(async () => {
    // Nobody fetches: what is delivered waits.
    exec('UPDATE pidb SET paused = 1');
    await lcc.start();
    await lcc.deliver('partial', [urlTag('page-1.html', ' op="delete"')]);
    for (const set of [1, 2, 3])
      await lcc.deliver(
        'partial',
        [1, 2, 3].map(i => urlTag(`waits-${set}-${i}.html`)),
      );
    await until('9 urls wait', () => one('SELECT count(*) FROM qdb') === 9);
    await lcc.stop();
    assert.deepEqual(await fsck(), []);
  });
  const order = () => withDb(db => db.prepare('SELECT curl FROM qdb ORDER BY pos').pluck().all());

  for (const [what, sql, kinds] of [
    ['a set that is missing', 'DELETE FROM qpsdb WHERE psetid = (SELECT max(psetid) FROM qpsdb)', 'sets'],
    [
      'sets that overlap',
      'UPDATE qpsdb SET lastpos = lastpos + 1 WHERE psetid = (SELECT min(psetid) FROM qpsdb)',
      'sets',
    ],
    [
      'a row that says it is of another set',
      'UPDATE queued SET psetid = 999 WHERE pos = (SELECT max(pos) - 1 FROM qdb)',
      'sets',
    ],
    ['filesused', 'UPDATE pidb SET filesused = filesused + 1', ['counter']],
    ['spaceused', 'UPDATE pidb SET spaceused = 0', ['counter']],
    ['nurlproc', 'UPDATE pidb SET nurlproc = nurlproc - 1', ['counter']],
    ['nurlerrs', 'UPDATE pidb SET nurlerrs = 5', ['counter']],
    ['numbers beyond the last', "UPDATE counter SET value = value - 1 WHERE name = 'seq'", ['sequence']],
    [
      'a number used twice',
      `UPDATE tombstone SET seq = (SELECT max(seq) FROM lccurl) WHERE seq = (SELECT max(seq) FROM tombstone)`,
      ['sequence'],
    ],
  ] as const) {
    test(`${what}: put right, the order kept`, async () => {
      const before = order();
      exec(sql);
      await heals(kinds);
      assert.deepEqual(order(), before);
    });
  }

  test('a set whose urls are all gone is no fault, nor the oldest that waits; a repair removes it', async () => {
    exec(
      'INSERT INTO qpsdb(psetid, starttimeslot, pid, firstpos, lastpos, absorbedat) VALUES (0, -1, 1, 0, 0, 1)',
    );
    assert.deepEqual(await fsck(), []);
    withDb(db => assert.ok(readQueueSummary(db, Date.now(), 24).oldest > 1));
    assert.deepEqual(await fsck('repair'), []);
    assert.equal(one('SELECT count(*) FROM qpsdb WHERE psetid = 0'), 0);
  });

  test('whatever is damaged in whichever page, a look at the database tells of it and goes to its end', async () => {
    withDb(db => db.pragma('wal_checkpoint(TRUNCATE)'));
    const path = join(lcc.home, 'lcc.db');
    const sound = readFileSync(path);
    const told = new Set<string>();
    for (let offset = 4096; offset < sound.length; offset += 4096) {
      for (const at of isLong ? [0, 3, 8, 2000, 4090] : [0, 2000]) {
        const damaged = Buffer.from(sound);
        damaged.fill(0xa5, offset + at, offset + at + 3);
        writeFileSync(path, damaged);
        const findings = await fsck('quick').catch((error: unknown) => {
          assert.fail(`page ${offset / 4096}, byte ${at}: ${String(error)}`);
        });
        for (const { what } of findings) told.add(what.replace(/\d+/g, 'N'));
      }
    }
    writeFileSync(path, sound);
    assert.ok(told.has('database disk image is malformed'));
    assert.ok(told.has('damaged (database disk image is malformed): not everything could be looked at'));
    assert.deepEqual(await fsck(), []);
  });

  test('a database that SQLite finds damaged is set aside, and a new one begun with what can be read', async () => {
    const page = Number(one("SELECT rootpage FROM sqlite_schema WHERE name = 'lccurl_seq'"));
    withDb(db => db.pragma('wal_checkpoint(TRUNCATE)'));
    const fd = openSync(join(lcc.home, 'lcc.db'), 'r+');
    writeSync(fd, Buffer.alloc(4096, 0xa5), 0, 4096, (page - 1) * 4096);
    closeSync(fd);
    assert.ok(kindsOf(await fsck()).includes('database'));
    assert.ok((await fsck('repair')).every(({ repaired }) => repaired));
    assert.deepEqual(await fsck(), []);
    assert.ok(readdirSync(lcc.home).some(name => /^lcc\.db\.damaged-\d+$/.test(name)));
    assert.ok(Number(one('SELECT count(*) FROM lccurl')) > 0);
  });
});
