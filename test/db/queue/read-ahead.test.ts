import fc from 'fast-check';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ReadAhead } from '../../../src/db/queue/read-ahead.js';
import { Bench, url } from '../../qm/support.js';

const MAX_ROWS = 20;

interface Row {
  pos: number;
  text: string;
}

/** Queues of some providers, one set each, and how often they were read. */
class Queues {
  readonly rows = new Map<number, Row[]>();
  reads = 0;
  readonly ahead = new ReadAhead<{ psetid: number; slot: number; pid: number }, Row>((set, after, limit) => {
    this.reads++;
    return this.now(set.pid, after, limit);
  }, MAX_ROWS);

  now(pid: number, after: number, limit: number): Row[] {
    const rows = (this.rows.get(pid) ?? []).filter(row => row.pos > after).slice(0, limit);
    return rows.map(row => ({ ...row }));
  }

  next(pid: number, after: number, limit: number): Row[] {
    return this.ahead.next({ psetid: pid, slot: -1, pid }, after, limit);
  }
}

function fill(queues: Queues, pid: number, count: number): void {
  queues.rows.set(
    pid,
    Array.from({ length: count }, (_, i) => ({ pos: i + 1, text: 'old' })),
  );
}

test('many small portions cost few readings', () => {
  const queues = new Queues();
  fill(queues, 1, 40);
  for (let after = 0; after < 40; after += 2) assert.equal(queues.next(1, after, 2).at(-1)?.pos, after + 2);
  assert.equal(queues.reads, 2);
});

test('what changes behind the rows handed out is seen once it is forgotten', () => {
  const queues = new Queues();
  fill(queues, 1, 10);
  fill(queues, 2, 10);
  queues.next(1, 0, 3);
  queues.next(2, 0, 3);
  queues.rows.set(1, [{ pos: 5, text: 'new' }]);
  queues.ahead.forget(1);
  assert.deepEqual(queues.next(1, 3, 3), [{ pos: 5, text: 'new' }]);
  const { reads } = queues;
  queues.next(2, 3, 3);
  assert.equal(queues.reads, reads, 'another provider keeps its page');
});

test('reading a set again from its beginning does not give what was read ahead', () => {
  const queues = new Queues();
  fill(queues, 1, 10);
  queues.next(1, 0, 3);
  assert.equal(queues.next(1, 0, 1)[0]?.pos, 1);
  assert.equal(queues.ahead.next({ psetid: 99, slot: -1, pid: 1 }, 1, 1)[0]?.pos, 2);
});

test('any mixture of portions, providers and changes gives what the queue says, with bounded memory', () => {
  const step = fc.record({
    pid: fc.integer({ min: 1, max: 12 }),
    limit: fc.integer({ min: 1, max: 30 }),
    change: fc.option(fc.nat(59), { nil: undefined }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), steps => {
      const queues = new Queues();
      const cursors = new Map<number, number>();
      for (let pid = 1; pid <= 12; pid++) fill(queues, pid, 60);
      for (const { pid, limit, change } of steps) {
        if (change !== undefined) {
          queues.rows.set(
            pid,
            [...(queues.rows.get(pid) ?? [])].filter(row => row.pos !== change),
          );
          queues.ahead.forget(pid);
        }
        const after = cursors.get(pid) ?? 0;
        const rows = queues.next(pid, after, limit);
        assert.deepEqual(rows, queues.now(pid, after, limit));
        assert.ok(queues.ahead.kept <= MAX_ROWS, 'rows kept');
        cursors.set(pid, rows.at(-1)?.pos ?? after);
      }
    }),
  );
});

test('what reconciling removes is not handed out, though it was read ahead', async () => {
  const bench = new Bench();
  try {
    bench.provider(7);
    await bench.send(7, [url('a'), url('b'), url('c')]);
    const [set] = bench.sets;
    assert.ok(set);
    const { queue, reconciler } = bench.store;
    const [first] = queue.next(set, 0, 1);
    assert.ok(first);
    bench.store.transaction(() =>
      reconciler
        .run(
          7,
          set.psetid + 1,
          () => 100,
          () => 0,
        )
        .next(),
    );
    assert.deepEqual(queue.next(set, first.pos, 5), []);
  } finally {
    bench.close();
  }
});
