/** What the contract says of input and logins, from the command to servers with files beside their document root. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { ClearHome } from '../support/clear.js';
import { runCommand } from '../support/command.js';
import { statusOf, type Daemon } from '../support/daemon.js';
import { noRails, type TestRail } from '../support/rails.js';
import { until } from '../support/until.js';

const homes: ClearHome[] = [];
after(() => Promise.all(homes.map(home => home.end())));

function newHome(...settings: ConstructorParameters<typeof ClearHome>): ClearHome {
  const home = new ClearHome(...settings);
  homes.push(home);
  return home;
}

/** Files and folders below a folder, with the contents of files. */
function treeOf(dir: string): Record<string, string | null> {
  const entries = readdirSync(dir, { recursive: true, withFileTypes: true });
  return Object.fromEntries(
    entries
      .map(entry => ({ entry, path: join(entry.parentPath, entry.name) }))
      .map(({ entry, path }) => [path.slice(dir.length), entry.isFile() ? readFileSync(path, 'utf8') : null]),
  );
}

const IDS = [
  '',
  '.',
  '..',
  '../canary/a',
  '../../canary/a',
  'x/../../canary/a',
  '%2e%2e/canary/a',
  '%2E%2E%2Fcanary%2Fa',
  '..%2fcanary%2fa',
  '..%5ccanary%5ca',
  '..\\canary\\a',
  'x/',
  'x//y',
  '/x',
  '/../canary/a',
  '*',
  'x*',
  'x?y',
  'x#y',
  'x%00',
  'x;y',
  'x y',
  '-x',
  '.htaccess',
  'x/.htaccess',
  'x\u0007',
  'x\u2028y',
  '\u00e9t\u00e9',
  '\u202e',
  'x'.repeat(513),
];
const URLS = [
  '/',
  '//',
  '//canary/a.html',
  '/x/',
  '/../canary/a.html',
  '/x/../../canary/a.html',
  '/%2e%2e/canary/a.html',
  '/%2E%2e/canary/a.html',
  '/.%2e/canary/a.html',
  '/x%2f..%2f..%2fcanary%2fa.html',
  '/x%5c..%5ccanary',
  '/x%00.html',
  '/x.html?y',
  '/x.html#y',
  '/x*.html',
  '/x\\y',
  '/./x.html',
  '/x y',
  `/${'x'.repeat(2048)}`,
  'x.html',
  'ftp://www.example.org/x.html',
  'http://www.example.org',
];

