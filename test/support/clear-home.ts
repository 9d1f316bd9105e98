/** Homes of lccclear that are removed when the tests are over, and what is in their queue. */
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClearDatabase } from '../../src/db/clear/database.js';
import { COMMAND_BUSY_MS } from '../../src/db/clear/open.js';
import { railOf } from '../db/clear/support.js';
import { runCommand } from './command.js';
import { atEnd } from './at-end.js';

const homes: string[] = [];
atEnd(() => {
  for (const home of homes) rmSync(home, { recursive: true, force: true });
});

let template: string | undefined;

/** A home with target `www`, whose articles are at /news/ID.html, and group `all` with it. */
export function newHome(toml = ''): string {
  const home = mkdtempSync(join(tmpdir(), 'lcc-clear-'));
  homes.push(home);
  cpSync((template ??= newTemplate()), home, { recursive: true });
  writeFileSync(join(home, 'lcc.toml'), toml);
  return home;
}

function newTemplate(): string {
  const home = mkdtempSync(join(tmpdir(), 'lcc-clear-'));
  homes.push(home);
  for (const args of [
    ['target', 'add', 'www'],
    ['target', 'group', 'all', 'www'],
    ['map', 'add', 'www', '--type=@url', '--path=/'],
    ['map', 'add', 'www', '--type=article', '--path=/news/', '--extension=.html'],
  ])
    assert.equal(runCommand(home, 'lccrail', args).status, 0, args.join(' '));
  inDb(home, db => db.rails.add(railOf('r1', 'www', { url: 'http://127.0.0.1:1/' }), Date.now()));
  return home;
}

export function inDb<T>(home: string, look: (db: ClearDatabase) => T): T {
  const db = ClearDatabase.open(join(home, 'clear/clear.db'), COMMAND_BUSY_MS);
  try {
    return look(db);
  } finally {
    db.close();
  }
}

export function queued(home: string): string[] {
  return inDb(home, db =>
    db.queue
      .after(0, 100_000)
      .map(row => `${row.contentId} ${row.contentType} ${row.target}${row.force === 1 ? ' forced' : ''}`),
  );
}
