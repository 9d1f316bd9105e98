import assert from 'node:assert/strict';
import { it } from 'node:test';
import { newClearDb } from './support.js';

const cleared = (target: string, url: string) => ({ target, url, op: 'D', contentId: url.slice(1) }) as const;

it('the journal tells what was cleared on a target since a time, a page at a time', () => {
  const db = newClearDb();
  db.write(() => [1, 2, 3, 4].forEach(at => db.journal.add(cleared(at === 2 ? 'eu' : 'us', `/${at}`), at)));
  assert.deepEqual(
    db.journal.since('us', 2, 0, 9).map(row => row.url),
    ['/3', '/4'],
  );
  const [first] = db.journal.since('us', 0, 0, 1);
  assert.equal(first?.contentId, '1');
  assert.deepEqual(
    db.journal.since('us', 0, first?.id ?? 0, 9).map(row => row.url),
    ['/3', '/4'],
  );
});

it('the journal forgets what is old, and what is too much, some thousand rows at a time', () => {
  const db = newClearDb();
  db.write(() => {
    for (let at = 1; at <= 12_000; at++) db.journal.add(cleared('us', `/${at}`), at);
  });
  const left = () => db.journal.since('us', 0, 0, 20_000).map(row => row.atMs);
  assert.equal(db.journal.prune(11_000, 1_000_000), true);
  assert.equal(left()[0], 5001);
  while (db.journal.prune(11_000, 1_000_000));
  assert.deepEqual([left()[0], left().length], [11_000, 1001]);
  while (db.journal.prune(0, 10));
  assert.deepEqual([left()[0], left().length], [11_991, 10]);
  while (db.journal.prune(20_000, 10));
  assert.deepEqual(left(), []);
  db.write(() => db.journal.add(cleared('us', '/later'), 1));
  assert.equal(db.journal.since('us', 0, 12_000, 9).length, 1, 'numbers go on');
});