describe('hostile ids and lines', { skip: noRails }, () => {
  async function rooted(): Promise<{ home: ClearHome; rails: TestRail[]; trees: Record<string, unknown>[] }> {
    const home = newHome({ park_after: 2, backoff_min_ms: 10, backoff_max_ms: 20 });
    const rails = await home.addRails(['apache', 'nginx']);
    home.db.targets.addPath({ contentType: '@url', target: 'www', path: '/', extension: '' });
    home.db.targets.addPath({ contentType: 'folder', target: 'www', path: '/', extension: '' });
    for (const rail of rails) {
      const canary = join(rail.docroot, '../canary');
      mkdirSync(join(canary, 'deeper'), { recursive: true });
      for (const name of ['a.html', 'a', 'deeper/b.html']) writeFileSync(join(canary, name), `${name} lives`);
      rail.write(['/x.html', '/x/y.html', '/x/z/deep.html', '/.htaccess.html']);
    }
    const trees = rails.map(rail => ({ docroot: treeOf(rail.docroot), canary: treeOf(canaryOf(rail)) }));
    return { home, rails, trees };
  }
  const canaryOf = (rail: TestRail) => join(rail.docroot, '../canary');

  /** All that may have changed: what is named. */
  async function checkTrees(
    rails: readonly TestRail[],
    trees: readonly Record<string, unknown>[],
    good: readonly string[],
  ): Promise<void> {
    for (const [i, rail] of rails.entries()) {
      const now = { docroot: treeOf(rail.docroot), canary: treeOf(canaryOf(rail)) };
      assert.deepEqual(now, trees[i], rail.name);
      const asked = (await rail.requests(good.length)).map(line => line.split(' ')[1] ?? '');
      assert.deepEqual(asked.toSorted(), good.toSorted(), rail.name);
    }
  }

  it('are named with their line, in each format, and everything else is cleared (A9)', async () => {
    const { home, rails, trees } = await rooted();
    await home.startHard().ready;
    /** Each bad line between two good ones, which are numbered. @returns their numbers */
    const feed = (args: readonly string[], bad: readonly Buffer[], goodLine: (n: number) => string) => {
      const lines = bad.flatMap((line, i) => [Buffer.from(goodLine(i)), line]);
      lines.push(Buffer.from(goodLine(bad.length)));
      const input = Buffer.concat(lines.flatMap(line => [line, Buffer.from('\n')]));
      const { status, stderr } = runCommand(home.dir, 'lccclear', ['--target=www', ...args], { input });
      assert.equal(status, 65, stderr);
      const named = [...stderr.matchAll(/^lccclear: line (\d+): /gm)].map(([, line]) => Number(line));
      assert.deepEqual(
        named,
        bad.map((_, i) => 2 * i + 2),
        stderr,
      );
      assert.match(stderr, new RegExp(`${bad.length} requests refused, ${bad.length + 1} queued`));
      assert.ok(!/[\x07\u2028\u202e]/.test(stderr), 'what a terminal would obey is escaped');
      return Array.from({ length: bad.length + 1 }, (_, n) => n);
    };
    const texts = (lines: readonly string[]) => lines.map(line => Buffer.from(line));
    const raw = [
      Buffer.from('x\0y'),
      Buffer.from([0xff, 0xfe]),
      Buffer.from([0xc3, 0x28]),
      Buffer.alloc(70_000, 'l'),
    ];
    const ids = texts(IDS.filter(id => id !== '').map(id => `${id}\tpage`));
    const objects = texts([
      ...IDS.map(id => JSON.stringify({ id, type: 'page' })),
      '{',
      '[]',
      '7',
      '{"id":7.5}',
      '{"id":"x","target":7}',
      '{"id":"x","force":1}',
      '{"id":"x","target":"none"}',
    ]);
    const wanted = [
      ...feed(['--stdin=tsv', '--type=page'], [...ids, ...raw], n => `tsv${n}`).map(n => `/tsv${n}.html`),
      ...feed(['--stdin=jsonl', '--type=page'], [...objects, ...raw], n => `{"id":"json${n}"}`).map(
        n => `/json${n}.html`,
      ),
      ...feed(['--stdin=urls'], [...texts(URLS), ...raw], n => `/url${n}.html`).map(n => `/url${n}.html`),
    ];
    await home.untilClear();
    await checkTrees(rails, trees, wanted);
    assert.deepEqual(home.db.queue.rejections(0, 9), []);
  });

  it('are rejected by the daemon, too, should they be in the queue; folders stay (A9)', async () => {
    const { home, rails, trees } = await rooted();
    const ids = [...IDS, 'a\0b', 'x\n/y'];
    home.request(ids);
    home.request(ids, { contentType: 'folder', force: true });
    home.request(URLS, { contentType: '@url' });
    home.request(['last']);
    const daemon = home.startHard();
    await until('nothing is queued', () => home.db.queue.count(1) === 0);
    assert.equal(home.db.queue.rejections(0, 1000).length, 2 * ids.length + URLS.length);
    await checkTrees(rails, trees, ['/last.html']);
    assert.ok(daemon.log.split('\n').every(line => line === '' || line.startsWith('{')));
  });

  it('do not remove a folder of the rail by its name, nor what is in it', async () => {
    const { home, rails, trees } = await rooted();
    home.request(['x'], { contentType: 'folder' });
    home.request(['/x/z'], { contentType: '@url' });
    home.startHard();
    await until('nothing is queued', () => home.db.queue.count(1) === 0);
    for (const [i, rail] of rails.entries()) {
      assert.deepEqual(treeOf(rail.docroot), trees[i]?.['docroot'], rail.name);
      for (const url of ['/x', '/x/z'])
        assert.match(
          home.db.backlog.get(rail.name, url)?.lastError ?? '',
          /^status 4/,
          `${rail.name} ${url}`,
        );
    }
  });
});

