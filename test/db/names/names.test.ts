import assert from 'node:assert/strict';
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import fc from 'fast-check';
import { NamesDb, type Name } from '../../../src/db/names/names.js';
import { LccError } from '../../../src/lib/errors.js';
import { spoil } from '../../support/damage.js';
import { openSqlite } from '../../../src/lib/sqlite.js';
import { amount } from '../../support/long.js';

const dirs: string[] = [];
after(() => {
  for (const dir of dirs) rmSync(dir, { recursive: true, force: true });
});
function newPath(): string {
  const dir = mkdtempSync(join(tmpdir(), 'lcc-names-'));
  dirs.push(dir);
  return join(dir, 'names.db');
}

/** The files as a process killed at this instant would leave them, under a new path. */
function asAfterKill(path: string): string {
  const copy = newPath();
  for (const suffix of ['', '-wal'])
    if (existsSync(path + suffix)) copyFileSync(path + suffix, copy + suffix);
  return copy;
}

const key = ({ id, gen }: Name) => `${id}.${gen}`;
const note = (names: NamesDb, ...gone: Name[]) => names.note(gone.map(name => ({ name, atMs: 0 })));

describe('names of a store', () => {
  it('gives a freed id out again with its next generation, the lowest first', () => {
    const names = new NamesDb(newPath());
    assert.deepEqual(names.reserve(3).map(key), ['0.0', '1.0', '2.0']);
    note(names, { id: 2, gen: 0 }, { id: 1, gen: 0 });
    assert.deepEqual(names.due(0, 10).map(key), ['1.0', '2.0']);
    names.free(names.due(0, 10));
    assert.deepEqual([names.freeCount, names.goneCount], [2, 0]);
    assert.deepEqual(names.reserve(3).map(key), ['1.1', '2.1', '3.0']);
    names.close();
  });

  it('passes over the deletion of a name that is not in use: gone, free, held anew, never given out', () => {
    const names = new NamesDb(newPath());
    names.reserve(1);
    note(names, { id: 0, gen: 0 }, { id: 0, gen: 0 });
    note(names, { id: 0, gen: 0 });
    assert.equal(names.goneCount, 1);
    names.free(names.due(0, 10));
    note(names, { id: 0, gen: 0 }, { id: 0, gen: 1 });
    assert.deepEqual(names.reserve(1).map(key), ['0.1']);
    note(names, { id: 0, gen: 0 }, { id: 0, gen: 2 }, { id: 77, gen: 0 });
    assert.deepEqual(names.due(0, 10), []);
    assert.equal(names.goneCount, 0);
    names.close();
  });

  it('puts unused names back at the same generation', () => {
    const path = newPath();
    const names = new NamesDb(path);
    const [, second] = names.reserve(2);
    assert.ok(second);
    names.release([second]);
    names.close();
    const again = new NamesDb(path);
    assert.deepEqual(again.reserve(2).map(key), ['1.0', '2.0']);
    again.close();
  });

  it('refuses to free what is not gone, and to put back what is', () => {
    const names = new NamesDb(newPath());
    const [name] = names.reserve(1);
    assert.ok(name);
    assert.throws(() => names.free([name]), { message: 'name 0.0 is not gone: it is taken at generation 0' });
    note(names, name);
    assert.throws(() => names.release([name]), {
      message: 'name 0.0 is not taken: it is gone at generation 0',
    });
    names.free([name]);
    assert.throws(() => names.free([name]), { message: 'name 0.0 is not gone: it is free at generation 1' });
    assert.deepEqual([names.freeCount, names.goneCount], [1, 0]);
    names.close();
  });

  it('gives due names in the order in which they went', () => {
    const names = new NamesDb(newPath());
    const [a, b, c] = names.reserve(3);
    assert.ok(a && b && c);
    names.note([
      { name: a, atMs: 300 },
      { name: b, atMs: 100 },
      { name: c, atMs: 200 },
    ]);
    assert.deepEqual(names.due(250, 10).map(key), ['1.0', '2.0']);
    assert.deepEqual(names.due(250, 1).map(key), ['1.0']);
    assert.equal(names.lastAtMs, 300);
    names.close();
  });

  it('claims however many names at once, and goes on behind them', () => {
    const names = new NamesDb(newPath());
    names.claim(Array.from({ length: 200_000 }, (_, i) => ({ id: (i + 1) % 200_000, gen: 0 })));
    assert.deepEqual(names.reserve(1).map(key), ['200000.0']);
    names.close();
  });

  it('is open in one process at a time', () => {
    const path = newPath();
    const names = new NamesDb(path);
    const other = openSqlite(path, { timeout: 0 });
    assert.throws(() => other.prepare('SELECT * FROM next').all(), /locked/);
    other.close();
    names.close();
  });

  it('commits with synchronous=FULL', () => {
    const path = newPath();
    const names = new NamesDb(path);
    assert.equal(names.synchronous, 2);
    names.close();
  });

  it('refuses a file that is damaged or of a newer LCC', () => {
    const path = newPath();
    writeFileSync(path, 'this is not a database at all, but long enough to be looked at'.repeat(100));
    assert.throws(
      () => new NamesDb(path),
      (error: unknown) => error instanceof LccError && error.code === 'data.malformed',
    );
    const newer = newPath();
    const db = openSqlite(newer);
    db.pragma('user_version = 99');
    db.close();
    assert.throws(() => new NamesDb(newer), /schema 99 was written by a newer LCC/);
  });

  it('refuses rows that cannot be', () => {
    for (const change of [
      "UPDATE names SET gen = x'00' WHERE id = 0",
      'UPDATE names SET gen = -1 WHERE id = 0',
      'UPDATE names SET id = id + 5 WHERE id = 0',
      'UPDATE names SET state = 3 WHERE id = 2',
      'UPDATE next SET id = 3',
      'DELETE FROM next',
    ]) {
      const path = newPath();
      const names = new NamesDb(path);
      note(names, ...names.reserve(4));
      names.free(names.due(0, 2));
      names.close();
      spoil(path, change);
      assert.throws(
        () => new NamesDb(path),
        (error: unknown) => error instanceof LccError && error.code === 'data.malformed',
        change,
      );
    }
  });

  it('loses nothing committed when its write-ahead log is torn at the end', () => {
    const path = newPath();
    const names = new NamesDb(path);
    names.reserve(10);
    const copy = asAfterKill(path);
    names.reserve(10);
    const torn = asAfterKill(path);
    names.close();
    truncateSync(`${torn}-wal`, Math.max(0, sizeOf(`${copy}-wal`) + 100));
    const again = new NamesDb(torn);
    assert.equal(again.nextId, 10);
    again.close();
  });

  it('never gives out a name twice, whatever is taken, put back, deleted, freed and killed', () => {
    const command = fc.oneof(
      {
        weight: 3,
        arbitrary: fc.record({ do: fc.constant('reserve' as const), count: fc.integer({ min: 1, max: 5 }) }),
      },
      { weight: 3, arbitrary: fc.record({ do: fc.constant('note' as const), pick: fc.nat() }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('noteOld' as const), pick: fc.nat() }) },
      {
        weight: 2,
        arbitrary: fc.record({ do: fc.constant('free' as const), limit: fc.integer({ min: 1, max: 4 }) }),
      },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('release' as const), pick: fc.nat() }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('kill' as const) }) },
    );
    fc.assert(
      fc.property(fc.array(command, { maxLength: 40 }), commands => {
        let path = newPath();
        let names = new NamesDb(path);
        const everUsed = new Set<string>();
        // What a reader may hold a row of: id → generation.
        const inUse = new Map<number, number>();
        for (const step of commands) {
          const held = [...inUse].map(([id, gen]) => ({ id, gen }));
          switch (step.do) {
            case 'reserve':
              for (const name of names.reserve(step.count)) {
                assert.ok(!inUse.has(name.id), `id ${name.id} is in use and given out again`);
                assert.ok(!everUsed.has(key(name)), `${key(name)} has held content before`);
                everUsed.add(key(name));
                inUse.set(name.id, name.gen);
              }
              break;
            case 'note': {
              const name = held[step.pick % Math.max(1, held.length)];
              if (name === undefined) break;
              note(names, name);
              inUse.delete(name.id);
              break;
            }
            case 'noteOld': {
              const old = [...everUsed][step.pick % Math.max(1, everUsed.size)];
              const [id = 0, gen = 0] = (old ?? '0.0').split('.').map(Number);
              if (inUse.get(id) !== gen) note(names, { id, gen });
              break;
            }
            case 'free': {
              const due = names.due(0, step.limit);
              for (const { id } of due) assert.ok(!inUse.has(id), `the file of id ${id}, in use, is removed`);
              names.free(due);
              break;
            }
            case 'release': {
              const name = held[step.pick % Math.max(1, held.length)];
              if (name === undefined) break;
              names.release([name]);
              inUse.delete(name.id);
              everUsed.delete(key(name));
              break;
            }
            case 'kill': {
              const left = asAfterKill(path);
              names.close();
              path = left;
              names = new NamesDb(path);
              break;
            }
          }
        }
        names.close();
      }),
      { numRuns: amount(20, 60) },
    );
  });
});

function sizeOf(path: string): number {
  return existsSync(path) ? statSync(path).size : 0;
}
