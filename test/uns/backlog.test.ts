import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import type { SpoolEntry } from '../../src/lib/spool-frames.js';
import { Backlog, type SpooledSet } from '../../src/uns/backlog.js';
import { formatLabel, type EntryLabel } from '../../src/uns/spool-names.js';

const LARGE = 20_000;
let entries: SpoolEntry[];
let backlog: Backlog;

beforeEach(() => {
  entries = [];
  backlog = new Backlog(() => entries);
});

function arrives(pid: number, received = 1, set: EntryLabel['set'] = 'partial'): void {
  const seq = entries.length + 1;
  named(formatLabel({ pid, seq, set, received, deletes: 0, newest: seq, after: 0 }));
}
let number = 0;
function named(label: string): void {
  entries.push({ id: `${String(++number).padStart(15, '0')}-${label}`, label, bytes: 1 });
}

function take(): SpooledSet {
  const set = backlog.take();
  assert.ok(set);
  return set;
}
const pids = (sets: SpooledSet[]) => sets.map(({ label }) => label?.pid);
function done(set: SpooledSet): void {
  entries = entries.filter(entry => entry !== set.entry);
  backlog.done(set);
}

describe('the backlog', () => {
  it('gives one set of a provider at a time, and its oldest first', () => {
    arrives(7);
    arrives(7);
    const [first] = entries;
    const set = take();
    assert.equal(set.entry, first);
    assert.equal(backlog.take(), undefined);
    done(set);
    assert.equal(take().entry, entries[0]);
  });

  it('lets providers take turns, however many sets one has', () => {
    for (let n = 0; n < 1000; n++) arrives(1);
    arrives(2);
    arrives(3);
    const order: (number | undefined)[] = [];
    for (let n = 0; n < 5; n++) {
      const set = take();
      order.push(set.label?.pid);
      done(set);
    }
    assert.deepEqual(order, [1, 2, 3, 1, 1]);
  });

  it('gives one large set at a time, and small ones beside it', () => {
    for (const pid of [1, 2]) arrives(pid, LARGE);
    for (const pid of [3, 4]) arrives(pid);
    const sets = [take(), take(), take()];
    assert.deepEqual(pids(sets), [1, 3, 4]);
    assert.equal(backlog.take(), undefined);
    done(sets[0] as SpooledSet);
    assert.equal(take().label?.pid, 2);
  });

  it('gives the oldest of both sizes first', () => {
    arrives(1);
    arrives(2, LARGE);
    arrives(3);
    assert.deepEqual(pids([take(), take(), take()]), [1, 2, 3]);
  });

  it('gives a set again that came back, before later ones of its provider', () => {
    arrives(1, LARGE);
    arrives(1);
    arrives(2, LARGE);
    const set = take();
    backlog.back(set);
    assert.equal(take().entry.id, set.entry.id);
    assert.equal(backlog.take(), undefined, 'the other large one still waits');
  });

  it('knows whose sets are here, on their way or not, until they are gone', () => {
    assert.ok(!backlog.has(1));
    arrives(1);
    assert.ok(backlog.has(1) && !backlog.has(2));
    const set = take();
    assert.ok(backlog.has(1));
    done(set);
    assert.ok(!backlog.has(1));
  });

  it('knows how many sets and urls of a provider are here, until they are gone', () => {
    arrives(1, 5);
    arrives(2, 9);
    assert.deepEqual(backlog.waiting(1), { sets: 1, urls: 5, fullSets: 0 });
    arrives(1, 7, 'full');
    assert.deepEqual(backlog.waiting(1), { sets: 2, urls: 12, fullSets: 1 });
    done(take());
    assert.deepEqual(backlog.waiting(1), { sets: 1, urls: 7, fullSets: 1 });
    done(take());
    done(take());
    assert.deepEqual(backlog.waiting(1), { sets: 0, urls: 0, fullSets: 0 });
  });

  it('gives no set of a provider while its oldest one rests, and lets large ones of others go', () => {
    arrives(1, LARGE);
    arrives(1);
    arrives(2, LARGE);
    const resting = take();
    backlog.rest(resting);
    const other = take();
    assert.deepEqual(pids([other]), [2]);
    assert.equal(backlog.take(), undefined);
    backlog.again(resting);
    assert.equal(backlog.take(), undefined, 'a large one is being sent');
    done(other);
    assert.equal(take(), resting);
  });

  it('gives entries whose names say nothing, each on its own', () => {
    named('strange');
    named('strange');
    assert.deepEqual(pids([take(), take()]), [undefined, undefined]);
  });

  it('looks at what is new only, however many wait', () => {
    for (let n = 0; n < 1000; n++) arrives(n);
    let looked = 0;
    const all = entries;
    entries = new Proxy(all, {
      get(target, name) {
        if (typeof name === 'string' && /^\d+$/.test(name)) looked++;
        return Reflect.get(target, name, target) as unknown;
      },
    });
    backlog.take();
    looked = 0;
    for (let n = 0; n < 100; n++) backlog.take();
    assert.ok(looked <= 200, `${looked} entries looked at`);
  });
});
