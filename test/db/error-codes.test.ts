import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RegisteredStore } from '../../src/db/providers/registered.js';
import { openDatabase } from '../../src/db/sqlite/open.js';

test('errors by code follow what comes and goes', () => {
  const db = openDatabase(':memory:');
  const store = new RegisteredStore(db);
  store.add(100_000, 'x', {}, []);
  const codes = () => store.show(100_000, 0)?.errors.map(({ code, errors }) => `${code} ${errors}`);
  const add = db.prepare<[number, number]>(
    "INSERT INTO pierr(pid, code, text, attrs) VALUES (?, ?, 't', '')",
  );
  const count = db.prepare<[number]>('UPDATE pidb SET nurlerrs = nurlerrs + ?');
  const seen = [codes()];
  add.run(100_000, 404);
  add.run(100_000, 404);
  add.run(100_000, 500);
  count.run(3);
  seen.push(codes());
  // One in the middle is cured; the first is delivered, and another one comes at once.
  db.exec('DELETE FROM pierr WHERE errseq = (SELECT errseq FROM pierr LIMIT 1 OFFSET 1)');
  count.run(-1);
  seen.push(codes());
  db.exec('DELETE FROM pierr WHERE errseq = (SELECT min(errseq) FROM pierr)');
  add.run(100_000, 410);
  seen.push(codes());
  assert.deepEqual(seen, [[], ['404 2', '500 1'], ['404 1', '500 1'], ['410 1', '500 1']]);
  db.close();
});