describe('the login of rails', { skip: noRails }, () => {
  const PASSWORD = 'hunter2-5c1e0b9f';
  const TOKEN = 'token-77aa10d3c2';
  const HEADER = 'header-0d9f8e7c6b';

  it('is in no log, no database, no status, no process list, no message and no core', async () => {
    const home = newHome({
      backoff_min_ms: 10,
      backoff_max_ms: 10,
      park_after: 2,
      backlog_retry_ms: 3_600_000,
    });
    const users = join(home.dir, 'users');
    writeFileSync(users, `cachebot:{SHA}${createHash('sha1').update(PASSWORD).digest('base64')}\n`);
    const guard = `AuthType Basic
AuthName rails
AuthUserFile ${users}
<RequireAny>
Require method GET HEAD OPTIONS
Require user cachebot
</RequireAny>`;
    const secrets = join(home.dir, 'clear/secrets.toml');
    writeFileSync(
      secrets,
      `[fleet]\nbasic = "cachebot:${PASSWORD}"\n[token]\nbearer = "${TOKEN}"\nheaders = { x-key = "${HEADER}" }\n`,
      { mode: 0o600 },
    );
    const rails = await home.addRails(['apache', 'apache'], { authRef: 'fleet' }, guard);
    // One that refuses what it is shown, and one that is not there.
    const [, second] = rails;
    home.db.rails.change('r2', { authRef: 'token' });
    home.addRail('away', { url: 'http://127.0.0.1:1/', authRef: 'token' });
    for (const rail of rails) rail.write(['/a.html']);
    home.request(['a']);
    // Both may leave a core, where they run.
    const dumping = ['bash', '-c', 'ulimit -c unlimited && cd "$LCC_HOME" && exec "$@"', 'bash'];
    const [hard, soft] = ['lccd-hard', 'lccd-soft'].map(name =>
      home.daemons.start(name, home.dir, ['--verbose'], {}, dumping),
    ) as [Daemon, Daemon];
    await Promise.all([hard.ready, soft.ready]);
    await until('nothing is queued', () => home.db.queue.count(1) === 0);
    assert.deepEqual(rails[0]?.pages(), []);
    assert.equal(home.db.backlog.get('r2', '/a.html')?.lastError, 'status 401');
    assert.equal(second?.pages().length, 1);
    hard.child.kill('SIGHUP');
    await hard.logged('logins of rails reloaded');
    const said: Record<string, string> = { 'log of lccd-hard': hard.log, 'log of lccd-soft': soft.log };
    for (const daemon of [hard, soft]) {
      for (const file of ['cmdline', 'environ'])
        said[`${file} of ${daemon.name}`] = readFileSync(`/proc/${daemon.child.pid}/${file}`, 'latin1');
      said[`status of ${daemon.name}`] = JSON.stringify(await statusOf(home.dir, daemon.name));
    }
    for (const [name, ...args] of [
      ['lccrail', 'status', '--json'],
      ['lccrail', 'status'],
      ['lccrail', 'check', 'r1'],
      ['lccrail', 'check', 'r2'],
      ['lccrail', 'check', 'away'],
      ['lccclearq', 'backlog', '--json'],
      ['lccstat', '--json'],
      ['lccstat'],
    ] as const) {
      const { stdout, stderr } = runCommand(home.dir, name, args);
      said[`${name} ${args.join(' ')}`] = stdout + stderr;
    }
    // What cannot be read is not shown either.
    for (const text of [
      `[fleet]\nbasic = "cachebot:${PASSWORD}\n`,
      `[fleet]\nbasic = ["${PASSWORD}"]\n`,
      `[fleet]\nbasic = "${PASSWORD}"\n`,
      `[fleet]\nheaders = { "x y" = "${HEADER}" }\n`,
      `fleet = "${PASSWORD}"\n`,
      `[fleet]\nbearer = """${TOKEN}\n"""\n`,
    ]) {
      writeFileSync(secrets, text);
      const { status, stdout, stderr } = runCommand(home.dir, 'lccrail', ['check', 'r1']);
      assert.equal(status, 78, stderr);
      said[`lccrail check with ${JSON.stringify(text.slice(0, 20))}`] = stdout + stderr;
      hard.child.kill('SIGHUP');
    }
    await hard.logged('file of secrets refused', 1);
    said['log of lccd-hard, later'] = hard.log;
    for (const daemon of [hard, soft]) {
      assert.match(readFileSync(`/proc/${daemon.child.pid}/coredump_filter`, 'latin1'), /^0+$/m);
      assert.equal(await daemon.stop('SIGABRT'), 'SIGABRT');
      // Elsewhere a program takes it (core(5)).
      const isHere = /^[^|/]*$/.test(readFileSync('/proc/sys/kernel/core_pattern', 'latin1').trim());
      const cores = readdirSync(home.dir).filter(name => name.startsWith('core'));
      assert.ok(!isHere || cores.length === 1, `${cores.length} cores of ${daemon.name}`);
      for (const name of cores) {
        said[`core of ${daemon.name}`] = readFileSync(join(home.dir, name), 'latin1');
        rmSync(join(home.dir, name));
      }
    }
    for (const file of readdirSync(join(home.dir, 'clear'), { recursive: true, withFileTypes: true }))
      if (file.isFile() && file.name !== 'secrets.toml')
        said[`file ${file.name}`] = readFileSync(join(file.parentPath, file.name), 'latin1');
    const forms = [PASSWORD, TOKEN, HEADER, `cachebot:${PASSWORD}`].flatMap(secret => [
      secret,
      Buffer.from(secret).toString('base64').replace(/=+$/, ''),
    ]);
    for (const [where, text] of Object.entries(said))
      for (const form of forms) assert.ok(!text.includes(form), `${where} has ${form}`);
    assert.ok(Object.keys(said).length > 20);
  });
});

