/** Errors that a provider looks through: of a code, below an address, page after page, few of many or many of few. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UrlStandings } from '../../../src/db/queue/url-standings.js';
import { readErrorCodes } from '../../../src/db/providers/pidb.js';
import { openDatabase } from '../../../src/db/sqlite/open.js';

const PID = 7;
const LIMIT = 101;
const CODES = [404, 404, 404, 500, 604];
const FOLDERS = ['many/', 'many/', 'many/', 'many/few/', 'a&b/'];

test('each filter finds exactly its errors, in their order, whichever index answers', () => {
  const db = openDatabase(':memory:');
  const insert = db.prepare("INSERT INTO pierr(pid, code, text, attrs) VALUES (?, ?, 'x', ?)");
  const all = Array.from({ length: 3000 }, (_, n) => ({
    pid: n % 7 === 0 ? PID + 1 : PID,
    code: CODES[(n * 13) % 5] ?? 0,
    curl: `http://h/${FOLDERS[n % 5]}p${(n * 7919) % 3000}`,
  }));
  db.transaction(() => {
    for (const { pid, code, curl } of all)
      insert.run(pid, code, ` curl="${curl.replace('&', '&amp;')}" mimetype="text/html"`);
  })();
  const standings = new UrlStandings(db, 4);
  const prefixes = ['', 'http://h/', 'http://h/many/few/', 'http://h/a&b/', 'http://h/many/p1', 'http://i/'];
  const found: number[] = [];
  for (const code of [undefined, 404, 604, 999])
    for (const prefix of prefixes) {
      const seen: string[] = [];
      for (let after = 0, more = true; more;) {
        const rows = standings.errors(PID, { after, limit: LIMIT, prefix, ...(code && { code }) });
        assert.ok(rows.every(row => row.errseq > after && (after = row.errseq)));
        seen.push(...rows.map(row => `${row.code} ${row.curl}`));
        more = rows.length === LIMIT;
      }
      const expected = all.filter(
        each =>
          each.pid === PID && (code === undefined || each.code === code) && each.curl.startsWith(prefix),
      );
      assert.deepEqual(
        seen,
        expected.map(each => `${each.code} ${each.curl}`),
        `${code} ${prefix}`,
      );
      found.push(seen.length);
    }
  assert.ok(Math.max(...found) > 2000 && found.includes(0), 'many are found, and none');
  db.close();
});

test('errors are read from an index of their provider, of whom a thousand are kept; their numbers, by code', () => {
  const db = openDatabase(':memory:');
  const asked: string[] = [];
  const prepare = db.prepare.bind(db);
  db.prepare = (sql: string) => {
    asked.push(sql);
    return prepare(sql);
  };
  assert.deepEqual(new UrlStandings(db, 4).errors(PID, { after: 0, limit: 1 }), []);
  readErrorCodes(db, PID);
  db.prepare = prepare;
  const values = { pid: 1, after: 1, limit: 1, code: 1, from: 'x', to: 'y', most: 1 };
  const plans = asked
    .filter(sql => sql.includes('FROM pierr'))
    .map(sql =>
      prepare<unknown[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`)
        .all(...(sql.includes('?') ? [1] : [values]))
        .map(({ detail }) => detail)
        .join('; '),
    );
  for (const plan of [
    /^SEARCH pierr USING INDEX pierr_pid \(pid=\? AND errseq>\?\)$/,
    /^SEARCH pierr USING COVERING INDEX pierr_code \(pid=\?\); USE TEMP B-TREE FOR ORDER BY$/,
  ])
    assert.ok(
      plans.some(each => plan.test(each)),
      `${plan.source}: ${plans.join(' | ')}`,
    );
  db.close();
});
