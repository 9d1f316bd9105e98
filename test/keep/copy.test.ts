import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { openDatabase } from '../../src/db/sqlite/open.js';
import { HomeCopy } from '../../src/keep/copy.js';
import { copiedSoFar } from '../../src/keep/copy-note.js';
import { encodePiece, type PagePiece } from '../../src/keep/piece.js';
import { differingPages } from '../../src/keep/verify.js';
import { systemClock as clock } from '../../src/lib/clock.js';
import { FolderLedger } from '../support/folder-ledger.js';
import { KeptHome } from '../support/keeper.js';
import { until } from '../support/until.js';

const never = new AbortController().signal;
const PAGE_BYTES = 4096;

const piece = (filePages: number, pages: Record<number, number>): PagePiece => ({
  pageBytes: PAGE_BYTES,
  filePages,
  pages: new Map(Object.entries(pages).map(([n, fill]) => [Number(n), Buffer.alloc(PAGE_BYTES, fill)])),
});

/** An engine with a base of pages 1 to 3, filled with 1, and no log. */
async function engine(): Promise<{
  home: KeptHome;
  ship: (...pieces: PagePiece[]) => Promise<void>;
  copy: HomeCopy;
  bytes: () => number[];
}> {
  const home = new KeptHome();
  let n = 0;
  const ship = async (...pieces: PagePiece[]) => {
    const shipment = {
      name: 'lcc',
      n: ++n,
      pos: `1 2 32 3 4 ${n}`,
      pieces: pieces.map(encodePiece),
    } as const;
    assert.equal(await home.ledger.ship(shipment, 1, never), 'done');
  };
  await ship();
  await home.ledger.putBlock('lcc', 1, 0, encodePiece(piece(3, { 1: 1, 2: 1, 3: 1 })), 1);
  await home.ledger.completeBase('lcc', 1, 1);
  const path = join(home.folder, 'standby/lcc.db');
  const copy = new HomeCopy({ name: 'lcc', path, ledger: home.ledger, clock });
  const bytes = () => {
    const file = readFileSync(existsSync(path) ? path : `${path}.copy`);
    return Array.from({ length: file.length / PAGE_BYTES }, (_, i) => file[i * PAGE_BYTES] ?? 0);
  };
  return { home, ship, copy, bytes };
}

it('a copy follows the log shipment by shipment: each page at its place, the file as long as it is', async () => {
  const { home, ship, copy, bytes } = await engine();
  await copy.follow(never);
  assert.deepEqual(bytes(), [1, 1, 1]);
  await ship(piece(5, { 2: 2, 4: 2 }), piece(5, { 5: 2 }));
  await ship(piece(4, { 1: 3, 2: 3 }));
  await copy.follow(never);
  assert.deepEqual(bytes(), [3, 3, 1, 2]);
  assert.equal(copy.n, 3);
  await copy.finish(never);
  assert.deepEqual(bytes(), [3, 3, 1, 2]);
  await home.close();
});

it('a copy that was stopped goes on from its note', async () => {
  const { home, ship, copy, bytes } = await engine();
  await copy.follow(never);
  await ship(piece(3, { 2: 2 }));
  await copy.follow(never);
  await copy.stop();
  await ship(piece(3, { 3: 3 }));
  const path = join(home.folder, 'standby/lcc.db');
  assert.equal(copiedSoFar(path), 2);
  // Only what it lacks is asked for.
  class Watched extends FolderLedger {
    override base(): AsyncGenerator<{ i: number; data: Buffer }> {
      throw new Error('a base is read once more');
    }
  }
  const next = new HomeCopy({ name: 'lcc', path, ledger: new Watched(home.engine), clock });
  await next.finish(never);
  assert.deepEqual(bytes(), [1, 2, 3]);
  await home.close();
});

it('a base that is replaced while it is read, or its log, makes the copy begin again', async () => {
  const { home, ship, bytes } = await engine();
  await ship(piece(3, { 3: 9 }));
  let replaced = 0;
  const { ledger } = home;
  /** Makes a new base while the old one, or the log after it, is read. */
  const replace = async (fill: number, n: number) => {
    replaced++;
    await ship(piece(2, { 1: fill }));
    await ledger.putBlock('lcc', n, 0, encodePiece(piece(2, { 1: fill, 2: fill })), 1);
    await ledger.completeBase('lcc', n, 1);
  };
  class Changing extends FolderLedger {
    override async *base(...[name, base]: Parameters<FolderLedger['base']>) {
      yield* super.base(name, base);
      if (replaced === 0) await replace(5, 3);
    }
    override async *log(...[name, after, last]: Parameters<FolderLedger['log']>) {
      if (replaced === 1) await replace(6, 4);
      yield* super.log(name, after, last);
    }
  }
  const path = join(home.folder, 'standby/lcc.db');
  const copy = new HomeCopy({ name: 'lcc', path, ledger: new Changing(home.engine), clock });
  await copy.finish(never);
  assert.equal(replaced, 2);
  assert.deepEqual(bytes(), [6, 6]);
  await home.close();
});

it('damaged data of the engine are refused, by their number', async () => {
  const { home, ship, copy } = await engine();
  await ship(piece(3, { 3: 9 }));
  const file = join(home.engine, 'lcc/log/000000000002/000000000000');
  const data = readFileSync(file);
  data[20] = (data[20] ?? 0) ^ 1;
  writeFileSync(file, data);
  await assert.rejects(copy.finish(never), /^LccError: lcc log 2\.0: damaged in the engine/);
  await home.close();
});

it('a comparison of home and engine finds the page that differs, and none under load', async () => {
  const home = new KeptHome();
  const db = openDatabase(home.path);
  db.exec('CREATE TABLE big(n INTEGER PRIMARY KEY, content BLOB NOT NULL)');
  const keeper = home.keeper();
  await keeper.complete();
  const insert = db.prepare('INSERT INTO big(content) VALUES (randomblob(30000))');
  for (let i = 0; i < 40; i++) insert.run();
  assert.ok(await keeper.shipped());
  const of = { name: 'lcc', path: home.path, ledger: home.ledger } as const;
  const settled = async () => {
    insert.run();
    db.exec('UPDATE big SET content = zeroblob(30000) WHERE n % 7 = 0');
    assert.ok(await keeper.shipped());
  };
  let isOver = false;
  const load = until('the end of the load', () => insert.run() && isOver);
  assert.deepEqual(await differingPages(of, settled, never), []);
  isOver = true;
  await load;
  assert.ok(await keeper.shipped());
  const state = await home.ledger.state('lcc');
  assert.ok(state);
  // A shipment that the home knows nothing of.
  const pieces = [encodePiece(piece(200, { 2: 7 }))];
  await keeper.kill();
  await home.ledger.ship({ name: 'lcc', n: state.n + 1, pos: state.pos, pieces }, 1, never);
  const differing = await differingPages(of, () => Promise.resolve(), never);
  assert.ok(differing.includes(2), differing.join(' '));
  db.close();
  await home.close();
});
