import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { DocMap } from '../../../src/db/spider/doc-map.js';
import type { LccError } from '../../../src/lib/errors.js';
import { openSqlite } from '../../../src/lib/sqlite.js';

const dir = mkdtempSync(join(tmpdir(), 'doc-map-'));
after(() => rmSync(dir, { recursive: true }));

it('each url has one number, which it keeps', () => {
  const path = join(dir, 'sub/urls.db');
  const first = new DocMap(path);
  const ids = first.idsOf(['http://a/', 'http://b/', 'http://a/']);
  assert.deepEqual(ids, [1, 2, 1]);
  first.close();
  const second = new DocMap(path);
  assert.deepEqual(second.idsOf(['http://c/', 'http://b/']), [3, 2]);
  second.close();
});

it('when all numbers are used up, no url gets another', () => {
  const path = join(dir, 'full.db');
  new DocMap(path).close();
  const db = openSqlite(path);
  db.exec("INSERT INTO doc_map VALUES (4294967295, 'http://last/')");
  db.close();
  const full = new DocMap(path);
  assert.deepEqual(full.idsOf(['http://last/']), [4_294_967_295]);
  assert.throws(
    () => full.idsOf(['http://more/']),
    (error: LccError) => error.code === 'limit',
  );
  assert.deepEqual(full.idsOf(['http://last/']), [4_294_967_295]);
  full.close();
});
