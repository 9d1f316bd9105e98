import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { factsOf, nameOf, planFind, printedBy, runFind } from '../../src/cp/find.js';
import { statFile } from '../../src/cp/read-file.js';
import { LccError } from '../../src/lib/errors.js';

const dir = mkdtempSync(join(tmpdir(), 'find-'));
after(() => rmSync(dir, { recursive: true }));

test('makes find print with NUL what the whole expression finds', () => {
  const cases: [string, string][] = [
    ['', '-print0'],
    ['docroot', 'docroot -print0'],
    ['docroot -name *.html', 'docroot ( -name *.html ) -print0'],
    ['a b -name x -o -name y', 'a b ( -name x -o -name y ) -print0'],
    ['-L -O3 -D tree a ! -name x', '-L -O3 -D tree a ( ! -name x ) -print0'],
    ['a ( -name x )', 'a ( ( -name x ) ) -print0'],
    ['a -name x -print', 'a -name x -print0'],
    ['a -name x -print0 -o -name y -print', 'a -name x -print0 -o -name y -print0'],
    ['a -exec grep -q x {} ; -print', 'a -exec grep -q x {} ; -print0'],
    ['a -exec touch {} ; -print', 'a -exec touch {} ; -print0'],
  ];
  for (const [given, expected] of cases)
    assert.equal(planFind(given.split(' ').filter(Boolean), 'names').words.join(' '), expected);
});

test('asks for facts where names would be printed, and only there', () => {
  const facts = '-printf %y %s %T@ %p\\0';
  const cases: [string, string][] = [
    ['a b -name x -o -name y', `a b -ignore_readdir_race ( -name x -o -name y ) ${facts}`],
    ['-L a -name x -print', `-L a -ignore_readdir_race -name x ${facts}`],
    ['', `-ignore_readdir_race ${facts}`],
    ['a -exec touch {} ; -print', `a -ignore_readdir_race -exec touch {} ; ${facts}`],
  ];
  for (const [given, expected] of cases) {
    const plan = planFind(given.split(' ').filter(Boolean), 'facts');
    assert.equal(plan.words.join(' '), expected);
    assert.equal(plan.prints, 'facts');
    assert.equal(plan.runsOthers, given.includes('-exec'));
  }
});

test('find reports of a file the same as stat; links and times before 1970 are left to stat', async () => {
  const tree = join(dir, 'tree');
  mkdirSync(join(tree, 'sub'), { recursive: true });
  const plain = ['a', 'with  two spaces', 'line\nbreak', 'f 1 2.3 x'].map(name => join(tree, name));
  for (const [i, name] of plain.entries()) {
    writeFileSync(name, 'x'.repeat(i));
    utimesSync(name, 1_700_000_000 + i, 1_700_000_000.75 + i);
  }
  const old = join(tree, 'old');
  writeFileSync(old, '');
  utimesSync(old, new Date(-1500), new Date(-1500));
  const link = join(tree, 'link');
  symlinkSync('a', link);

  let printed = '';
  await runFind(planFind([tree], 'facts').words, 2, chunk => (printed += chunk.toString('latin1')));
  const found = new Map(printed.split('\0').map(entry => [nameOf(entry), factsOf(entry)]));
  for (const name of plain) {
    const facts = statFile(name);
    assert.ok(typeof facts === 'object' && 'mtimeMs' in facts);
    assert.deepEqual(found.get(name), { ...facts, mtimeMs: Math.floor(facts.mtimeMs / 1000) * 1000 });
  }
  assert.deepEqual(
    [old, link, join(tree, 'sub')].map(name => found.get(name)),
    [undefined, undefined, 'other'],
  );
});

test('a file that goes between its name and its facts is left out, and find does not fail', async () => {
  const tree = join(dir, 'going');
  mkdirSync(tree);
  for (const name of ['a', 'b']) writeFileSync(join(tree, name), '');
  let printed = '';
  const given = [tree, '-type', 'f', '-exec', 'sh', '-c', 'rm "$0"', '{}', ';', '-print'];
  await runFind(planFind(given, 'facts').words, 2, chunk => (printed += chunk.toString('latin1')));
  assert.equal(printed, '');
});

test('a find that is part of another program is asked for names only', () => {
  const bin = join(dir, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'busybox'), '');
  chmodSync(join(bin, 'busybox'), 0o755);
  symlinkSync('busybox', join(bin, 'find'));
  assert.equal(printedBy(`${dir}/nowhere:${bin}:${process.env['PATH']}`), 'names');
  assert.equal(printedBy(`${dir}/nowhere`), 'names');
});

test('refuses an action that prints something other than names', () => {
  for (const action of ['-printf', '-ls'])
    assert.throws(() => planFind(['.', action, '%p'], 'facts'), {
      code: 'usage',
      message: /does not print names/,
    });
});

test('refuses an action that prints no names, where none follows that does', () => {
  for (const action of ['-exec', '-execdir', '-fprint'])
    assert.throws(() => planFind(['.', action, 'x'], 'facts'), {
      code: 'usage',
      message: `--find: with ${action} find prints no names; add -print at the end`,
    });
});

test('refuses to have files removed that are to be described', () => {
  for (const given of [
    ['.', '-delete'],
    ['.', '-name', 'x', '-print', '-delete'],
  ])
    assert.throws(() => planFind(given, 'facts'), { code: 'usage', message: /-delete would remove/ });
});

test('the failure of find is ours', async () => {
  const chunks: Buffer[] = [];
  await assert.rejects(
    runFind(['/nonexistent-directory'], 2, chunk => chunks.push(chunk)),
    (e: unknown) => e instanceof LccError && e.code === 'io' && /find ended with status 1/.test(e.message),
  );
});
