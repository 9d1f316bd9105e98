import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { UrlRecord } from '../../src/wire/url.js';
import { UrlStreamReader } from '../../src/wire/url-stream.js';
import { TestCache } from '../support/cache.js';
import { ROOT } from '../support/tree.js';

const LCCQ = join(ROOT, 'bin/lccq');
const LIMITS = { maxTokenBytes: 65_536, maxDepth: 8, maxAttributes: 32, maxNameBytes: 256 };
let cache: TestCache;
let cursor: string;

beforeEach(() => {
  cache = new TestCache();
  cursor = join(cache.home, 'test.cursor');
});
afterEach(() => cache.close());

interface Outcome {
  status: number | null;
  stdout: string;
  stderr: string;
}

function lccq(args: string[], env: NodeJS.ProcessEnv = {}): Outcome {
  const { status, stdout, stderr } = spawnSync(LCCQ, args, {
    env: { ...process.env, LCC_HOME: cache.home, ...env },
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  return { status, stdout, stderr };
}

/** A shell line with lccq on its PATH. */
function shell(line: string): Outcome {
  const { status, stdout, stderr } = spawnSync('bash', ['-o', 'pipefail', '-c', line], {
    env: {
      ...process.env,
      LCC_HOME: cache.home,
      PATH: `${join(ROOT, 'bin')}:${process.env['PATH']}`,
      F: cursor,
    },
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
}

function urlsOf(args: string[]): string[] {
  const { status, stdout, stderr } = lccq(args);
  assert.equal(status, 0, stderr);
  return stdout.split('\n').slice(0, -1);
}

function cursorSeq(): number | undefined {
  return existsSync(cursor) ? Number(readFileSync(cursor, 'utf8').trim().split(' ')[3]) : undefined;
}

function sqlite(db: string, sql: string): string {
  const { status, stdout, stderr } = spawnSync('sqlite3', [db, sql], { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  return stdout;
}

describe('lccq', () => {
  it('lists what is held, without deletions, as a stream our tools and xmllint read', () => {
    cache.put({ curl: 'http://x/a"b&c<d>', subtype: 'x:y', mtime: '2026-11-20T10:13:01Z' });
    const file = cache.put({ curl: 'http://x/2', burl: '', furl: 'http://y/2', verified: false });
    cache.put({ curl: 'http://x/3' });
    cache.remove('http://x/3');
    const { status, stdout } = lccq([]);
    assert.equal(status, 0);
    const records: UrlRecord[] = [];
    const reader = new UrlStreamReader({ url: record => void records.push(record) }, LIMITS, {
      where: 'lccq',
    });
    reader.write(Buffer.from(stdout));
    reader.end();
    assert.ok(reader.sawEnd);
    assert.deepEqual(
      records.map(record => [
        record.curl,
        record.burl,
        record.furl,
        record.status,
        record.subtype,
        record.mtime,
      ]),
      [
        ['http://x/a"b&c<d>', undefined, undefined, 'ok', 'x:y', '2026-11-20T10:13:01Z'],
        ['http://x/2', '', 'http://y/2', 'unverified', undefined, undefined],
      ],
    );
    assert.equal(records[1]?.file, file);
    assert.equal(spawnSync('xmllint', ['--noout', '-'], { input: stdout }).status, 0);
  });

  it('reads while the writer is at work, and when nobody is', () => {
    cache.put({ curl: 'http://x/1' });
    cache.db.exec('BEGIN IMMEDIATE');
    assert.deepEqual(urlsOf(['--format=urls']), ['http://x/1']);
    cache.db.exec('ROLLBACK');
    cache.db.close();
    assert.deepEqual(urlsOf(['--format=urls']), ['http://x/1']);
  });

  it('selects by provider, beginning, mimetype, time and side', () => {
    cache.put({ curl: 'http://x/a/1', pid: 1, at: 1000 });
    cache.put({ curl: 'http://x/a/2', pid: 2, at: 2000, mimetype: 'text/plain' });
    cache.put({ curl: 'http://x/b_/3', pid: 2, at: 3000, mimetype: 'image/png' });
    cache.put({ curl: 'http://x/4', pid: 2, at: 3000 });
    cache.remove('http://x/4', { pid: 2, at: 4000 });
    const curls = (...args: string[]) => urlsOf(['--format=tsv', '--fields=curl', ...args]);
    assert.deepEqual(curls('--pid=2'), ['http://x/a/2', 'http://x/b_/3']);
    assert.deepEqual(curls('--prefix=http://x/a/'), ['http://x/a/1', 'http://x/a/2']);
    assert.deepEqual(curls('--prefix=http://x/_'), []);
    assert.deepEqual(curls('--mime=text/*'), ['http://x/a/1', 'http://x/a/2']);
    assert.deepEqual(curls('--since=2000', '--until=3000'), ['http://x/a/2']);
    assert.deepEqual(curls('--since=3000'), ['http://x/b_/3', 'http://x/4']);
    assert.deepEqual(curls('--since=3000', '--no-deleted'), ['http://x/b_/3']);
    assert.deepEqual(curls('--deleted'), ['http://x/4']);
    assert.deepEqual(curls('--limit=2'), ['http://x/a/1', 'http://x/a/2']);
    assert.deepEqual(urlsOf(['--count', '--pid=2', '--mime=image/*']), ['1']);
    assert.deepEqual(urlsOf(['--count', '--limit=2']), ['2']);
  });

  it('prints each format', () => {
    const file = cache.put({ curl: 'http://x/1\t', mtime: '2026-11-20T10:13:01Z', content: 'four' });
    cache.put({ curl: 'http://x/2', burl: '' });
    cache.put({ curl: 'http://x/3', machineid: 'elsewhere', burl: 'http://b/3' });
    cache.remove('http://x/2');
    assert.deepEqual(urlsOf(['--format=paths']), [file]);
    assert.deepEqual(lccq(['--format=paths0']).stdout, `${file}\0`);
    assert.deepEqual(urlsOf(['--format=urls']), ['http://x/1\t', 'http://b/3']);
    assert.deepEqual(urlsOf(['--format=tsv', '--fields=op,curl,len,file,burl', '--since=0']), [
      `upsert\thttp://x/1\\t\t4\t${file}\thttp://x/1\\t`,
      'upsert\thttp://x/3\t17\t\thttp://b/3',
      'delete\thttp://x/2\t\t\t',
    ]);
    const [first, second, third] = urlsOf(['--format=jsonl', '--since=0']).map(
      line => JSON.parse(line) as Record<string, unknown>,
    );
    assert.deepEqual(first, {
      op: 'upsert',
      seq: 1,
      id: 1,
      pid: 1,
      curl: 'http://x/1\t',
      mimetype: 'text/html',
      subtype: null,
      burl: 'http://x/1\t',
      furl: 'http://x/1\t',
      md5: '8cbad96aced40b3838dd9f07f6ef5772',
      len: 4,
      mtime: '2026-11-20T10:13:01Z',
      fetched_time: 1_795_000_000,
      deleted_time: null,
      fetched_machineid: 'local',
      fetched_fileid: 'aa/bb/000001',
      file,
      status: 'ok',
    });
    assert.equal(second?.['file'], null);
    assert.deepEqual(
      [third?.['op'], third?.['deleted_time'], third?.['status']],
      ['delete', 1_795_000_000, 'deleted'],
    );
  });

  it('ends silently when its reader has seen enough', () => {
    cache.fill(3000, i => `http://x/${i}`);
    const { stdout, stderr, status } = shell('lccq | head -n 3 >/dev/null; echo ${PIPESTATUS[0]}');
    assert.deepEqual([stdout, stderr, status], ['0\n', '', 0]);
  });

  for (const [what, args, status] of [
    ['an unknown format', ['--format=yaml'], 64],
    ['an unknown field', ['--format=tsv', '--fields=curl,size'], 64],
    ['fields of a format that has none', ['--format=urls', '--fields=curl'], 64],
    ['a cursor and a time', ['--cursor=x', '--since=1h'], 64],
    ['a time it cannot read', ['--since=soon'], 64],
    ['deletions as paths', ['--deleted', '--format=paths'], 64],
    ['a limit of nothing', ['--limit=0'], 64],
    ['no program behind the dashes', ['--'], 64],
    ['--commit with anything else', ['--commit=x', '--pid=1'], 64],
    ['a commit of nothing', ['--commit=/nonexistent/c'], 66],
    ['a cursor in a directory that is not there', ['--cursor=/nonexistent/c'], 73],
  ] as const) {
    it(`refuses ${what} in one line`, () => {
      const outcome = lccq([...args]);
      assert.equal(outcome.status, status);
      assert.equal(outcome.stderr.split('\n').filter(line => !/try 'lccq --help'/.test(line)).length, 2);
    });
  }

  it('says where it looked when there is no LCC', () => {
    const { status, stderr } = lccq([], { LCC_HOME: '/nonexistent' });
    assert.equal(status, 66);
    assert.match(stderr, /\/nonexistent\/lcc\.db/);
  });
});

describe('lccq --cursor -- CMD', () => {
  const into = (...command: string[]) =>
    lccq([`--cursor=${cursor}`, '--format=tsv', '--fields=op,curl', '--', ...command]);

  it('pipes what is new into CMD, each change once', () => {
    cache.put({ curl: 'http://x/1' });
    cache.put({ curl: 'http://x/2' });
    assert.equal(into('cat').stdout, 'upsert\thttp://x/1\nupsert\thttp://x/2\n');
    cache.put({ curl: 'http://x/1', content: 'new' });
    cache.remove('http://x/2');
    assert.equal(into('cat').stdout, 'upsert\thttp://x/1\ndelete\thttp://x/2\n');
    assert.equal(cursorSeq(), 4);
  });

  it('does not run CMD when nothing is new, and moves past what was not asked for', () => {
    cache.put({ curl: 'http://x/1', pid: 2 });
    const { status, stdout } = lccq([
      `--cursor=${cursor}`,
      '--pid=1',
      '--',
      'touch',
      join(cache.home, 'ran'),
    ]);
    assert.deepEqual([status, stdout, cursorSeq()], [0, '', 1]);
    assert.ok(!existsSync(join(cache.home, 'ran')));
  });

  it('keeps the cursor and passes the status on when CMD fails', () => {
    cache.put({ curl: 'http://x/1' });
    const { status, stderr } = into('sh', '-c', 'cat >/dev/null; exit 3');
    assert.equal(status, 3);
    assert.match(stderr, /^lccq: sh exited with 3; .*not moved\n$/);
    assert.equal(cursorSeq(), undefined);
    assert.equal(into('cat').stdout, 'upsert\thttp://x/1\n');
  });

  it('keeps the cursor when CMD is killed or cannot be run', () => {
    cache.put({ curl: 'http://x/1' });
    assert.equal(into('sh', '-c', 'kill -9 $$').status, 137);
    assert.equal(into('no-such-program').status, 127);
    assert.equal(into(cache.home).status, 126);
    assert.equal(cursorSeq(), undefined);
  });

  it('keeps the cursor when CMD exits 0 without having taken everything', () => {
    cache.fill(5000, i => `http://x/${i}/${'y'.repeat(50)}`);
    const { status, stderr } = into('head', '-n', '1');
    assert.equal(status, 74);
    assert.match(stderr, /ended before it had read everything.*not moved/);
    assert.equal(cursorSeq(), undefined);
  });

  it('stops at the limit and goes on there', () => {
    for (let i = 1; i <= 5; i++) cache.put({ curl: `http://x/${i}` });
    const seen: string[] = [];
    for (let run = 0; run < 4; run++) {
      const { stdout } = lccq([`--cursor=${cursor}`, '--limit=2', '--format=urls', '--', 'cat']);
      seen.push(stdout.trim().replaceAll('\n', ' '));
    }
    assert.deepEqual(seen, ['http://x/1 http://x/2', 'http://x/3 http://x/4', 'http://x/5', '']);
  });

  it('tells a consumer of a stream that broke half-way nothing it could take for the whole', async () => {
    cache.fill(20_000, i => `http://x/${i}`);
    const out = join(cache.home, 'taken');
    const child = spawn(
      LCCQ,
      [
        `--cursor=${cursor}`,
        '--',
        'sh',
        '-c',
        `head -c 100 >/dev/null; echo on; sleep 60; cat; echo done >${out}`,
      ],
      {
        env: { ...process.env, LCC_HOME: cache.home },
        stdio: ['ignore', 'pipe', 'ignore'],
      },
    );
    await once(child.stdout, 'data');
    child.kill('SIGTERM');
    const [status] = (await once(child, 'exit')) as [number];
    assert.equal(status, 143);
    assert.ok(!existsSync(out));
    assert.equal(cursorSeq(), undefined);
  });

  it('lets only one run at a time use a cursor, and the next after a kill -9', async () => {
    cache.put({ curl: 'http://x/1' });
    const holder = spawn(LCCQ, [`--cursor=${cursor}`, '--', 'sh', '-c', 'echo on; sleep 60'], {
      env: { ...process.env, LCC_HOME: cache.home },
      stdio: ['ignore', 'pipe', 'ignore'],
      detached: true,
    });
    await once(holder.stdout, 'data');
    const second = lccq([`--cursor=${cursor}`, '--', 'cat']);
    assert.equal(second.status, 75);
    assert.match(second.stderr, /another run is using this cursor/);
    process.kill(-(holder.pid ?? 0), 'SIGKILL');
    await once(holder, 'exit');
    assert.equal(lccq([`--cursor=${cursor}`, '--', 'cat']).status, 0);
  });

  it('sends everything again when it dies before the cursor was moved, and nothing after', () => {
    cache.put({ curl: 'http://x/1' });
    const args = [`--cursor=${cursor}`, '--format=urls', '--', 'cat'];
    const steps = join(cache.home, 'steps');
    assert.equal(lccq(args, { LCC_CRASH_AT: 'cu.cursor.advanced', LCC_STEP_LOG: steps }).status, null);
    assert.match(readFileSync(steps, 'utf8'), /cu\.cursor\.advanced/);
    assert.deepEqual(lccq(args), { status: 0, stdout: '', stderr: '' });
  });

  it('asks for a full resync when the changes since cannot be told any more', () => {
    cache.put({ curl: 'http://x/1' });
    assert.equal(into('cat').status, 0);
    const line = readFileSync(cursor, 'utf8');
    cache.put({ curl: 'http://x/2' });
    cache.remove('http://x/2');
    cache.forgetDeletions();
    for (const text of [
      line,
      line.replace(/\d+\n$/, '99\n'),
      line.replace(/ [0-9a-f]{8}-/, ' 00000000-'),
      'x\n',
    ]) {
      writeFileSync(cursor, text);
      const { status, stderr, stdout } = into('cat');
      assert.deepEqual([status, stdout], [65, '']);
      assert.match(stderr, /full resync needed/);
      assert.equal(readFileSync(cursor, 'utf8'), text);
    }
    rmSync(cursor);
    assert.equal(into('cat').stdout, 'upsert\thttp://x/1\n');
  });
});

describe('lccq --cursor | CMD && lccq --commit', () => {
  it('moves the cursor after the pipe', () => {
    cache.put({ curl: 'http://x/1' });
    const line = 'lccq --cursor=$F --format=urls | cat && lccq --commit=$F';
    assert.equal(shell(line).stdout, 'http://x/1\n');
    assert.deepEqual(shell(line), { status: 0, stdout: '', stderr: '' });
    cache.put({ curl: 'http://x/2' });
    assert.equal(shell(line).stdout, 'http://x/2\n');
  });

  it('can be committed once the stream was whole, even when lccq died right after', () => {
    cache.put({ curl: 'http://x/1' });
    const { status, stdout } = lccq([`--cursor=${cursor}`, '--format=urls'], {
      LCC_CRASH_AT: 'cu.cursor.offered',
    });
    assert.deepEqual([status, stdout, cursorSeq()], [null, 'http://x/1\n', undefined]);
    assert.equal(lccq([`--commit=${cursor}`]).status, 0);
    assert.equal(cursorSeq(), 1);
  });

  it('offers nothing to commit when the stream was not taken whole', () => {
    cache.fill(5000, i => `http://x/${i}`);
    writeFileSync(`${cursor}.next`, `lcc-cursor 1 6f3f3c7e-3a0c-4b1c-9b57-5c4c1c2b0a11 9\n`);
    const { status } = shell('lccq --cursor=$F | head -n 1 >/dev/null; lccq --commit=$F');
    assert.equal(status, 66);
    assert.equal(cursorSeq(), undefined);
  });
});

describe('lccq --format=fts5-sql', () => {
  let index: string;
  beforeEach(() => (index = join(cache.home, 'index.db')));
  const feed = (...args: string[]) =>
    lccq([`--cursor=${cursor}`, '--format=fts5-sql', ...args, '--', 'sqlite3', '-bail', index]);
  const found = (words: string) =>
    sqlite(index, `SELECT burl FROM pages WHERE pages MATCH '${words}' ORDER BY burl`)
      .split('\n')
      .slice(0, -1);

  it('keeps an index in step: added, changed, renamed, hidden and deleted pages', () => {
    cache.put({ curl: 'http://x/1', content: '<title>Apples</title><p>red fruit' });
    cache.put({ curl: 'http://x/2', content: "<p>pears aren't red" });
    cache.put({ curl: 'http://x/3', content: '<p>plums' });
    cache.put({ curl: 'http://x/4', content: '<p>cherries' });
    cache.put({ curl: 'http://x/d%C3%A9j%C3%A0', content: Buffer.from('<p>d\u00e9j\u00e0 vu', 'latin1') });
    assert.deepEqual(feed(), { status: 0, stdout: '', stderr: '' });
    assert.deepEqual(found('red'), ['http://x/1', 'http://x/2']);
    assert.deepEqual(found('title:apples'), ['http://x/1']);
    assert.deepEqual(found('déjà'), ['http://x/d%C3%A9j%C3%A0']);
    cache.put({ curl: 'http://x/1', content: '<p>green fruit' });
    cache.put({ curl: 'http://x/3', burl: 'http://b/3', content: '<p>plums' });
    cache.put({ curl: 'http://x/4', burl: '', content: '<p>cherries' });
    cache.remove('http://x/2');
    cache.put({ curl: 'http://x/5', content: '<p>red wine' });
    assert.equal(feed().status, 0);
    assert.deepEqual(found('red'), ['http://x/5']);
    assert.deepEqual(found('apples OR pears OR cherries'), []);
    assert.deepEqual(found('green'), ['http://x/1']);
    assert.deepEqual(found('plums'), ['http://b/3']);
    assert.deepEqual(found('vu'), ['http://x/d%C3%A9j%C3%A0']);
  });

  it('is the same after the same delta twice', () => {
    cache.put({ curl: 'http://x/1', content: 'one' });
    feed();
    const before = readFileSync(cursor, 'utf8');
    cache.put({ curl: 'http://x/2', content: 'two' });
    cache.remove('http://x/1');
    feed();
    const dump = sqlite(index, 'SELECT rowid, burl, text FROM pages');
    writeFileSync(cursor, before);
    feed();
    assert.equal(sqlite(index, 'SELECT rowid, burl, text FROM pages'), dump);
  });

  it('leaves the old index when the stream is cut at any line', () => {
    cache.put({ curl: 'http://x/1', content: 'one' });
    feed();
    cache.put({ curl: 'http://x/2', content: 'two' });
    cache.remove('http://x/1');
    const sql = lccq([`--cursor=${cursor}`, '--format=fts5-sql'])
      .stdout.split('\n')
      .slice(0, -1);
    assert.equal(sql.at(-1), 'COMMIT;');
    for (let lines = 0; lines < sql.length; lines++) {
      spawnSync('sqlite3', ['-bail', index], { input: sql.slice(0, lines).join('\n') });
      assert.deepEqual(found('one OR two'), ['http://x/1']);
    }
  });

  it('reports content that is missing or altered, indexes the rest, and exits 1', () => {
    rmSync(cache.put({ curl: 'http://x/1', content: 'one' }));
    appendFileSync(cache.put({ curl: 'http://x/2', content: 'two' }), 'x');
    cache.put({ curl: 'http://x/3', content: 'three' });
    const { status, stderr } = feed();
    assert.equal(status, 1);
    assert.match(
      stderr,
      /^lccq: http:\/\/x\/1: left out: \/.* is missing;.*\nlccq: http:\/\/x\/2: left out: \/.* is altered.*\n$/,
    );
    assert.deepEqual(found('one OR two OR three'), ['http://x/3']);
  });

  it('counts what holds no text', () => {
    cache.put({ curl: 'http://x/1', mimetype: 'image/png', content: 'x' });
    cache.put({ curl: 'http://x/2', mimetype: 'text/plain', content: 'words' });
    const { status, stderr } = feed();
    assert.deepEqual([status, stderr], [0, 'lccq: 1 rows without text in them were not indexed\n']);
  });

  it('goes on after changes none of which were selected', () => {
    const only = '--mime=text/plain';
    cache.put({ curl: 'http://x/1', mimetype: 'text/plain', content: 'one' });
    assert.equal(feed(only).status, 0);
    cache.put({ curl: 'http://x/2' });
    assert.equal(feed(only).status, 0);
    cache.put({ curl: 'http://x/3', mimetype: 'text/plain', content: 'three' });
    assert.deepEqual(feed(only), { status: 0, stdout: '', stderr: '' });
    assert.deepEqual(found('one OR three'), ['http://x/1', 'http://x/3']);
  });

  it('fails instead of leaving a gap when the index was lost but not its cursor', () => {
    cache.put({ curl: 'http://x/1', content: 'one' });
    feed();
    rmSync(index);
    cache.put({ curl: 'http://x/2', content: 'two' });
    const { status, stderr } = feed();
    assert.equal(status, 1);
    assert.match(stderr, /this index lacks changes before the cursor; remove the cursor file/);
    assert.equal(cursorSeq(), 1);
    rmSync(cursor);
    assert.equal(feed().status, 0);
    assert.deepEqual(found('one OR two'), ['http://x/1', 'http://x/2']);
  });
});

describe('damage', () => {
  for (const format of ['xml', 'tsv', 'csv', 'jsonl', 'urls', 'paths', 'fts5-sql']) {
    it(`leaves a row with a flipped bit out of ${format}, and reports it: 1`, () => {
      for (const curl of ['http://a/1', 'http://a/2', 'http://a/3']) cache.put({ curl });
      const run = () =>
        spawnSync(LCCQ, [`--format=${format}`], {
          encoding: 'utf8',
          env: { ...process.env, LCC_HOME: cache.home, LCC_CONFIG: '' },
        });
      const { stdout } = run();
      cache.db.exec(
        "UPDATE lccurl SET curl = 'http://a/6', fetched_fileid = 'aa/bb/wrong' WHERE curl = 'http://a/2'",
      );
      const { status, stdout: shown, stderr } = run();
      assert.equal(status, 1, stderr);
      assert.match(stderr, /^lccq: row 2 does not agree with its checksum and is left out; lccfsck --repair/);
      assert.ok(!shown.includes('http://a/6') && !shown.includes('wrong'));
      assert.ok(shown.length > 0 && shown.length < stdout.length);
    });
  }
});
