import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { DUE_ENTRIES, type Parked } from '../../../src/db/clear/backlog.js';
import { CLEAR_KIND } from '../../../src/db/clear/open.js';
import { openOwn } from '../../../src/db/sqlite/own-database.js';
import { addTargets, newClearDb, railOf } from './support.js';
import { amount } from '../../support/long.js';

function parked(rail: string, url: string, more: Partial<Parked> = {}): Parked {
  return {
    rail,
    url,
    op: 'D',
    contentId: '',
    bodySha: null,
    attempts: 0,
    nextMs: 0,
    dead: 0,
    error: '',
    ...more,
  };
}

/** The longest that an entry waits. */
const MOST_MS = 1000;

function scene() {
  const db = newClearDb(':memory:');
  addTargets(db, 'us', 'eu');
  for (const name of ['r1', 'r2']) db.rails.add(railOf(name, 'us'), 1);
  db.rails.add(railOf('cache', 'us', { tier: 1 }), 1);
  const due = (rail: string, nowMs = 0) => db.backlog.due(rail, 'D', nowMs, MOST_MS, 100).map(row => row.url);
  return { db, due };
}

describe('the backlog of a rail', () => {
  it('gives what has not been tried first, the oldest first, and the rest when it is due', () => {
    const { db, due } = scene();
    db.write(() => {
      db.backlog.park(parked('r1', '/b'), 20);
      db.backlog.park(parked('r1', '/a'), 30);
      db.backlog.park(parked('r1', '/failed', { nextMs: 90, attempts: 10, error: 'status 503' }), 10);
      db.backlog.park(parked('r1', '/dead', { dead: 1 }), 5);
      db.backlog.park(parked('r1', '/put', { op: 'P', bodySha: 'abc' }), 5);
      db.backlog.park(parked('r2', '/other'), 1);
    });
    assert.deepEqual(due('r1', 50), ['/b', '/a']);
    assert.deepEqual(due('r1', 90), ['/b', '/a', '/failed']);
    db.write(() => db.backlog.park(parked('r1', '/ahead', { nextMs: 7_200_000, attempts: 1 }), 10));
    assert.deepEqual(due('r1', 50), ['/b', '/a', '/ahead'], 'noted while the clock was ahead');
    assert.deepEqual(due('r1', 7_199_000), ['/b', '/a', '/failed'], 'no longer than it may be');
    db.backlog.drop('r1', '/ahead');
    assert.deepEqual(
      db.backlog.due('r1', 'P', 0, MOST_MS, 9).map(row => row.bodySha),
      ['abc'],
    );
    assert.deepEqual(db.backlog.counts(), [
      { rail: 'r1', waiting: 4, dead: 1, oldestMs: 5 },
      { rail: 'r2', waiting: 1, dead: 0, oldestMs: 1 },
    ]);
    assert.equal(db.backlog.retry({ rail: 'r1' }), 2);
    assert.deepEqual(due('r1', 0), ['/dead', '/failed', '/b', '/a']);
    assert.deepEqual([db.backlog.needsBody('abc'), db.backlog.needsBody('abd')], [true, false]);
    assert.deepEqual(
      db.backlog.list({ rail: 'r1', url: '/put' }, 9).map(row => row.url),
      ['/other'],
    );
    assert.deepEqual(
      [db.backlog.drop('r2', '/other'), db.backlog.has('r2', 'D'), db.backlog.has('r1', 'P')],
      [true, false, true],
    );
  });

  it('of a cache waits for those of the rails before it that are up', () => {
    const { db, due } = scene();
    db.write(() => {
      for (const rail of ['r1', 'r2', 'cache']) db.backlog.park(parked(rail, '/a'), 1);
      db.backlog.park(parked('cache', '/b'), 2);
    });
    assert.deepEqual(due('cache'), ['/b']);
    db.rails.setByAdmin('r2', 'DOWN', 2);
    db.write(() => db.backlog.settle('r1', '/a', Infinity));
    assert.deepEqual(due('cache'), ['/a', '/b']);
    db.rails.setByAdmin('r2', 'UP', 3);
    assert.deepEqual(due('cache'), ['/b']);
    const [row] = db.backlog.due('r2', 'D', 0, MOST_MS, 1);
    db.write(() => db.backlog.bury(row ?? assert.fail(), 'status 400'));
    assert.deepEqual(due('cache'), ['/a', '/b'], 'what is dead holds up nobody');
  });

  it('is read along its index, however long it is', () => {
    const db = openOwn(':memory:', CLEAR_KIND, 0);
    const plan = db.prepare(`EXPLAIN QUERY PLAN ${DUE_ENTRIES}`).all('r1', 'D', 0, 0, 9) as {
      detail: string;
    }[];
    db.close();
    const details = plan.map(({ detail }) => detail);
    assert.match(details[0] ?? '', /^SEARCH waiting USING (COVERING )?INDEX rail_backlog_due/);
    assert.ok(
      details.some(detail => detail.startsWith('SEARCH other USING PRIMARY KEY')),
      details.join('\n'),
    );
    assert.ok(!details.some(detail => /SCAN (waiting|other)|TEMP B-TREE/.test(detail)), details.join('\n'));
  });

  it('keeps of two entries for one page the later one, and loses it only to who did that one: a model', () => {
    const url = fc.constantFrom('/a', '/b');
    const event = fc.oneof(
      fc.record({ do: fc.constant('clear' as const), url }),
      fc.record({ do: fc.constant('publish' as const), url }),
      fc.record({ do: fc.constant('put' as const), url }),
      fc.record({ do: fc.constant('begin' as const), url }),
      fc.record({ do: fc.constant('end' as const), url, well: fc.boolean() }),
    );
    fc.assert(
      fc.property(fc.array(event, { maxLength: 60 }), events => {
        const { db } = scene();
        const model = new Map<string, { op: string; seq: number; attempts: number }>();
        const published = new Map<string, number>();
        const begun = new Map<string, number>();
        for (const { url, ...each } of events) {
          const known = model.get(url);
          const park = (op: 'D' | 'P', given?: number) => {
            const seq = db.write(() => db.backlog.park(parked('r1', url, { op }), 1, given));
            // An older page than what is there is not wanted any more.
            assert.equal(seq === undefined, given !== undefined && given <= (known?.seq ?? 0));
            if (seq !== undefined) model.set(url, { op, seq, attempts: 0 });
          };
          if (each.do === 'clear') park('D');
          else if (each.do === 'publish')
            published.set(
              url,
              db.write(() => db.numbers.next('publish_seq')),
            );
          else if (each.do === 'put') {
            const seq = published.get(url);
            if (seq !== undefined) park('P', seq);
          } else if (each.do === 'begin') {
            if (known !== undefined) begun.set(url, known.seq);
          } else {
            const seq = begun.get(url);
            if (seq === undefined) continue;
            begun.delete(url);
            const isSame = known !== undefined && known.seq <= seq;
            if (each.well) {
              assert.equal(
                db.write(() => db.backlog.settle('r1', url, seq)),
                isSame,
              );
              if (isSame) model.delete(url);
            } else {
              db.write(() => db.backlog.failed({ rail: 'r1', url, seq }, 60, 'status 503'));
              if (isSame) known.attempts++;
            }
          }
        }
        for (const url of ['/a', '/b']) {
          const row = db.backlog.get('r1', url);
          const found = row && { op: row.op, seq: row.seq, attempts: row.attempts };
          assert.deepEqual(found, model.get(url));
        }
      }),
      { numRuns: amount(30, 100) },
    );
  });
});
