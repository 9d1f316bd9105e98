/** Cache clearing on disks that are full: nothing is lost, what is wrong is shown, and work resumes by itself. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { openSqlite } from '../../src/lib/sqlite.js';
import { ClearHome, idsOf, pagesOf } from '../support/clear.js';
import { Disk, noDisk } from '../support/disk.js';
import { freePort } from '../support/free-port.js';
import { SoftHome } from '../support/soft.js';
import { ROOT } from '../support/tree.js';
import { until } from '../support/until.js';

const MB = 1024 * 1024;
const BYTES = 24 * MB;

/** A rail that notes what it is asked, and answers when it may. */
async function startRail() {
  const pages = new Map<string, string>();
  const cleared: string[] = [];
  let open: () => void = () => undefined;
  let gate = Promise.resolve();
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const url = request.url ?? '';
    const bytes = (await request.toArray()) as Buffer[];
    await gate;
    if (request.method === 'PUT') pages.set(url, Buffer.concat(bytes).toString());
    else if (pages.delete(url) || request.method === 'DELETE') cleared.push(url);
    response.writeHead(204).end();
  };
  const server = createServer((request, response) => void serve(request, response));
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  after(() => server.close().closeAllConnections());
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    pages,
    cleared,
    hold: () => void (gate = new Promise(resolve => (open = resolve))),
    release: () => open(),
  };
}

/** The next commit needs room. */
function emptyLog(home: ClearHome): void {
  const db = openSqlite(join(home.dir, 'clear/clear.db'));
  db.pragma('wal_checkpoint(TRUNCATE)');
  db.close();
}

/** Nothing may have a file open on a disk that goes. */
async function end(home: ClearHome, disk: Disk): Promise<void> {
  await home.daemons.end();
  home.db.close();
  disk.makeRoom();
  await disk.remove();
  await home.end();
}