describe('a rail that strangers may change', { skip: noRails }, () => {
  const login = (users: string, rule: string) => `AuthType Basic
AuthName rails
AuthUserFile ${users}
${rule}`;

  for (const [what, rule, finding] of [
    [
      'everything is granted, and a limit asks for a login besides',
      'Require all granted\n<LimitExcept GET HEAD OPTIONS>\nRequire user cachebot\n</LimitExcept>',
      /PUT without a login: status 201/,
    ],
    [
      'only removing is granted',
      '<RequireAny>\nRequire method GET HEAD OPTIONS DELETE\nRequire user cachebot\n</RequireAny>',
      /DELETE without a login: status 204/,
    ],
  ] as const)
    it(`is found where ${what} (A11)`, async () => {
      const home = newHome();
      const users = join(home.dir, 'users');
      writeFileSync(users, `cachebot:{SHA}${createHash('sha1').update('secret').digest('base64')}\n`);
      writeFileSync(join(home.dir, 'clear/secrets.toml'), '[fleet]\nbasic = "cachebot:secret"\n', {
        mode: 0o600,
      });
      const [rail] = await home.addRails(['apache'], { authRef: 'fleet' }, login(users, rule));
      assert.ok(rail);
      const checked = runCommand(home.dir, 'lccrail', ['check', 'r1']);
      assert.equal(checked.status, 65);
      assert.match(checked.stdout, finding);
      assert.deepEqual(rail.pages(), []);
      home.db.rails.remove('r1');
      const add = ['add', 'r1', '--target=www', `--url=${rail.url}`, '--auth=fleet'];
      const refused = runCommand(home.dir, 'lccrail', add);
      assert.notEqual(refused.status, 0);
      assert.match(refused.stderr, /without a login succeeds .* anybody may change its pages/);
      assert.equal(runCommand(home.dir, 'lccrail', [...add, '--force']).status, 0);
    });
});
