/** A provider moves from one home to another: both Queue Managers, real stores of a machine, no engine. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { fileIdOf } from '../../../src/db/names/naming.js';
import { onStep } from '../../../src/lib/steps.js';
import { addRandomProvider, othersThan, placesOf, rowsOf } from '../../db/moves/random-provider.js';
import { leavesTheSame } from '../../support/kills.js';
import { isLong } from '../../support/long.js';
import { closeHome, FileBook, md5Of, openHome, type HomeSide } from '../../support/moves.js';
import { ROOT } from '../../support/tree.js';
import { until, within } from '../../support/until.js';
import { randomFrom } from '../simulation.js';

const PID = 7;

let dir = '';
beforeEach(() => (dir = mkdtempSync(join(tmpdir(), 'lcc-moves-'))));
afterEach(() => {
  onStep(() => undefined);
  rmSync(dir, { recursive: true, force: true });
});

/** A provider with content in home 0, and others in both homes. */
async function fill(folder: string, seed = 3): Promise<void> {
  const random = randomFrom(seed);
  const roll = (below: number) => Math.floor(random() * below);
  for (const [shard, pids] of [
    [0, [6, PID]],
    [1, [16]],
  ] as const) {
    const home = openHome(folder, shard);
    for (const pid of pids) addRandomProvider(home.db, pid, roll);
    if (shard === 0) writeContent(home);
    await closeHome(home);
  }
}

function writeContent({ db, files }: HomeSide): void {
  const rows = db.prepare<[], { id: number; pid: number }>('SELECT id, pid FROM lccurl').all();
  const point = db.prepare(
    `UPDATE lccurl SET fetched_fileid = ?, fetched_machineid = 'm1', md5 = ?, len = ? WHERE id = ?`,
  );
  for (const { id } of rows) {
    const name = files.take();
    assert.ok(name);
    const content = `content ${id}`;
    writeFileSync(files.pathOf(name), content);
    point.run(fileIdOf(name), md5Of(content), content.length, id);
  }
  db.exec(
    'UPDATE pidb SET spaceused = (SELECT coalesce(sum(len), 0) FROM lccurl WHERE lccurl.pid = pidb.pid)',
  );
}

/** What is left of both homes, but for times. */
function look(folder: string) {
  const of = (shard: number) => {
    const { db, files } = openHome(folder, shard);
    const rows = rowsOf(db, PID);
    const contents = db
      .prepare<[number], { id: number; fetched_fileid: string }>(
        'SELECT id, fetched_fileid FROM lccurl WHERE pid = ?',
      )
      .all(PID)
      .map(
        ({ id, fetched_fileid: fileId }) => readFileSync(join(files.dir, fileId), 'utf8') === `content ${id}`,
      );
    const left = {
      rows,
      contents,
      places: placesOf(db, PID),
      others: othersThan(db, PID),
      moving: db.prepare('SELECT * FROM moving').all(),
      told: db.prepare('SELECT id FROM tombstone WHERE pid = ? ORDER BY seq').pluck().all(PID),
    };
    files.close();
    db.close();
    return left;
  };
  return { src: of(0), dst: of(1), shard: new FileBook(folder).read().shard };
}