describe('a disk that is full', { skip: noDisk('ext4') }, () => {
  it('under clear.db stops lccd-hard and refuses requests, loses none, and is left behind when there is room', async () => {
    const disk = new Disk('ext4', BYTES);
    const home = new ClearHome({}, disk.path);
    try {
      const rail = await startRail();
      rail.hold();
      home.addRail('r1', { url: rail.url });
      // What it lacks needs a row for each page.
      home.addRail('down', { url: `http://127.0.0.1:${await freePort()}/` });
      const ids = idsOf(300);
      home.request(ids);
      const daemon = home.startHard();
      await daemon.ready;
      await until('the rail is asked', async () => Number((await home.status())['pages_sending']) > 0);
      await until('the other one is down', () => home.db.rails.get('down')?.state === 'DOWN');
      await until('it rests', () => home.db.backlog.has('down', 'D'));
      emptyLog(home);
      disk.fill();
      rail.release();
      await until('that is shown', async () => (await home.status())['database_trouble'] !== null);
      assert.match(String((await home.status())['database_trouble']), /clear\.db: .*(full|no room)/);
      assert.match(daemon.log, /database not writable; requests wait until it is/);
      const queued = home.db.queue.count(1000);
      const lccclear = (id: string) =>
        spawnSync(join(ROOT, 'bin/lccclear'), ['--target=www', '--type=page', id], {
          env: { ...process.env, LCC_HOME: home.dir },
          encoding: 'utf8',
        });
      const refused = lccclear('refused');
      assert.equal(refused.status, 74, refused.stderr);
      assert.match(refused.stderr, /no room on the disk|disk is full/);
      assert.equal(home.db.queue.count(1000), queued);
      disk.makeRoom();
      await until('all is done', () => home.db.queue.count(1) === 0);
      assert.match(daemon.log, /database writable again/);
      assert.equal((await home.status())['database_trouble'], null);
      assert.equal(lccclear('later').status, 0);
      await until('that, too', () => rail.cleared.includes('/later.html'));
      await until('the queue is empty', () => home.db.queue.count(1) === 0);
      for (const page of pagesOf(ids)) {
        assert.ok(rail.cleared.includes(page), page);
        assert.ok(home.db.backlog.get('down', page) !== undefined, `${page} in the backlog`);
      }
    } finally {
      await end(home, disk);
    }
  });

  it('ends lccd-hard with 75 when it stays full, and the next start does what was left', async () => {
    const disk = new Disk('ext4', BYTES);
    const home = new ClearHome({ database_timeout_ms: 1000 }, disk.path);
    try {
      const rail = await startRail();
      rail.hold();
      home.addRail('r1', { url: rail.url });
      home.request(['a', 'b']);
      const daemon = home.startHard();
      await daemon.ready;
      await until('the rail is asked', async () => Number((await home.status())['pages_sending']) === 2);
      emptyLog(home);
      disk.fill();
      rail.release();
      assert.equal(await daemon.ended, 75);
      assert.equal(home.db.queue.count(9), 2);
      assert.equal(await home.startHard().ended, 74, 'no room to open the database in');
      disk.makeRoom();
      home.startHard();
      await until('all is done', () => home.db.queue.count(1) === 0);
      assert.deepEqual(rail.cleared.toSorted(), ['/a.html', '/a.html', '/b.html', '/b.html']);
    } finally {
      await end(home, disk);
    }
  });

  it('under the contents of pages keeps none of them from rails that are up, and those that were down get them when there is room', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'lcc-home-'));
    const bodies = join(dir, 'clear/bodies');
    mkdirSync(bodies, { recursive: true });
    const disk = new Disk('ext4', BYTES, bodies);
    const home = new SoftHome({ backoff_min_ms: 20, backoff_max_ms: 50, backlog_retry_ms: 50 }, dir);
    try {
      await home.begin([]);
      const [up, late] = [await startRail(), await startRail()];
      home.addRail('r1', { url: up.url });
      home.addRail('r2', { url: late.url });
      home.db.rails.setByAdmin('r2', 'DOWN', Date.now());
      const daemon = home.startSoft();
      await daemon.ready;
      disk.fill();
      const urls = ['/a.html', '/b.html', '/c.html'];
      home.publish(...urls);
      await until('all is published', () => home.db.soft.waitingCount() === 0);
      assert.deepEqual([...up.pages.keys()].toSorted(), urls);
      assert.match(daemon.log, /contents of pages not stored; pages will be generated again/);
      assert.equal(home.db.backlog.get('r2', '/a.html')?.bodySha, null);
      disk.makeRoom();
      home.db.rails.setByAdmin('r2', 'UP', Date.now());
      await until('the late one has all', () => late.pages.size === urls.length);
      await home.untilPublished();
      for (const url of urls) assert.equal(late.pages.get(url), `new ${url}`);
      await until('no content is left', () => readdirSync(bodies).length === 0);
    } finally {
      await end(home, disk);
    }
  });

  it('under contents that have to be in files keeps the old pages, and the new ones come when there is room', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'lcc-home-'));
    const bodies = join(dir, 'clear/bodies');
    mkdirSync(bodies, { recursive: true });
    const disk = new Disk('ext4', BYTES, bodies);
    const home = new SoftHome(
      { soft_memory_bytes: 0, backoff_min_ms: 20, backoff_max_ms: 50, poll_ms: 50 },
      dir,
    );
    try {
      await home.begin([]);
      const rail = await startRail();
      rail.pages.set('/a.html', 'old');
      home.addRail('r1', { url: rail.url });
      await home.startSoft().ready;
      disk.fill();
      home.publish('/a.html');
      await until('it is said', () =>
        /no room for its content/.test(home.db.soft.get({ url: '/a.html', target: 'www' })?.lastError ?? ''),
      );
      assert.match(String((await home.softStatus())['generation_error']), /no room for its content/);
      assert.equal(rail.pages.get('/a.html'), 'old');
      disk.makeRoom();
      await home.untilPublished();
      assert.equal(rail.pages.get('/a.html'), 'new /a.html');
    } finally {
      await end(home, disk);
    }
  });
});
