/** Disks that are full, read-only or broken: each ends in a clear line, nothing is lost, and work resumes by itself. */
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { openReadOnly } from '../../src/db/sqlite/open.js';
import { Disk, noDisk } from '../support/disk.js';
import { Lcc, urlTag } from '../support/lcc.js';
import { longIt } from '../support/long.js';
import { TestSite } from '../support/site.js';
import { until } from '../support/until.js';

const MB = 1024 * 1024;
const PAGES = 20;
const names = Array.from({ length: PAGES }, (_, n) => `p${n}.html`);
const changed = (name: string) => urlTag(name, ' mtime="2026-11-20T10:13:01Z"');
/** Waits are short: what the disk holds up is tried again at once. */
const TOML = `qm.backoff_min_ms = 100
qm.backoff_max_ms = 500
qm.retry_delay_ms = 50
lccd.restart_max_ms = 200
`;

describe('a disk', { skip: noDisk('ext4') }, () => {
  let site: TestSite;
  let lcc: Lcc;
  let disk: Disk;

  beforeEach(async () => {
    site = await TestSite.listen();
    for (const name of names) site.pages.set(`/${name}`, `page ${name} `.repeat(300));
  });
  afterEach(async () => {
    lcc.abandon();
    await lcc.killAll();
    disk.makeRoom();
    await disk.remove();
    await lcc.remove();
    site.close();
  });

  /** An LCC whose store alone is on the disk. */
  async function withStoreDisk(bytes: number, toml = ''): Promise<void> {
    lcc = new Lcc(`${site.url}/`, TOML + toml);
    mkdirSync(join(lcc.home, 'store'));
    disk = new Disk('ext4', bytes, join(lcc.home, 'store'));
    await lcc.addProvider();
    await lcc.start();
  }

  /** An LCC that is on the disk with all it has. */
  const deliver = (some = names, attributes = '') =>
    lcc.deliver(
      'partial',
      some.map(name => urlTag(name, attributes)),
    );

  async function withHomeDisk(bytes: number): Promise<void> {
    disk = new Disk('ext4', bytes);
    lcc = new Lcc(`${site.url}/`, TOML, disk.path);
    await lcc.addProvider();
    await lcc.start();
  }

  const told = (wanted: RegExp) => lcc.shows('lccstat', wanted);
  const held = async () => (await lcc.holdings()).rows.map(row => row.split(' ', 1).join(''));
  async function holdsAll(): Promise<void> {
    await lcc.idle();
    const { rows } = await lcc.holdings();
    assert.deepEqual(rows.map(row => row.split(' ', 1).join('')).toSorted(), names.toSorted());
    assert.ok(rows.every(row => !row.includes('but said to be')));
    assert.deepEqual([...lcc.reported], []);
  }

  longIt(
    'with less room than one file needs takes the files after it, and that file when there is room',
    async () => {
      await withStoreDisk(24 * MB, 'bot.max_content_bytes = "100MB"\nbm.min_free_disk_percent = 0\n');
      site.pages.set('/larger.html', 'x'.repeat(30 * MB));
      await lcc.deliver(
        'partial',
        ['larger.html', ...names].map(name => urlTag(name)),
      );
      await lcc.says(/"rows_queued":1,/);
      assert.deepEqual((await held()).toSorted(), names.toSorted());
      assert.deepEqual([...lcc.reported], [], 'it waits, however often it was tried');
      site.pages.set('/larger.html', 'x'.repeat(10 * MB));
      await lcc.idle();
      assert.ok((await held()).includes('larger.html'));
    },
  );

  it('that is full stops fetching, not deleting and reading, says so, and goes on by itself', async () => {
    await withStoreDisk(24 * MB);
    await deliver();
    await lcc.idle();
    disk.fill();
    await told(/^! store full on machine local: /m);
    site.pages.set('/p0.html', 'changed');
    site.pages.delete('/p1.html');
    await lcc.deliver('partial', [changed('p0.html'), urlTag('p1.html', ' op="delete"')]);
    await lcc.says(/"rows_queued":1,/);
    assert.ok(!(await held()).includes('p1.html'));
    assert.deepEqual([...lcc.reported], []);
    disk.makeRoom();
    await lcc.idle();
    const { rows } = await lcc.holdings();
    assert.equal(rows.length, PAGES - 1);
    assert.ok(rows.every(row => !row.includes('but said to be')));
  });

  longIt(
    'is filled down to the room that it must keep, and not further, by content that comes fast',
    async () => {
      await withStoreDisk(32 * MB, 'bm.min_free_disk_percent = 20\nqm.lane_window = 1000\n');
      // What a robot may have stored and not said, a window of it, fits into the room that must be kept (6 MB): however long the
      // Bot Manager is kept from running, it hears in time of what comes.
      const many = Array.from({ length: 1600 }, (_, n) => `many${n}.html`);
      for (const name of many) site.pages.set(`/${name}`, 'x'.repeat(20_000));
      await lcc.deliver(
        'partial',
        many.map(name => urlTag(name)),
      );
      await told(/^! store full on machine local: /m);
      await lcc.says(/"in_flight":0,/);
      const { bavail, blocks } = statfsSync(disk.path);
      const percent = (bavail / blocks) * 100;
      assert.ok(percent > 18 && percent < 25, `${percent} % are left`);
      assert.deepEqual([...lcc.reported], []);
    },
  );

  longIt('without any room is freed by deletions alone, also by an LCC that starts on it', async () => {
    await withStoreDisk(24 * MB);
    await deliver();
    await lcc.idle();
    await lcc.stop();
    disk.fill();
    await lcc.start();
    await deliver(names, ' op="delete"');
    await lcc.idle();
    await lcc.freed();
    assert.deepEqual(await lcc.holdings(), { rows: [], files: 0 });
    assert.match(lcc.log, /names\.db: disk full/);
  });

  it('that is full under the whole LCC turns CPs away for later, loses nothing, and goes on by itself', async () => {
    await withHomeDisk(48 * MB);
    await deliver(names.slice(0, 10));
    disk.fill();
    await lcc.says(/"no_room":"/);
    const delivered = deliver(names.slice(10));
    await assert.rejects(delivered, /code="102"/);
    assert.ok((await lcc.run('lccq --count')).length > 0, 'reading goes on');
    disk.makeRoom();
    await lcc.says(/^(?=[^]*"no_room":null)(?![^]*"no_room":")/);
    await deliver(names.slice(10));
    await holdsAll();
  });

  longIt('that content has filled as far as it may still takes the deletions that free it', async () => {
    await withHomeDisk(160 * MB);
    const large = Array.from({ length: 180 }, (_, n) => `large${n}.html`);
    for (const name of large) site.pages.set(`/${name}`, 'x'.repeat(MB));
    await deliver(large);
    await told(/^! store full on machine local: /m);
    await deliver(large, ' op="delete"');
    await lcc.idle();
    await lcc.freed();
    assert.deepEqual(await lcc.holdings(), { rows: [], files: 0 });
  });

  longIt('that is full under the whole LCC is freed by the deletions that were accepted before', async () => {
    await withHomeDisk(48 * MB);
    await deliver();
    await lcc.idle();
    const daemons = await lcc.daemons();
    const bm = daemons['lccd-bm']?.pid ?? 0;
    process.kill(bm, 'SIGSTOP');
    await deliver(names, ' op="delete"');
    const waiting = () => {
      const db = openReadOnly(join(lcc.home, 'lcc.db'));
      const count = Number(db.prepare('SELECT count(*) FROM freed').pluck().get());
      db.close();
      return count;
    };
    await until('deletions wait', () => waiting() === PAGES);
    disk.fill();
    process.kill(bm, 'SIGCONT');
    await lcc.freed();
    assert.deepEqual(await lcc.holdings(), { rows: [], files: 0 });
  });

  longIt(
    'that is full when an LCC starts on it holds it up, says so, crashes nothing, and lets it go on when freed',
    async () => {
      await withHomeDisk(48 * MB);
      await deliver();
      await lcc.idle();
      await lcc.stop();
      for (const leftKb of [0, 16]) {
        disk.fill(leftKb * 1024);
        await lcc.start();
        await told(/^! lccd-qm is not started again for now: no room on the disk of /m);
        disk.makeRoom();
        await holdsAll();
        await lcc.stop();
      }
      assert.doesNotMatch(lcc.log, /killed by/);
      await lcc.start();
      await holdsAll();
    },
  );

  it('that fails under the store is told of, and everything is fetched once it is back', async () => {
    await withStoreDisk(24 * MB);
    await deliver(names.slice(0, 10));
    await lcc.idle();
    disk.cutPower();
    await deliver(names.slice(10));
    await until('an I/O error is logged', () =>
      /"level":"(warn|error)"[^\n]*\b(I\/O error|EIO)/i.test(lcc.log),
    );
    assert.deepEqual([...lcc.reported], []);
    await lcc.killAll();
    await disk.unmount();
    disk.mount();
    await lcc.start();
    await holdsAll();
  });

  it('that is read-only lets nothing start, in one line that says so', async () => {
    await withHomeDisk(48 * MB);
    await deliver();
    await lcc.idle();
    await lcc.stop();
    disk.setReadOnly(true);
    const { stderr: failure } = await lcc.sh('lccd');
    assert.match(failure, /"event":"cannot start","error":"[^"]*read-?only/i);
    assert.doesNotMatch(failure, /\bat .*\.c?js:\d+/);
    disk.setReadOnly(false);
    await lcc.start();
    await holdsAll();
  });

  longIt('that is read-only is read, whether the LCC on it was stopped or killed', async t => {
    await withHomeDisk(48 * MB);
    const { TMPDIR } = process.env;
    process.env['TMPDIR'] = disk.outside('tmp');
    t.after(() => (TMPDIR === undefined ? delete process.env['TMPDIR'] : (process.env['TMPDIR'] = TMPDIR)));
    mkdirSync(disk.outside('tmp'));
    await deliver();
    await lcc.idle();
    const read = async () => {
      disk.setReadOnly(true);
      assert.deepEqual((await held()).toSorted(), names.toSorted());
      assert.match(await lcc.run('lccpidb list'), /^1\tenabled\t20\t/m);
      // It ends with 1 when sockets are there and nobody answers.
      assert.match((await lcc.sh('lccstat --queue')).stdout, /TOTAL( +0)+\n/);
      assert.equal(await lcc.run('lccfsck'), '');
      disk.setReadOnly(false);
    };
    await lcc.stop();
    await read();
    await lcc.start();
    await lcc.idle();
    await lcc.killAll();
    await read();
    for (const name of ['lcc.db', 'spool/uns/sessions.db'])
      rmSync(join(lcc.home, `${name}-shm`), { force: true });
    await read();
    assert.deepEqual(readdirSync(disk.outside('tmp')), [], 'no copy is left');
  });
});
