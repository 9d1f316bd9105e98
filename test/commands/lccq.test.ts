import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { UrlRecord } from '../../src/wire/url.js';
import { UrlStreamReader } from '../../src/wire/url-stream.js';
import { spoil } from '../support/damage.js';
import { TestCache } from '../support/cache.js';
import { lccqSays, shellSays } from '../support/lccq.js';

const LIMITS = { maxTokenBytes: 65_536, maxDepth: 8, maxAttributes: 32, maxNameBytes: 256 };
let cache: TestCache;

beforeEach(() => {
  cache = new TestCache();
});
afterEach(() => cache.close());

const lccq = (args: string[], env?: NodeJS.ProcessEnv) => lccqSays(cache, args, env);
const shell = (line: string) => shellSays(cache, line);

function urlsOf(args: string[]): string[] {
  const { status, stdout, stderr } = lccq(args);
  assert.equal(status, 0, stderr);
  return stdout.split('\n').slice(0, -1);
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

  it('counts a page once, at its last change: what has changed again is not among what changed before', () => {
    cache.put({ curl: 'http://x/1', at: 1000 });
    cache.put({ curl: 'http://x/2', at: 1000 });
    cache.put({ curl: 'http://x/1', at: 3000, content: 'again' });
    cache.remove('http://x/2', { at: 4000 });
    const curls = (...args: string[]) => urlsOf(['--format=tsv', '--fields=curl', ...args]);
    assert.deepEqual(curls('--since=1000', '--until=2000'), []);
    assert.deepEqual(curls('--since=2000', '--until=4000'), ['http://x/1']);
    assert.deepEqual(curls('--since=1000'), ['http://x/1', 'http://x/2']);
  });

  it('says in its first line when that leaves out a part of what is held', () => {
    cache.put({ curl: 'http://x/1' });
    const head = (...args: string[]) =>
      lccq(args)
        .stdout.split('\n')[0]
        ?.replace(/ store="[^"]+"/, '');
    for (const part of ['--since=2h', '--until=2000', '--limit=1', '--deleted'])
      assert.equal(head(part), '<?lcc since="0" set="partial"?>', part);
    for (const whole of ['--pid=1', '--prefix=http://x/', '--mime=text/*', '--no-deleted'])
      assert.equal(head(whole), '<?lcc since="0"?>', whole);
  });

  it('prints each format', () => {
    const page = { mtime: '2026-11-20T10:13:01Z', charset: 'koi8-r', content: 'four' };
    const file = cache.put({ curl: 'http://x/1\t', ...page });
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
      http_charset: 'koi8-r',
      fetched_time: 1_795_000_000,
      deleted_time: null,
      fetched_machineid: 'local',
      fetched_fileid: '00/00/00000001.0',
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
    cache.flood();
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
    ['deletions and none', ['--deleted', '--no-deleted'], 64],
    ['none and deletions', ['--no-deleted', '--deleted'], 64],
    ['a limit of nothing', ['--limit=0'], 64],
    ['no program behind the dashes', ['--'], 64],
    ['a program without a name', ['--', ''], 64],
    ['--commit with anything else', ['--commit=x', '--pid=1'], 64],
    ['a commit of nothing', ['--commit=/c'], 66],
    ['a commit in a directory that is not there', ['--commit=/nonexistent/c'], 73],
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

describe('damage', () => {
  for (const format of ['jsonl', 'tar'])
    it(`ends ${format} with 74 where a row cannot be, and says what to do`, () => {
      for (const curl of ['http://a/1', 'http://a/2']) cache.put({ curl });
      spoil(cache.dbPath, "UPDATE lccurl SET md5 = CAST(md5 AS BLOB) WHERE curl = 'http://a/2'");
      const { status, stderr } = lccq([`--format=${format}`]);
      assert.equal(status, 74, stderr);
      assert.match(
        stderr,
        /^lccq: .*lcc\.db: database damaged \(.*\); stop lccd and run lccfsck --repair\n$/,
      );
    });

  it('opens no file outside of the store, whatever a row says', () => {
    cache.put({ curl: 'http://a/1', content: 'x' });
    const outside = join(cache.home, 'outside');
    writeFileSync(outside, 'x');
    cache.db.exec("UPDATE lccurl SET fetched_fileid = '../outside'");
    const { status, stdout, stderr } = lccq(['--format=tar']);
    assert.equal(status, 1, stderr);
    assert.match(
      stderr,
      /^lccq: http:\/\/a\/1: left out: .*\/\.\.\/outside is no name of a store; stop lccd and run lccfsck --repair/,
    );
    assert.ok(!stdout.includes('a/1'));
  });
});
