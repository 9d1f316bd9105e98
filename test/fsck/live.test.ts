/** What lccfsck looks at while others write: one commit before each of its questions. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { FsckLook } from '../../src/db/fsck-look.js';
import { openReadOnly, type Db } from '../../src/db/sqlite/open.js';
import { TemporaryNames } from '../../src/db/names/temporary-names.js';
import { content } from '../../src/fsck/content.js';
import { deletions } from '../../src/fsck/free-list.js';
import { sequence, sets } from '../../src/fsck/run.js';
import type { Check, CheckContext } from '../../src/fsck/types.js';
import { TestCache } from '../support/cache.js';

/** What is written without end would be read without end. */
const COMMITS = 100;
let cache: TestCache;
let db: Db;
let known: TemporaryNames;
let commit: () => void;

beforeEach(() => {
  cache = new TestCache();
  for (let i = 0; i < 5; i++) cache.put({ curl: `http://x/${i}` });
  commit = () => undefined;
  db = openReadOnly(cache.dbPath);
  known = new TemporaryNames();
  interpose();
});
afterEach(() => {
  known.close();
  db.close();
  cache.close();
});

/** Others commit before each question. */
function interpose(): void {
  const prepare = db.prepare.bind(db);
  let left = COMMITS;
  db.prepare = ((sql: string) => {
    const statement = prepare(sql);
    for (const ask of ['get', 'all'] as const) {
      const asked = statement[ask].bind(statement) as (...values: unknown[]) => never;
      statement[ask] = (...values: unknown[]) => {
        if (left-- > 0) commit();
        return asked(...values);
      };
    }
    return statement;
  }) as typeof db.prepare;
}

/** What checks find, one after the other. */
async function found(...checks: Check[]): Promise<string[]> {
  const context = {
    db,
    look: new FsckLook(db),
    repairs: undefined,
    live: true,
    quick: false,
    storeDir: cache.store,
    machineId: 'local',
    fsmSpoolDir: join(cache.home, 'none'),
    known,
    extent: { rows: 0, elsewhere: 0, files: 0, bytes: 0, leaving: 0 },
  } as unknown as CheckContext;
  const findings: string[] = [];
  for (const check of checks)
    for await (const { kind, what } of check(context)) findings.push(`${kind}: ${what}`);
  return findings;
}

test('a page that is replaced, or deleted and added again, between two questions is no finding', async () => {
  let changes = 0;
  commit = () => {
    const curl = `http://x/${changes++ % 5}`;
    if (changes % 2 === 0) cache.remove(curl);
    cache.put({ curl, content: `change ${changes}` });
  };
  assert.deepEqual(await found(content, deletions, content, deletions), []);
  assert.ok(changes > 4);
});

test('a file that waits to be deleted though a row points to it is one, however much is written', async () => {
  let changes = 0;
  commit = () => cache.put({ curl: `http://x/${changes++ % 4}`, content: `change ${changes}` });
  cache.db.exec(
    "INSERT INTO freed(machineid, fileid) SELECT 'local', fetched_fileid FROM lccurl WHERE curl = 'http://x/4'",
  );
  assert.deepEqual(await found(content, deletions), [
    'free-list: waits to be deleted, but a row points to it',
  ]);
});

test('numbers that are given out between two questions are no finding; one beyond them is', async () => {
  commit = () => cache.put({ curl: 'http://x/0', content: String(Math.random()) });
  assert.deepEqual(await found(sequence), []);
  cache.db.exec("UPDATE counter SET value = value - 1 WHERE name = 'seq'");
  const next =
    "UPDATE lccurl SET seq = seq + 1 WHERE seq = (SELECT max(seq) FROM lccurl); UPDATE counter SET value = value + 1 WHERE name = 'seq'";
  commit = () => cache.db.exec(`BEGIN; ${next}; COMMIT`);
  assert.equal((await found(sequence)).length, 1);
});

test('sets that are absorbed between two questions are no finding; a row of another set is', async () => {
  const absorb = (psetid = 'counted.value') =>
    `INSERT INTO qdb(pos, pid, curl, mimetype, psetid)
       SELECT counted.value, 1, 'http://y/' || counted.value, 'text/html', ${psetid} FROM counter AS counted WHERE name = 'pos';
     INSERT INTO qpsdb(psetid, starttimeslot, pid, firstpos, lastpos)
       SELECT value, -1, 1, value, value FROM counter WHERE name = 'pos'`;
  const next = "UPDATE counter SET value = value + 1 WHERE name = 'pos'";
  commit = () => cache.db.exec(`BEGIN; ${next}; ${absorb()}; COMMIT`);
  for (let i = 0; i < 3; i++) commit();
  assert.deepEqual(await found(sets), []);
  cache.db.exec(`${next}; ${absorb('999')}`);
  const findings = await found(sets);
  assert.match(findings[0] ?? '', /^set: says it is of set 999, at a place of set \d+$/);
});
