import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  accessSync,
  constants,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Command } from 'commander';
import { addHelp, COMMON_OPTIONS } from '../../src/commands/common-options.js';
import type { CommandSpec } from '../../src/commands/run.js';
import { EXIT } from '../../src/lib/errors.js';
import { VERSION } from '../../src/commands/version.js';
import { listedOptions, manPages, pageOf, references } from '../support/mdoc.js';
import { commandNames, projectFiles, readProjectFile, ROOT } from '../support/tree.js';

const names = commandNames();

async function specOf(name: string): Promise<CommandSpec> {
  return ((await import(`../../src/commands/${name}.js`)) as { command: CommandSpec }).command;
}

/** `-0, --null` → `-0`, `--null`; `--cursor [FILE]` → `--cursor`. */
function flagsOf(row: { flags: string }): string[] {
  return row.flags.split(/[ ,|]+/).filter(word => word.startsWith('-'));
}

test('there are commands, and each knows its own name', async () => {
  assert.ok(names.length > 0);
  for (const name of names) assert.equal((await specOf(name)).name, name);
});

test('every command has its launcher, every launcher its command', () => {
  const launchers = projectFiles('bin').filter(path => !/\.(json|cjs)$/.test(path));
  assert.deepEqual(
    launchers,
    names.map(name => `bin/${name}`),
  );
  for (const path of launchers) {
    accessSync(join(ROOT, path), constants.X_OK);
    const name = path.slice('bin/'.length);
    assert.equal(
      readFileSync(join(ROOT, path), 'utf8'),
      `#!/usr/bin/env node
try { require('../dist/bin/${name}.cjs'); } catch (error) { notLoaded(error); }
function notLoaded(error) {
  try { require.resolve('./not-built.cjs'); } catch {
    process.stderr.write('${name}: a copy, without what lies beside the original; link to that: ln -s\\n');
    process.exit(78);
  }
  require('./not-built.cjs')('${name}', error);
}
`,
      `${path} does more than load its command`,
    );
  }
});

test('a daemon that is told to read its files again before it listens to that goes on: it has not read them', () => {
  const dir = mkdtempSync(join(tmpdir(), 'lcc-early-'));
  const hook = join(dir, 'hook.cjs');
  // Told when the command begins to be loaded: its first package.
  writeFileSync(
    hook,
    `const Module = require('node:module'); const load = Module._load;
     Module._load = (name, ...rest) => {
       if (name === 'node:fs') process.kill(process.pid, 'SIGHUP');
       return load(name, ...rest);
     };`,
  );
  for (const name of names.filter(each => each.startsWith('lccd'))) {
    const { status, signal } = spawnSync(process.execPath, [
      '-r',
      hook,
      join(ROOT, 'bin', name),
      '--version',
    ]);
    assert.deepEqual([status, signal], [0, null], name);
  }
  rmSync(dir, { recursive: true });
});

test('a copied launcher says on one line that it is one', () => {
  const dir = mkdtempSync(join(tmpdir(), 'copied-'));
  // All of them are alike.
  const [name = ''] = names;
  cpSync(join(ROOT, 'bin', name), join(dir, name));
  const { status, stderr } = spawnSync(join(dir, name), ['--version'], { encoding: 'utf8' });
  assert.equal(status, 78);
  assert.equal(stderr, `${name}: a copy, without what lies beside the original; link to that: ln -s\n`);
  rmSync(dir, { recursive: true });
});

test('before the first build a launcher says on one line what to do', () => {
  const clone = realpathSync(mkdtempSync(join(tmpdir(), 'lcc-clone-')));
  cpSync(join(ROOT, 'bin'), join(clone, 'bin'), { recursive: true });
  const { status, stderr } = spawnSync(join(clone, 'bin/lccq'), ['--help'], { encoding: 'utf8' });
  assert.equal(stderr, `lccq: not built yet; run npm ci && npm run build in ${clone}\n`);
  assert.equal(status, EXIT.config);
  mkdirSync(join(clone, 'dist/bin'), { recursive: true });
  writeFileSync(join(clone, 'dist/bin/lccq.cjs'), `throw new Error('a fault of the command');\n`);
  assert.match(
    spawnSync(join(clone, 'bin/lccq'), { encoding: 'utf8' }).stderr,
    /Error: a fault of the command/,
    'what else goes wrong is not taken for a missing build',
  );
  rmSync(clone, { recursive: true });
});