/** Both Queue Managers as processes of their own, started again when they are killed. */
async function live(before: string, env: Record<string, string>): Promise<ReturnType<typeof look>> {
  const folder = mkdtempSync(join(dir, 'life-'));
  cpSync(before, folder, { recursive: true });
  new FileBook(folder).ask(PID, 1);
  for (let lives = 0; lives < 3 && new FileBook(folder).read().move !== undefined; lives++) {
    const probe = spawn(process.execPath, [join(ROOT, 'dist/test/support/move-probe.js'), folder], {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    await within('the probe ends', once(probe, 'exit'));
  }
  return look(folder);
}

describe('a provider that moves', () => {
  it('is whole at its new home, with its content, whichever side is killed at whichever step', async () => {
    const before = mkdtempSync(join(dir, 'before-'));
    await fill(before);
    const { src } = look(before);
    const all = [
      'qm.move.left',
      'qm.move.begun',
      'qm.move.copied',
      'qm.move.copied:5',
      'qm.move.copied:12',
      'qm.move.reached',
      'qm.move.reached:2',
      'qm.move.reached:3',
      'qm.move.cleared:3',
      'qm.move.reached:4',
      'qm.move.settled',
      'qm.move.reached:5',
    ];
    const steps = isLong ? all : ['qm.move.copied:5', 'qm.move.reached:3'];
    const left = await leavesTheSame(steps, env => live(before, env));
    assert.equal(left.shard, 1);
    assert.deepEqual(left.dst.places, src.places);
    assert.ok(left.dst.contents.length > 0 && left.dst.contents.every(Boolean));
    assert.deepEqual(left.dst.rows['lccurl'], src.rows['lccurl']);
    assert.deepEqual(left.dst.rows['qdb'], src.rows['qdb']);
    assert.deepEqual(left.dst.told, src.told);
    assert.ok(
      Object.values(left.src.rows).every(rows => rows.length === 0),
      'nothing of it is at its old home',
    );
    assert.deepEqual(left.src.told, [], 'which tells of no deletion');
    assert.deepEqual(left.src.others, src.others);
    assert.deepEqual([left.src.moving, left.dst.moving], [[], []]);
  });

  it('stays where it was when the move is taken back, at any time before it has moved', async () => {
    await fill(dir);
    const before = look(dir);
    const book = new FileBook(dir);
    for (const at of ['qm.move.left', 'qm.move.copied', 'qm.move.reached:2'] as const) {
      const [name, nth = '1'] = at.split(':');
      book.ask(PID, 1);
      let passed = 0;
      onStep(step => {
        if (step !== name || ++passed !== Number(nth)) return;
        const row = book.read();
        if (row.move !== undefined) book.write({ ...row, move: { ...row.move, stage: 'cancelled' } });
      });
      const homes = [openHome(dir, 0), openHome(dir, 1)];
      for (const { mover } of homes) mover.start();
      await until('it is over', () => book.read().move === undefined);
      for (const home of homes) await closeHome(home);
      onStep(() => undefined);
      const after = look(dir);
      assert.deepEqual(after.src, before.src, at);
      assert.deepEqual(after.dst, before.dst, at);
      assert.equal(after.shard, 0);
    }
  });

  it('goes there and back again, and everything is as it was', async () => {
    await fill(dir);
    const before = look(dir);
    const book = new FileBook(dir);
    const homes = [openHome(dir, 0), openHome(dir, 1)];
    for (const { mover } of homes) mover.start();
    for (const dst of [1, 0]) {
      book.ask(PID, dst);
      await until('it is over', () => book.read().move === undefined);
    }
    for (const home of homes) await closeHome(home);
    const { src, dst } = look(dir);
    assert.deepEqual(src, before.src);
    assert.deepEqual(dst, before.dst);
  });

  it('has its urls queued where the machine with its content is away, and nothing is lost', async () => {
    await fill(dir);
    const before = look(dir);
    const book = new FileBook(dir);
    book.ask(PID, 1);
    const homes = [openHome(dir, 0), openHome(dir, 1, { isAway: true })];
    for (const { mover } of homes) mover.start();
    await until('it is over', () => book.read().move === undefined);
    for (const home of homes) await closeHome(home);
    const { dst } = look(dir);
    const urls = (rows: Record<string, unknown>[] = []) => rows.map(({ curl }) => String(curl));
    const all = [...urls(before.src.rows['lccurl']), ...urls(before.src.rows['qdb'])];
    assert.deepEqual(new Set(urls(dst.rows['qdb'])), new Set(all));
    assert.deepEqual(dst.rows['lccurl'], []);
  });

  it('stays where it was when the machine with its content does not find the store of its home: nothing is fetched again', async () => {
    await fill(dir);
    const before = look(dir);
    const book = new FileBook(dir);
    book.ask(PID, 1);
    const errors: string[] = [];
    const homes = [openHome(dir, 0), openHome(dir, 1, { warned: event => void errors.push(event) })];
    const [mark, away] = [join(dir, '0/store/machine-id'), join(dir, '0/away')] as const;
    renameSync(mark, away);
    for (const { mover } of homes) mover.start();
    await until('it is over', () => book.read().move === undefined);
    for (const home of homes) await closeHome(home);
    renameSync(away, mark);
    assert.deepEqual(errors, ['move of a provider is taken back']);
    assert.deepEqual(look(dir), before);
  });

  it('is not taken for one of that number which its new home has by itself', async () => {
    await fill(dir);
    const other = openHome(dir, 1);
    addRandomProvider(other.db, PID, () => 0);
    await closeHome(other);
    const before = look(dir);
    const book = new FileBook(dir);
    book.ask(PID, 1);
    const warnings: string[] = [];
    const homes = [openHome(dir, 0), openHome(dir, 1, { warned: event => void warnings.push(event) })];
    for (const { mover } of homes) mover.start();
    await until('the new home says why not', () => warnings.includes('move of a provider does not go on'));
    for (const home of homes) await closeHome(home);
    assert.deepEqual(look(dir).dst, before.dst);
  });
});
