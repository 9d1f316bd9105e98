/**
 * A target with two good rails, and one for each fault that a rail can have: the good ones are done meanwhile, what the others
 * lack is kept with the reason, and when they are mended nothing is missing anywhere.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Authority, type Certificate } from '../fetch/authority.js';
import { BadRail, type Fault, type FaultDetails } from '../support/bad-rails.js';
import { pagesOf } from '../support/clear.js';
import { noRails } from '../support/rails.js';
import { SoftHome } from '../support/soft.js';
import { TestSite } from '../support/site.js';
import { ROOT } from '../support/tree.js';
import { until } from '../support/until.js';

const IDS = ['a', 'b', 'news/c', 'news/d', 'e'];
const PAGES = pagesOf(IDS);
const RETRY_AFTER_S = 1;

interface Expected {
  /** DOWN: found by the daemon. */
  state: 'UP' | 'DOWN';
  /** Of its entries in the backlog. */
  error: RegExp;
  isDead?: boolean;
}

const FAULTS: Readonly<Record<string, Expected & { fault: Fault }>> = {
  refuses: { fault: 'refuses', state: 'DOWN', error: /^refused: / },
  resets: { fault: 'resets', state: 'UP', error: /^reset: / },
  ends: { fault: 'ends', state: 'UP', error: /^(cut|reset): / },
  hangs: { fault: 'hangs', state: 'DOWN', error: /^headers-timeout: / },
  garbage: { fault: 'garbage', state: 'UP', error: /^malformed: / },
  stranger: { fault: 'stranger', state: 'DOWN', error: /^tls: / },
  redirect: { fault: 'redirect', state: 'UP', error: /^status 302$/ },
  login: { fault: 401, state: 'UP', error: /^status 401$/ },
  conflict: { fault: 409, state: 'UP', error: /^status 409: a folder is in its place/, isDead: true },
  large: { fault: 413, state: 'UP', error: /^status 413$/, isDead: true },
  busy: { fault: 429, state: 'UP', error: /^status 429$/ },
  full: { fault: 507, state: 'UP', error: /^status 507$/ },
};

const homes: SoftHome[] = [];
const bad = new Map<string, BadRail>();
const everyBad: BadRail[] = [];
let authority: Authority;
let certificates: { wrong: Certificate; right: Certificate };
let elsewhere: TestSite;
let redirected = 0;
before(async () => {
  authority = new Authority();
  certificates = { wrong: authority.selfSigned(), right: authority.issue('localhost') };
  elsewhere = await TestSite.listen((_request, response) => {
    redirected++;
    response.writeHead(204).end();
  });
});
after(async () => {
  await Promise.all(homes.map(home => home.end()));
  for (const rail of everyBad) rail.close();
  elsewhere.close();
});

/** Two good rails, and one with each fault; each has all pages. */
async function newHome(): Promise<SoftHome> {
  const home = new SoftHome({
    answer_timeout_ms: 2000,
    backoff_min_ms: 10,
    backoff_max_ms: 20,
    park_after: 3,
    // Not before the test says so.
    backlog_retry_ms: 3_600_000,
  });
  homes.push(home);
  await home.begin(['nginx', 'apache']);
  for (const rail of home.rails) rail.write(PAGES);
  writeFileSync(join(home.dir, 'ca.pem'), authority.ca);
  const secrets = `[fleet]\nbasic = "cachebot:secret"\nca = "${join(home.dir, 'ca.pem')}"\n`;
  writeFileSync(join(home.dir, 'clear/secrets.toml'), secrets, { mode: 0o600 });
  const details: Readonly<Record<string, FaultDetails>> = {
    stranger: { certificates },
    redirect: { headers: { location: elsewhere.urlOf('/a.html') } },
    busy: { headers: { 'retry-after': String(RETRY_AFTER_S) } },
  };
  bad.clear();
  for (const [name, { fault }] of Object.entries(FAULTS)) {
    const rail = await BadRail.start(fault, details[name]);
    for (const page of PAGES) rail.pages.set(page, 'old');
    bad.set(name, rail);
    everyBad.push(rail);
    home.addRail(name, { url: rail.url, authRef: 'fleet' });
  }
  return home;
}

const railNamed = (name: string) => bad.get(name) ?? assert.fail(name);

