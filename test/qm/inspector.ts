/** Holds the database against the model, after every event and, as far as order demands, after every durable step. */
import assert from 'node:assert/strict';
import type { Db } from '../../src/db/sqlite/open.js';
import { HELD_STATE } from '../../src/db/queue/held-removals.js';
import { disagreement } from '../../src/db/queue/sets-from-urls.js';
import type { ProviderSet } from './model.js';
import type { Scene } from './scene.js';
import { checkNobodyWaits } from './sendable.js';
import { timeOf } from './translate.js';
import { BASE, type Entry } from './world.js';

type RealRow = [pos: number, pid: number, curl: string, mimetype: string, set: number, ...rest: unknown[]];

export class Inspector {
  readonly #pair: Scene;
  readonly #db: Db;
  readonly #rows;
  readonly #content;
  readonly #providers;
  readonly #errors;
  readonly #freed;
  readonly #numbers;
  readonly #sets;
  readonly #absorbed;
  readonly #held;
  /** The last error looked at. */
  #errseq = 0;
  /** The last set id and place that were given out. */
  #lastSet = 0;
  #lastPlace = 0;
  #refusals: { pid: number; key: string; code: number }[] = [];

  constructor(db: Db, pair: Scene) {
    this.#pair = pair;
    this.#db = db;
    this.#rows = db.prepare<[], RealRow>(
      'SELECT pos, pid, curl, mimetype, psetid, gen, op, len, tries, slot FROM qdb ORDER BY pos',
    );
    this.#content = db.prepare<[], [number, string, string, number, string | null, string, string]>(
      'SELECT pid, curl, mimetype, len, mtime, fetched_machineid, fetched_fileid FROM lccurl',
    );
    this.#providers = db.prepare<[], unknown[]>(
      'SELECT pid, filesused, spaceused, nurlproc, nurlerrs, fullsetwanted IS NOT NULL FROM pidb ORDER BY pid',
    );
    this.#errors = db.prepare<[number], [number, number, number, string]>(
      'SELECT errseq, pid, code, attrs FROM pierr WHERE errseq > ? ORDER BY errseq',
    );
    this.#freed = db.prepare<[], string>("SELECT machineid || '/' || fileid FROM freed").pluck();
    this.#numbers = db.prepare<[], [number, number, number]>(
      `SELECT count(*), count(DISTINCT seq), (SELECT value FROM counter WHERE name = 'seq')
       FROM (SELECT seq FROM lccurl UNION ALL SELECT seq FROM tombstone)`,
    );
    this.#sets = db.prepare<[], [number, number]>('SELECT psetid, starttimeslot FROM qpsdb');
    this.#absorbed = db.prepare<
      [string, string],
      { psetid: number; firstpos: number; rowsdone: number; complete: number }
    >('SELECT psetid, firstpos, rowsdone, complete FROM absorbed WHERE uns = ? AND entry = ?');
    this.#held = db.prepare<[], [number, number]>(
      `SELECT psetid, state FROM held WHERE state < ${HELD_STATE.discarded} ORDER BY psetid`,
    );
    this.#held.raw();
    for (const statement of [
      this.#rows,
      this.#content,
      this.#providers,
      this.#errors,
      this.#numbers,
      this.#sets,
    ])
      statement.raw();
  }

  /** What has been committed of sets is absorbed by the model too; what may vanish and has vanished is forgotten. */
  follow(): void {
    const { model, world } = this.#pair;
    this.#seeErrors();
    for (const { id, spool } of world.unses) {
      const entry = spool[0];
      if (entry !== undefined && !entry.complete) this.#followSet(id, entry);
    }
    this.#refusals = [];
    if (model.ending.size > 0) this.#followRemovals();
    this.#followDecided();
  }

  check(): void {
    const { model } = this.#pair;
    this.follow();
    this.#followRemovals();
    const rows = this.#rows.all() as unknown as unknown[][];
    same(
      rows,
      model.rows
        .toSorted((a, b) => a.place - b.place)
        .map(r => {
          const [curl, mimetype] = r.key.split(' ');
          return [
            r.place,
            r.pid,
            `${BASE}${curl}`,
            mimetype,
            r.set,
            r.gen,
            r.op,
            r.op === 1 ? (r.len ?? null) : null,
            r.tries,
          ];
        }),
      'the queue',
      row => (row[6] === 0 ? row.with(7, null) : row).slice(0, 9),
    );
    const content = this.#content.all();
    const pointed: string[] = [];
    for (const [pid, curl, mimetype, len, mtime, machine, file] of content) {
      const held = model.heldOf(pid, keyOf(curl, mimetype));
      pointed.push(`${machine}/${file}`);
      assert.deepEqual(
        { len, mtime, file: `${machine}/${file}` },
        {
          len: held?.len,
          mtime: held?.mtime === undefined ? null : timeOf(held.mtime),
          file: held?.file,
        },
        `held: ${curl}`,
      );
    }
    assert.equal(content.length, model.held.size, 'what is held');
    same(
      this.#providers.all(),
      [...model.providers.values()].map(({ pid, nurlerrs, wanted }) => {
        const { files, space } = model.uses(pid);
        return [pid, files, space, model.rows.filter(r => r.pid === pid).length, nurlerrs, wanted ? 1 : 0];
      }),
      'the counters of the providers',
    );
    for (const { pid, filesmax, spacemax } of model.providers.values()) {
      const { files, space } = model.uses(pid);
      assert.ok(files <= filesmax && space <= spacemax, `provider ${pid} is over its quota`);
    }
    const kept = this.#errors.all(0).map(([, pid, code, attrs]) => ({ pid, code, key: keyOfAttrs(attrs) }));
    for (const { pid, errors } of model.providers.values()) {
      const mine = kept.filter(e => e.pid === pid).map(({ code, key }) => ({ code, key }));
      same(mine, errors, `errors kept for provider ${pid}`);
    }
    const [changes, distinct, last] = this.#numbers.get() ?? [];
    assert.equal(changes, distinct, 'no number of the change sequence is given twice');
    assert.equal(last, model.changes, 'numbers of the change sequence');
    same(
      [...this.#heldSets()],
      [...model.fused.values()].map(({ id, released }) => [id, released] as [number, boolean]),
      'held sets',
    );
    this.#checkFiles(pointed);
    this.#checkSets(rows);
    assert.equal(disagreement(this.#db), undefined, 'sets and urls agree');
    checkNobodyWaits(this.#pair);
  }

  /** Whether there is nothing left to do. */
  isOver(): boolean {
    const { model, world } = this.#pair;
    return (
      model.rows.length === 0 &&
      world.unses.every(uns => uns.spool.length === 0) &&
      world.requests().length === 0 &&
      model.fused.size === 0 &&
      this.#freed.get() === undefined
    );
  }

  checkEnd(status: { in_flight: number; sets: number; providers: number; lanes: number }): void {
    const { model, world, ledger } = this.#pair;
    const { in_flight, sets, providers, lanes } = status;
    assert.deepEqual(
      { in_flight, sets, providers, lanes },
      { in_flight: 0, sets: 0, providers: 0, lanes: 0 },
    );
    // A part goes when its hour comes, also after its urls were removed.
    const waiting = this.#sets.all().filter(([, slot]) => slot < 0);
    assert.deepEqual(waiting, [], 'no set is left');
    const pointed = [...model.held.values()].map(h => h.file);
    assert.deepEqual(
      [...world.disk].filter(f => !world.orphans.has(f)).toSorted(),
      pointed.toSorted(),
      'files on the disks',
    );
    ledger.check(
      new Set(model.held.keys()),
      [...model.providers.values()].every(p => p.nurlerrs === p.errors.length),
    );
  }

  /** The number of the provider's n-th kept error, 0 when it has none. */
  errseqOf(pid: number, count: number): number {
    return (
      this.#errors
        .all(0)
        .filter(e => e[1] === pid)
        .slice(0, count)
        .at(-1)?.[0] ?? 0
    );
  }

  #seeErrors(): void {
    for (const [errseq, pid, code, attrs] of this.#errors.all(this.#errseq)) {
      const key = keyOfAttrs(attrs);
      this.#errseq = errseq;
      this.#pair.ledger.reported(pid, key);
      if (code === 202 || code === 203) this.#refusals.push({ pid, key, code });
    }
  }

  #followSet(uns: string, entry: Entry): void {
    const { model } = this.#pair;
    const real = this.#absorbed.get(uns, entry.head.entry);
    if (real === undefined) return;
    const { pid } = entry.head;
    if (entry.set === undefined) {
      assert.equal(real.psetid, ++this.#lastSet, 'sets are numbered as they come');
      if (entry.urls.length > 0)
        assert.equal(real.firstpos, this.#lastPlace + 1, 'places are given out in order');
      this.#lastPlace += entry.urls.length;
      entry.set = { id: real.psetid, pid, full: entry.full };
      entry.firstpos = real.firstpos;
    }
    const { set } = entry;
    for (; entry.done < real.rowsdone; entry.done++) {
      const url = entry.urls[entry.done];
      assert.ok(url, 'no more urls than the set has');
      const refused = this.#refusals.findIndex(r => r.pid === pid && r.key === url.key);
      const code = this.#refusals[refused]?.code;
      const before = model.provider(pid).nurlerrs;
      model.absorb(set, url, entry.firstpos + entry.done, code);
      if (code === undefined || model.provider(pid).nurlerrs === before) continue;
      this.#refusals.splice(refused, 1);
      const came = entry.urls.slice(0, entry.done + 1);
      assert.ok(model.mayRefuse(pid, code, came), `${pid} ${url.key} is refused within its quota`);
    }
    if (entry.full && entry.done === entry.urls.length && !model.ending.has(set.id)) {
      model.ending.set(set.id, set);
      entry.mustHold = model.isTooMuch(set, -this.#slack()) && !this.#isKnown(entry);
    }
    if (real.complete === 1) {
      entry.complete = true;
      if (entry.damaged) model.cutShort(set);
      else if (this.#heldSets().has(set.id)) this.#followHeld(entry, set);
      else this.#followFinished(entry, set);
    }
  }

  #followHeld({ head }: Entry, set: ProviderSet): void {
    const { model } = this.#pair;
    assert.ok(model.isTooMuch(set, this.#slack()), `set ${set.id} is held, and removes little`);
    model.hold(set, head.digest ?? '');
  }

  #followFinished(entry: Entry, set: ProviderSet): void {
    assert.ok(!entry.mustHold, `set ${set.id} removes more than the fuse lets pass`);
    this.#pair.model.finish(set);
  }

  /** Whether the same set is held: then this one means what it says. */
  #isKnown({ head }: Entry): boolean {
    const { fused } = this.#pair.model;
    return [...fused.values()].some(set => set.pid === head.pid && set.digest === head.digest);
  }

  /** Urls on their way may become content, or cease to be, while a set is judged. */
  #slack(): number {
    return this.#pair.model.rows.filter(row => row.out).length;
  }

  /** Held sets, and whether they are released. */
  #heldSets(): Map<number, boolean> {
    return new Map(this.#held.all().map(([psetid, state]) => [psetid, state === HELD_STATE.released]));
  }

  #followDecided(): void {
    const { model } = this.#pair;
    if (model.fused.size === 0) return;
    const held = this.#heldSets();
    for (const set of model.fused.values()) if (set.released && !held.has(set.id)) model.carriedOut(set);
  }

  /** The model says what may vanish: deleted rows after their turn came, and what a full set did not name. */
  #followRemovals(): void {
    const { model } = this.#pair;
    const places = new Set(this.#rows.all().map(r => r[0]));
    for (const row of model.rows) if (!places.has(row.place) && model.mayGo(row)) model.drop(row);
    if (model.ending.size === 0) return;
    const held = new Set(
      this.#content.all().map(([pid, curl, mimetype]) => `${pid} ${keyOf(curl, mimetype)}`),
    );
    for (const [id, one] of model.held) if (!held.has(id) && model.mayLose(one)) model.lost(one);
  }

  /** Every file that arrived is pointed to, freed, on its way out, or left by a crash: one of them. */
  #checkFiles(pointed: readonly string[]): void {
    const { world } = this.#pair;
    const known = [...pointed, ...this.#freed.all()];
    assert.equal(new Set(known).size, known.length, 'a file is pointed to once, or freed once');
    for (const file of pointed) assert.ok(world.disk.has(file), `${file} is pointed to and gone`);
    const all = new Set([...known, ...this.#pair.arriving(), ...world.orphans]);
    for (const file of world.disk) assert.ok(all.has(file), `${file} is neither pointed to nor freed`);
  }

  /** Every url of a complete set stands in the order, in its part of the set; nothing of other sets does. */
  #checkSets(rows: readonly unknown[][]): void {
    const { model } = this.#pair;
    const parts = new Set<string>();
    for (const [set, slot] of this.#sets.all()) {
      parts.add(`${set}/${slot}`);
      assert.ok(model.complete.has(set), `set ${set} is fetched before it is complete`);
    }
    for (const row of rows) {
      const part = `${String(row[4])}/${String(row[9])}`;
      const known = parts.has(part) || !model.complete.has(Number(row[4]));
      assert.ok(known, `${String(row[2])} of set ${part} would be forgotten by a restart`);
    }
  }
}

function keyOf(curl: string, mimetype: string): string {
  return `${curl.slice(BASE.length)} ${mimetype}`;
}

/** Of ` curl="…" mimetype="…"`. */
function keyOfAttrs(attrs: string): string {
  const [, curl = '', mimetype = ''] = / curl="([^"]*)" mimetype="([^"]*)"/.exec(attrs) ?? [];
  return keyOf(curl, mimetype);
}

/** Cheap when they are the same. */
function same<T>(actual: T[], expected: T[], what: string, normal: (one: T) => T = one => one): void {
  const normalised = actual.map(normal);
  if (JSON.stringify(normalised) !== JSON.stringify(expected)) assert.deepEqual(normalised, expected, what);
}
