/** An index of SQLite kept in step by lccq. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, it } from 'node:test';
import { cache, cursor, cursorSeq } from '../support/cursor.js';
import { lccqSays } from '../support/lccq.js';

const lccq = (args: string[], env?: NodeJS.ProcessEnv) => lccqSays(cache, args, env);

function sqlite(db: string, sql: string): string {
  const { status, stdout, stderr } = spawnSync('sqlite3', [db, sql], { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  return stdout;
}

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
