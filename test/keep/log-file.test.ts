import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, it } from 'node:test';
import { bytesOf, LogFile, type LogChanges } from '../../src/keep/log-file.js';
import { decodePiece } from '../../src/keep/piece.js';
import { openSqlite, type Db } from '../../src/lib/sqlite.js';

let dir: string;
let path: string;
let db: Db;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'lcc-log-'));
  path = join(dir, 'a.db');
  db = openSqlite(path);
  db.pragma('journal_mode = WAL');
  db.pragma('wal_autocheckpoint = 0');
  db.exec('CREATE TABLE t(n INTEGER PRIMARY KEY, content BLOB)');
});
afterEach(() => {
  db.close();
  rmSync(dir, { recursive: true });
});

const frames = () => (db.pragma('wal_checkpoint(NOOP)') as [{ log: number }])[0].log;

/** All that the log has, and its pages. */
async function read(file = path, counted = frames()): Promise<LogChanges & { pages: Map<number, Buffer> }> {
  const log = LogFile.open(file);
  assert.ok(log);
  try {
    const header = log.header();
    assert.ok(header);
    const changes = await log.changes(header, log.placeAfter(header, 0), counted);
    const pages = new Map<number, Buffer>();
    for await (const piece of log.pieces(changes))
      for (const [number, page] of decodePiece(piece, 'log').pages) pages.set(number, page);
    return { ...changes, pages };
  } finally {
    log.close();
  }
}

/** What SQLite makes of the log, as a file. */
function moved(): Buffer {
  const copy = join(dir, 'moved.db');
  for (const part of ['', '-wal']) assert.equal(spawnSync('cp', [path + part, copy + part]).status, 0);
  const other = openSqlite(copy);
  other.pragma('wal_checkpoint(TRUNCATE)');
  other.close();
  return readFileSync(copy);
}

it('the log has the latest state of each page, and the size of the file', async () => {
  for (let i = 0; i < 300; i++) db.exec(`INSERT INTO t(content) VALUES (randomblob(${i * 40}))`);
  db.exec('UPDATE t SET content = zeroblob(9) WHERE n % 3 = 0');
  const { pages, filePages, pageBytes, latest } = await read();
  const file = moved();
  assert.equal(filePages * pageBytes, file.length);
  assert.equal(latest.length, pages.size);
  assert.deepEqual(
    [...pages.keys()],
    [...pages.keys()].sort((a, b) => a - b),
  );
  for (const [number, page] of pages)
    assert.ok(page.equals(file.subarray((number - 1) * pageBytes, number * pageBytes)), `page ${number}`);
});

it('pages that a VACUUM has cut off are not among the changes', async () => {
  db.exec('INSERT INTO t(content) VALUES (randomblob(900000))');
  const before = (await read()).filePages;
  db.exec('DELETE FROM t; VACUUM');
  const { pages, filePages } = await read();
  assert.ok(filePages < before - 200);
  assert.ok(Math.max(...pages.keys()) <= filePages);
});

it('a machine of the other order of bytes has the same log', async () => {
  db.exec('INSERT INTO t(content) VALUES (randomblob(30000))');
  const own = await read();
  // The sums of the other order, over the same frames.
  const log = readFileSync(`${path}-wal`);
  log.writeUInt32BE(log.readUInt32BE(0) ^ 1, 0);
  const isBig = (log.readUInt32BE(0) & 1) === 1;
  let [a, b] = [0, 0];
  const add = (bytes: Buffer) => {
    for (let i = 0; i < bytes.length; i += 8) {
      const word = (at: number) => (isBig ? bytes.readUInt32BE(at) : bytes.readUInt32LE(at));
      a = (a + word(i) + b) >>> 0;
      b = (b + word(i + 4) + a) >>> 0;
    }
  };
  add(log.subarray(0, 24));
  log.writeUInt32BE(a, 24);
  log.writeUInt32BE(b, 28);
  const frameBytes = 24 + own.pageBytes;
  for (let at = 32; at < log.length; at += frameBytes) {
    add(log.subarray(at, at + 8));
    add(log.subarray(at + 24, at + frameBytes));
    log.writeUInt32BE(a, at + 16);
    log.writeUInt32BE(b, at + 20);
  }
  writeFileSync(join(dir, 'other.db-wal'), log);
  const other = await read(join(dir, 'other.db'), frames());
  assert.deepEqual(other.pages, own.pages);
  assert.notDeepEqual(other.place.sums, own.place.sums);
});

it('a commit that SQLite does not count is not read, though it lies in the log', async () => {
  db.exec('INSERT INTO t(content) VALUES (randomblob(9000))');
  const counted = frames();
  const before = await read();
  db.exec('INSERT INTO t(content) VALUES (randomblob(9000))');
  // As after a sync that failed: the frames are whole, their commit is none.
  const after = await read(path, counted);
  assert.deepEqual(after.pages, before.pages);
  assert.deepEqual(after.place, before.place);
  assert.ok(readFileSync(`${path}-wal`).length > after.place.offset);
});

it('a place is found again in its log only', async () => {
  db.exec('INSERT INTO t(content) VALUES (randomblob(9000))');
  const { place } = await read();
  db.exec('INSERT INTO t(content) VALUES (randomblob(9000))');
  const log = LogFile.open(path);
  assert.ok(log);
  assert.ok(log.has(place));
  assert.equal(log.has({ ...place, offset: place.offset + 8 }), false);
  assert.equal(log.has({ ...place, sums: [place.sums[0], place.sums[1] ^ 1] }), false);
  assert.equal(log.has({ ...place, offset: place.offset * 99 }), false);
  db.pragma('wal_checkpoint(RESTART)');
  db.exec('INSERT INTO t(content) VALUES (randomblob(9000))');
  assert.equal(log.has(place), false);
  assert.equal(log.header()?.salts[0], (place.salts[0] + 1) >>> 0);
  log.close();
});

it('a log with a changed byte, or cut, is an error and no shipment', async () => {
  db.exec('INSERT INTO t(content) VALUES (randomblob(9000))');
  const whole = readFileSync(`${path}-wal`);
  const counted = frames();
  const damaged = join(dir, 'damaged.db');
  for (const at of [36, 40, 60, 500, whole.length - 1]) {
    const log = Buffer.from(whole);
    log[at] = (log[at] ?? 0) ^ 4;
    writeFileSync(`${damaged}-wal`, log);
    await assert.rejects(read(damaged, counted), /^LccError: .*damaged\.db-wal: frame \d+ of \d+ is damaged/);
  }
  writeFileSync(`${damaged}-wal`, whole.subarray(0, -100));
  await assert.rejects(read(damaged, counted), /^LccError: .*damaged\.db-wal: ends before byte/);
  writeFileSync(`${damaged}-wal`, whole.subarray(0, 20));
  const log = LogFile.open(damaged);
  assert.ok(log);
  assert.equal(log.header(), undefined, 'a header that is cut');
  appendFileSync(`${damaged}-wal`, Buffer.alloc(500));
  assert.equal(log.header(), undefined, 'a header that is damaged');
  log.close();
});

it('a database without a log has none to read', () => {
  assert.equal(LogFile.open(join(dir, 'none.db')), undefined);
  assert.equal(bytesOf({ pageBytes: 4096, salts: [1, 2], sums: [1, 2], isSwapped: false }, 2), 8240);
});