test('package.json installs every command', () => {
  const { bin } = JSON.parse(readProjectFile('package.json')) as { bin: Record<string, string> };
  assert.deepEqual(bin, Object.fromEntries(names.map(name => [name, `bin/${name}`])));
});

test('package.json installs every page of the manual, where man(1) finds it', () => {
  const { man } = JSON.parse(readProjectFile('package.json')) as { man: string[] };
  assert.deepEqual(man.toSorted(), projectFiles('man').toSorted());
});

test('every command has a man page', () => {
  assert.deepEqual(
    names.filter(name => pageOf(name) === undefined),
    [],
  );
});

test('--help of every command ends with the manual, under the name of its file', async () => {
  for (const name of names) {
    let said = '';
    const program = addHelp(new Command(name), await specOf(name));
    program.configureOutput({ writeOut: text => void (said += text) }).outputHelp();
    assert.equal(
      said.trimEnd().split('\n').at(-1),
      `The manual: man ${name} (in a clone: man -l ${pageOf(name)?.path})`,
    );
  }
});

test('every command is named in the README or in docs/', () => {
  const text = ['README.md', ...projectFiles('docs')].map(readProjectFile).join('\n');
  assert.deepEqual(
    names.filter(name => !new RegExp(`\\b${name}\\b(?!-)`).test(text)),
    [],
  );
});

test('every command has its test', () => {
  const tests = new Set(projectFiles('test/commands'));
  assert.deepEqual(
    names.filter(name => !tests.has(`test/commands/${name}.test.ts`)),
    [],
  );
});

test('option tables and man pages agree, both ways', async () => {
  const common = COMMON_OPTIONS.flatMap(flagsOf);
  // Every command has these from the runner; lcc(7) explains them, a page may.
  const free = new Set(['-h', '--help', '--version']);
  const differences: string[] = [];
  for (const name of names) {
    const page = pageOf(name);
    if (page === undefined) continue;
    const listed = new Set(listedOptions(page));
    const known = new Set([...(await specOf(name)).options.flatMap(flagsOf), ...common]);
    for (const flag of known) if (!listed.has(flag)) differences.push(`${page.path} does not list ${flag}`);
    for (const flag of listed)
      if (!known.has(flag) && !free.has(flag))
        differences.push(`${name} has no ${flag}, which ${page.path} lists`);
  }
  assert.deepEqual(differences, []);
});

test('lcc(7) explains the options every command has', () => {
  const page = manPages().find(each => each.title === 'lcc(7)');
  assert.ok(page);
  assert.deepEqual(
    listedOptions(page).sort(),
    [...COMMON_OPTIONS.flatMap(flagsOf), '-h', '--help', '--version'].sort(),
  );
});

test('every man page of a command says how it ends and shows it at work', () => {
  const missing: string[] = [];
  for (const name of names) {
    const page = pageOf(name);
    for (const section of ['EXIT STATUS', 'EXAMPLES'])
      if (page !== undefined && !page.lines.includes(`.Sh ${section}`))
        missing.push(`${page.path}: ${section}`);
  }
  assert.deepEqual(missing, []);
});

test('man pages refer only to pages of ours that exist', () => {
  const pages = manPages();
  const titles = new Set(pages.map(page => page.title));
  const dangling = pages.flatMap(page =>
    references(page)
      .filter(title => /^(lcc|file2url)/.test(title) && !titles.has(title))
      .map(title => `${page.path} refers to ${title}`),
  );
  assert.deepEqual(dangling, []);
});

test('the version is the one of package.json', () => {
  assert.equal(VERSION, (JSON.parse(readProjectFile('package.json')) as { version: string }).version);
  assert.match(readProjectFile('CHANGELOG.md'), new RegExp(`^## .*${VERSION.replaceAll('.', '\\.')}`, 'm'));
});