/** @returns status and standard error; this process has the rails, and must not be blocked */
async function run(home: SoftHome, command: string, ...args: string[]): Promise<[number, string]> {
  const child = spawn(join(ROOT, 'bin', command), args, {
    env: { ...process.env, LCC_HOME: home.dir },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  const [status] = (await once(child, 'close')) as [number];
  return [status, said];
}

/** What is kept for rails with faults is as expected, and nothing is for others. */
function check(home: SoftHome): void {
  for (const [name, { state, error, isDead = false }] of Object.entries(FAULTS)) {
    const row = home.db.rails.get(name);
    assert.equal(row?.state, state, `${name}: ${row?.reason}`);
    for (const page of PAGES) {
      const entry = home.db.backlog.get(name, page);
      assert.match(entry?.lastError ?? '', error, `${name} ${page}`);
      assert.equal(entry?.dead, isDead ? 1 : 0, `${name} ${page}`);
    }
  }
  for (const { name } of home.rails) {
    const row = home.db.rails.get(name);
    assert.equal(row?.state, 'UP', `${name}: ${row?.reason}`);
    assert.equal(
      home.db.backlog.counts().find(({ rail }) => rail === name),
      undefined,
    );
  }
  assert.equal(redirected, 0, 'a redirect was followed');
  // With the same page of a busy rail as long a wait as it asked for.
  const times = railNamed('busy').asked.filter(({ line }) => line.endsWith('/a.html'));
  assert.ok(times.length === 3, 'three tries');
  for (const [i, { atMs }] of times.slice(1).entries())
    assert.ok(atMs - (times[i]?.atMs ?? 0) >= RETRY_AFTER_S * 1000 - 1, 'before the time that it asked for');
}

async function mend(home: SoftHome): Promise<void> {
  for (const [name, rail] of bad) {
    await rail.mend();
    if (FAULTS[name]?.state === 'DOWN') home.db.rails.setByAdmin(name, 'UP', Date.now());
  }
  home.db.write(() => home.db.backlog.retry({}));
  await until('nothing waits for a rail', () => home.db.backlog.counts().length === 0);
}

describe('rails with faults', { skip: noRails }, () => {
  it('are cleared when they are mended, and others do not wait for them', async () => {
    const home = await newHome();
    home.db.soft.removeRule({ url: '/**', target: 'www' });
    home.startHard();
    assert.deepEqual(await run(home, 'lccclear', '--target=www', '--type=page', ...IDS), [0, '']);
    await until('each page is cleared, or in a backlog', () => home.db.queue.count(1) === 0);
    for (const rail of home.rails) assert.deepEqual(rail.pages(), [], rail.name);
    check(home);
    for (const [name, rail] of bad) assert.equal(rail.pages.size, PAGES.length, name);
    await mend(home);
    for (const [name, rail] of bad) {
      assert.deepEqual([...rail.pages], [], name);
      // The login is shown to rails, and to nobody that has no right certificate.
      const others = rail.asked.filter(({ authorization }) => authorization !== 'Basic Y2FjaGVib3Q6c2VjcmV0');
      assert.deepEqual(others, [], name);
    }
    assert.deepEqual(home.db.queue.rejections(0, 9), []);
  });

  it('have the new pages when they are mended, and others do not wait for them', async () => {
    const home = await newHome();
    home.startSoft();
    home.publish(...PAGES);
    await until('all is published', () => home.db.soft.waitingCount() === 0);
    for (const page of PAGES) assert.deepEqual(home.contents(page), [`new ${page}`, `new ${page}`]);
    check(home);
    for (const [name, rail] of bad) assert.deepEqual(new Set(rail.pages.values()), new Set(['old']), name);
    // Names that pages were generated under are removed by the other daemon, where that was not possible.
    home.startHard();
    await mend(home);
    for (const [name, rail] of bad)
      assert.deepEqual(
        Object.fromEntries(rail.pages),
        Object.fromEntries(PAGES.map(page => [page, `new ${page}`])),
        name,
      );
  });

  it('that answer 200 to everything are not added: nobody knows what they do', async () => {
    const home = new SoftHome();
    homes.push(home);
    writeFileSync(join(home.dir, 'clear/secrets.toml'), '[fleet]\nbasic = "cachebot:secret"\n', {
      mode: 0o600,
    });
    const portal = await TestSite.listen((_request, response) => response.end('<html>Welcome</html>'));
    after(() => portal.close());
    const add = ['add', 'portal', '--target=www', `--url=${portal.url}/`, '--auth=fleet'];
    const [status, said] = await run(home, 'lccrail', ...add);
    assert.notEqual(status, 0);
    assert.match(said, /PUT without a login succeeds \(status 200\)/);
    assert.equal((await run(home, 'lccrail', ...add, '--force'))[0], 0);
    assert.equal((await run(home, 'lccrail', 'check', 'portal'))[0], 65);
  });
});
