/** lccd-hard with real rails. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { HARD_FIGURES } from '../../src/clear/figures.js';
import { EXIT } from '../../src/lib/errors.js';
import { ClearHome, idsOf, pagesOf } from '../support/clear.js';
import { runCommand } from '../support/command.js';
import { OF_EVERY_DAEMON, statusOf } from '../support/daemon.js';
import { noRails } from '../support/rails.js';
import { until } from '../support/until.js';
import { longIt } from '../support/long.js';

const homes: ClearHome[] = [];
after(() => Promise.all(homes.map(home => home.end())));

function newHome(...settings: ConstructorParameters<typeof ClearHome>): ClearHome {
  const home = new ClearHome(...settings);
  homes.push(home);
  return home;
}

/** `METHOD /url` of requests, sorted. */
const asked = (lines: readonly string[]) => lines.map(line => line.replace(/ \d+$/, '')).toSorted();

describe('lccd-hard', { skip: noRails }, () => {
  it('clears every page on every rail once, though half of the requests are equal', async () => {
    const home = newHome();
    const rails = await home.addRails(['apache', 'apache', 'nginx']);
    const ids = idsOf(200);
    for (const rail of rails) rail.write([...pagesOf(ids), '/news/other.html']);
    home.request([...ids, ...ids]);
    const daemon = home.startHard();
    await home.untilClear();
    for (const rail of rails) {
      assert.deepEqual(rail.pages(), ['/news/other.html']);
      assert.deepEqual(
        asked(await rail.requests(200)),
        pagesOf(ids)
          .map(url => `DELETE ${url}`)
          .toSorted(),
      );
    }
    assert.equal(home.db.journal.since('www', 0, 0, 1000).length, 200);
    daemon.child.kill('SIGTERM');
    assert.equal(await daemon.ended, EXIT.ok);
  });

  it('does what is queued while it waits, at once', async () => {
    const home = newHome({ poll_ms: 3_600_000 });
    const [rail] = await home.addRails(['nginx']);
    rail?.write(pagesOf(['a', 'b']));
    await home.startHard().ready;
    for (const id of ['a', 'b']) {
      home.request([id]);
      await home.untilClear();
    }
    assert.deepEqual(rail?.pages(), []);
  });

  it('leaves the pages of a rail that is down to its backlog, and sends them when it is UP', async () => {
    const home = newHome();
    const rails = await home.addRails(['apache', 'nginx', 'nginx']);
    const ids = idsOf(100);
    for (const rail of rails) rail.write(pagesOf(ids));
    const last = rails[2] ?? assert.fail();
    await last.stop();
    home.request(ids);
    const daemon = home.startHard();
    await home.untilClear();
    const row = home.db.rails.get('r3');
    assert.deepEqual([row?.state, row?.changedBy], ['DOWN', 'cachebot']);
    assert.match(row?.reason ?? '', /^refused: /);
    assert.deepEqual(
      rails.map(rail => rail.pages().length),
      [0, 0, 100],
    );
    await daemon.logged('rail is DOWN: mend it, then lccrail up');
    await last.start();
    home.db.rails.setByAdmin('r3', 'UP', Date.now());
    await home.untilClear();
    assert.deepEqual(last.pages(), []);
    assert.equal((await last.requests(100)).length, 100);
  });

  longIt('sees that a rail hangs, though it can be connected to', async () => {
    const home = newHome({ answer_timeout_ms: 300, backoff_min_ms: 10, backoff_max_ms: 10 });
    const [hung] = await home.addRails(['apache'], { workers: 1 });
    await home.addRails(['nginx']);
    const { rails } = home;
    const ids = idsOf(40);
    for (const rail of rails) rail.write(pagesOf(ids));
    hung?.signal('SIGSTOP');
    home.request(ids);
    await home.startHard().ready;
    await home.untilClear();
    const [{ failed }] = (await home.status())['rails'] as [{ failed: number }];
    assert.equal(failed, 3, 'DOWN after the third request that was not answered');
    assert.match(home.db.rails.get('r1')?.reason ?? '', /timeout/);
    assert.equal(rails[1]?.pages().length, 0);
    hung?.signal('SIGCONT');
    home.db.rails.setByAdmin('r1', 'UP', Date.now());
    await home.untilClear();
    assert.deepEqual(hung?.pages(), []);
  });

  for (const [kind, signal] of [
    ['apache', 'SIGUSR1'],
    ['nginx', 'SIGHUP'],
  ] as const)
    longIt(
      `loses nothing when ${kind} is restarted gracefully three times in the middle, and finds no rail down (A6)`,
      async () => {
        const home = newHome();
        const [rail] = await home.addRails([kind]);
        assert.ok(rail);
        const ids = idsOf(1500);
        rail.write(pagesOf(ids));
        home.request(ids);
        home.startHard();
        for (const done of [200, 600, 1000]) {
          await rail.requests(done);
          rail.signal(signal);
        }
        await home.untilClear();
        assert.deepEqual([rail.pages(), home.db.rails.get('r1')?.state], [[], 'UP']);
        assert.deepEqual(home.db.rails.get('r1')?.changedBy, 'admin', 'it never was down');
      },
      kind === 'nginx',
    );

  it('shows rails their login, which stands in no log', async () => {
    const home = newHome();
    const users = join(home.dir, 'users');
    writeFileSync(users, `cachebot:{SHA}${createHash('sha1').update('secret word').digest('base64')}\n`);
    const guard = `AuthType Basic
AuthName rails
AuthUserFile ${users}
<RequireAny>
Require method GET HEAD OPTIONS
Require user cachebot
</RequireAny>`;
    const secrets = join(home.dir, 'clear/secrets.toml');
    const write = (text: string) => writeFileSync(secrets, text, { mode: 0o600 });
    write('[fleet]\nbasic = "cachebot:wrong"\n');
    const [rail] = await home.addRails(['apache'], { authRef: 'fleet' }, guard);
    assert.ok(rail);
    rail.write(pagesOf(['a', 'b']));
    assert.equal((await fetch(`${rail.url}a.html`, { method: 'DELETE' })).status, 401, 'anonymous');
    home.request(['a', 'b']);
    const daemon = home.startHard();
    await daemon.logged('rail refuses requests');
    await until('nothing is queued', () => home.db.queue.count(1) === 0);
    assert.deepEqual(home.db.backlog.get('r1', '/a.html')?.lastError, 'status 401');
    write('[fleet]\nbasic = "cachebot:secret word"\n');
    daemon.child.kill('SIGHUP');
    await daemon.logged('logins of rails reloaded');
    home.db.backlog.retry({ rail: 'r1' });
    await home.untilClear();
    assert.deepEqual(rail.pages(), []);
    assert.doesNotMatch(daemon.log, /secret word|wrong/);
    chmodSync(secrets, 0o644);
    daemon.child.kill('SIGTERM');
    await daemon.ended;
    const again = home.startHard();
    assert.equal(await again.ended, EXIT.config);
    assert.match(again.log, /others may read or write it; chmod 600/);
  });

  longIt(
    'finishes what is under way when it is told to stop, as long as it has time, and goes on later with the rest',
    async () => {
      const home = newHome({ grace_ms: 200 });
      const [rail] = await home.addRails(['nginx']);
      assert.ok(rail);
      const ids = idsOf(30);
      rail.write(pagesOf(ids));
      rail.signal('SIGSTOP');
      home.request(ids);
      const daemon = home.startHard();
      await until('pages are under way', async () => {
        await daemon.ready;
        return (await home.status())['pages_sending'] === 4;
      });
      daemon.child.kill('SIGTERM');
      assert.equal(await daemon.ended, EXIT.ok);
      assert.deepEqual([home.db.queue.count(100), home.db.backlog.counts()], [30, []]);
      assert.doesNotMatch(daemon.log, /"level":"(error|warn)"/);
      rail.signal('SIGCONT');
      const again = home.startHard();
      await home.untilClear();
      again.child.kill('SIGTERM');
      assert.equal(await again.ended, EXIT.ok);
      assert.deepEqual(rail.pages(), []);
    },
  );

  longIt('has the figures of the manual, and is one for each home', async () => {
    const home = newHome();
    await home.addRails(['nginx']);
    await home.startHard().ready;
    const status = await home.status();
    const own = Object.keys(status).filter(key => !OF_EVERY_DAEMON.includes(key));
    assert.deepEqual(own.toSorted(), Object.keys(HARD_FIGURES).toSorted());
    assert.equal(status['idle'], true);
    const second = home.startHard();
    assert.equal(await second.ended, EXIT.unavailable);
    assert.match(second.log, /hard\.lock: held by lccd-hard \(process \d+\); stop that one first/);
    const shown = runCommand(home.dir, 'lccstat', []);
    assert.match(shown.stdout, /lccd-hard +idle .* 1 of 1 rail up/, shown.stderr);
  });

  it('is started by lccd where clearing is enabled', async () => {
    const home = newHome({ enabled: true });
    const [rail] = await home.addRails(['nginx']);
    rail?.write(pagesOf(['a']));
    home.request(['a']);
    const lccd = home.daemons.start('lccd', home.dir, ['--listen=127.0.0.1:0']);
    await lccd.logged('"daemon":"lccd","event":"ready"');
    assert.equal((await statusOf(home.dir, 'lccd-hard'))['daemon'], 'lccd-hard');
    await home.untilClear();
    assert.deepEqual(rail?.pages(), []);
    lccd.child.kill('SIGTERM');
    assert.equal(await lccd.ended, EXIT.ok);
  });
});
