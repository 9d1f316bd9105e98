/** An LCC of a later release: this one, with one more step of the schema of lcc.db, in a folder of its own. */
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './tree.js';

/** Every row is written once more, and found by another index; it takes a second or two, as with many rows. */
const STEP = `
CREATE TABLE counted AS WITH RECURSIVE
  n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000000) SELECT count(*) AS rows FROM n;
CREATE TABLE upgraded(pid INTEGER PRIMARY KEY) STRICT;
ALTER TABLE lccurl ADD COLUMN upgraded INTEGER NOT NULL DEFAULT 0;
UPDATE lccurl SET upgraded = 1;
CREATE INDEX lccurl_upgraded ON lccurl(upgraded, pid);
INSERT INTO upgraded SELECT pid FROM pidb;
`;
/** As they stand in every program that knows lcc.db. */
const STEPS = /\bvar STEPS=\[\s*LCC_SCHEMA,[^\]]*(?=\])/;

/** Makes it. @returns the number of its schema's programs */
export function makeNewerLcc(tree: string): number {
  const programs = join(tree, 'dist/bin');
  mkdirSync(programs, { recursive: true });
  for (const part of ['bin', 'dist/bin', 'package.json'])
    cpSync(join(ROOT, part), join(tree, part), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(tree, 'node_modules'));
  let changed = 0;
  for (const name of readdirSync(programs)) {
    const path = join(programs, name);
    if (name.includes('.cjs.')) rmSync(path);
    if (!name.endsWith('.cjs')) continue;
    const text = readFileSync(path, 'latin1');
    const more = text.replace(STEPS, steps => `${steps},${JSON.stringify(STEP)}`);
    if (more === text) continue;
    changed++;
    writeFileSync(path, more, 'latin1');
  }
  return changed;
}
