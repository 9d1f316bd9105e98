/** Databases of cache clearing that go away. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClearDatabase } from '../../../src/db/clear/database.js';
import { COMMAND_BUSY_MS } from '../../../src/db/clear/open.js';
import type { RailSetup } from '../../../src/db/clear/rails.js';
import { atEnd } from '../../support/at-end.js';

const folders: string[] = [];
const opened: ClearDatabase[] = [];
atEnd(() => {
  for (const db of opened) db.close();
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

export function newHome(): string {
  const folder = mkdtempSync(join(tmpdir(), 'lcc-clear-'));
  folders.push(folder);
  return folder;
}

/** @param path of a database that is there */
export function newClearDb(path = join(newHome(), 'clear/clear.db')): ClearDatabase {
  const db = ClearDatabase.open(path, COMMAND_BUSY_MS);
  opened.push(db);
  return db;
}

export function railOf(name: string, target: string, more: Partial<RailSetup> = {}): RailSetup {
  return {
    name,
    target,
    url: `http://127.0.0.1/${name}/`,
    driver: 'apache-dav',
    tier: 0,
    workers: 4,
    host: null,
    authRef: null,
    cleanup: 'exact',
    opts: '{}',
    ...more,
  };
}

/** Makes elementary targets. */
export function addTargets(db: ClearDatabase, ...names: string[]): void {
  for (const name of names) db.targets.put({ name, kind: 'elementary', lbUrl: null, host: null });
}

/** Makes groups with their members, which must be there. */
export function addGroup(db: ClearDatabase, name: string, ...members: string[]): void {
  db.targets.put({ name, kind: 'group', lbUrl: null, host: null });
  for (const member of members) db.targets.join(name, member);
}
