/** Databases of a kept home beside lcc.db. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { ClearDatabase } from '../../../src/db/clear/database.js';
import { RsDatabase } from '../../../src/db/rs/database.js';
import { openSqlite } from '../../../src/lib/sqlite.js';

let home: string;
beforeEach(() => (home = mkdtempSync(join(tmpdir(), 'lcc-own-'))));
afterEach(() => rmSync(home, { recursive: true }));

describe('the log of a database in a kept home', () => {
  const row = {
    event: 'operator added',
    registration: null,
    pid: null,
    by: 'operator',
    detail: 'ann',
  } as const;
  const opened = {
    'rs.db': (path: string) => {
      const db = RsDatabase.open(path);
      return { db, commit: () => db.write(() => db.audit.add(row, 1)) };
    },
    'clear.db': (path: string) => {
      const db = ClearDatabase.open(path, 0);
      const target = { name: 'www', kind: 'group', lbUrl: null, host: null } as const;
      return { db, commit: () => db.write(() => db.targets.put(target)) };
    },
  };
  for (const [name, open] of Object.entries(opened))
    it(`${name} is moved into it by no commit of its daemon, for its keeper may just have been killed`, () => {
      const path = join(home, name);
      const { db, commit } = open(path);
      const looker = openSqlite(path);
      looker.pragma('wal_autocheckpoint = 0');
      looker.exec('CREATE TABLE big(content BLOB); INSERT INTO big VALUES (zeroblob(8000000))');
      db.leaveLog();
      commit();
      const [state] = looker.pragma('wal_checkpoint(NOOP)') as { log: number; checkpointed: number }[];
      assert.ok(state !== undefined && state.log > 1500, `${state?.log} pages`);
      assert.equal(state.checkpointed, 0);
      looker.close();
      db.close();
    });
});
