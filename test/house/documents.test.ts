import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { projectFiles, readProjectFile, ROOT } from '../support/tree.js';

const documents = projectFiles().filter(path => path.endsWith('.md'));
const text = (path: string) => readProjectFile(path).replace(/^(```|~~~)[\s\S]*?^\1/gm, '');

/** The anchor a heading gets where Markdown is shown. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[`*]/g, '')
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .trim()
    .replaceAll(' ', '-');
}

test('every link in a document leads to a file of ours, every anchor to a heading', () => {
  const broken: string[] = [];
  let checked = 0;
  for (const path of documents) {
    for (const [, link = ''] of text(path).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(link)) continue;
      checked++;
      const [file = '', anchor] = link.split('#');
      const target = file === '' ? path : join(dirname(path), file);
      if (!existsSync(join(ROOT, target))) broken.push(`${path}: ${link}`);
      else if (anchor !== undefined) {
        const anchors = [...text(target).matchAll(/^#+ (.*)$/gm)].map(m => anchorOf(m[1] ?? ''));
        if (!anchors.includes(anchor)) broken.push(`${path}: ${link}: no such heading`);
      }
    }
  }
  assert.ok(checked > 0);
  assert.deepEqual(broken, []);
});

test('README.md is a page: what it is, what it prints, and where to read on', () => {
  assert.ok(readProjectFile('README.md').split('\n').length <= 151);
});

test('every page of the guide is reached from README.md', () => {
  const text = readProjectFile('README.md');
  const pages = projectFiles('docs/guide');
  assert.ok(pages.length > 5);
  assert.deepEqual(
    pages.filter(path => !text.includes(`](${path}`)),
    [],
  );
});

test('every source file and room that a document names exists', () => {
  const missing: string[] = [];
  for (const path of documents.filter(each => each !== 'CHANGELOG.md')) {
    for (const [, name = ''] of text(path).matchAll(/`((?:[\w.-]+\/)+(?:[\w.-]+\.(?:ts|mjs|md|sql))?)`/g)) {
      // Rooms and files may be named from the root or, as the floors do, from src/; spool and store are an LCC's own.
      const [room = ''] = name.split('/');
      if (/\bNAME\b/.test(name)) continue;
      if (!existsSync(join(ROOT, room)) && !existsSync(join(ROOT, 'src', room))) continue;
      if (!existsSync(join(ROOT, name)) && !existsSync(join(ROOT, 'src', name)))
        missing.push(`${path}: ${name}`);
    }
  }
  assert.deepEqual(missing, []);
});

test('every file that a comment of the sources names, or a document by its name alone, exists', () => {
  const known = new Set(projectFiles().map(path => path.split('/').at(-1)));
  const named = (path: string, pattern: RegExp) =>
    [...readProjectFile(path).matchAll(pattern)].flatMap(([, name = '']) =>
      known.has(name) ? [] : [`${path}: ${name}`],
    );
  const missing = [
    ...projectFiles('src').flatMap(path =>
      named(path, /^ *(?:\/?\*|\/\/).*?(?<![\w./-])([\w-]+\.(?:ts|md))\b/gm),
    ),
    ...documents
      .filter(path => path !== 'CHANGELOG.md')
      .flatMap(path => named(path, /`([\w-]+\.(?:ts|mjs))`/g)),
  ];
  assert.deepEqual(missing, []);
});

test('every document that the sources refer to exists, and every design page is referred to', () => {
  const mentions = [
    ...projectFiles('src'),
    ...projectFiles('scripts'),
    ...projectFiles('bench'),
    ...documents,
  ].flatMap(path =>
    [...readProjectFile(path).matchAll(/\bdocs\/[\w./-]+\.md\b|\bdesign\/[\w-]+\.md\b/g)].map(m => m[0]),
  );
  const named = new Set(mentions.map(name => (name.startsWith('docs/') ? name : `docs/${name}`)));
  assert.deepEqual(
    [...named].filter(name => !existsSync(join(ROOT, name))),
    [],
  );
  assert.deepEqual(
    projectFiles('docs/design').filter(name => !named.has(name)),
    [],
  );
});

/** Names of the durable steps in src/. A spool's own are `${steps}.synced`, with the prefix that its owner gives. */
function stepsInCode(): string[] {
  const code = projectFiles('src')
    .filter(path => path.endsWith('.ts') && path !== 'src/lib/steps.ts')
    .map(readProjectFile)
    .join('\n');
  const literal = [...code.matchAll(/\bstep\(\s*'([^']+)'\s*\)/g)].map(m => m[1] ?? '');
  const prefixes = [...code.matchAll(/\bsteps: '([\w.]+)'/g)].map(m => m[1] ?? '');
  const composed = [...code.matchAll(/\bstep\(\s*`\$\{[^}]+\}\.([\w.-]+)`\s*\)/g)].map(m => m[1] ?? '');
  return [
    ...new Set([...literal, ...prefixes.flatMap(prefix => composed.map(name => `${prefix}.${name}`))]),
  ].sort();
}

function stepsInTable(): string[] {
  const pages = ['durability', 'keeping'].map(name => readProjectFile(`docs/design/${name}.md`)).join('\n');
  return [...pages.matchAll(/^\| `([\w.-]+)` \|/gm)].map(m => m[1] ?? '').sort();
}

test('every durable step of the code is in a table of docs/design/durability.md or keeping.md, and no other', () => {
  const code = projectFiles('src')
    .filter(path => path.endsWith('.ts') && path !== 'src/lib/steps.ts')
    .map(readProjectFile)
    .join('\n');
  // Every call is of one of the two forms that stepsInCode reads.
  assert.doesNotMatch(code, /(?<![.#\w])step\(\s*(?!'[^']+'\s*\)|`\$\{[^}]+\}\.[\w.-]+`\s*\))/);
  assert.deepEqual(stepsInTable(), stepsInCode());
});

test('at every durable step some test kills a process', () => {
  const crashTests = projectFiles('test')
    .filter(path => path.endsWith('.test.ts'))
    .map(readProjectFile)
    .filter(text => /LCC_CRASH_AT|killAt|lifeWithKill|leavesTheSame|survivesKillsAt|new Pair\(/.test(text))
    .join('\n');
  const spared = stepsInTable().filter(name => !new RegExp(`'${name}(:\\d+)?'`).test(crashTests));
  assert.deepEqual(spared, []);
});

test('every durable step is killed at, or its order asserted, by some test', () => {
  const tests = projectFiles('test')
    .filter(path => path !== 'test/house/documents.test.ts')
    .map(readProjectFile)
    .join('\n');
  assert.deepEqual(
    stepsInTable().filter(name => !new RegExp(`\\b${name.replaceAll('.', '\\.')}\\b`).test(tests)),
    [],
  );
});

test('no path of the machine it was made on and no registry stands in the tree', () => {
  // One letter of each in brackets, for this file is part of the tree.
  const machine =
    /(?<![\w.-])(?:\/wor[k]\/|\/far[m]\/|\/roo[t]\/|\/tmp\/(?:bash_jobs|agent[s]))|registr[y]\.npmjs|deb\.debia[n]/;
  const found: string[] = [];
  for (const path of projectFiles()) {
    if (path === 'package-lock.json' || statSync(join(ROOT, path)).size > 1 << 20) continue;
    readProjectFile(path)
      .split('\n')
      .forEach((line, index) => {
        if (machine.test(line)) found.push(`${path}:${index + 1}: ${line.trim().slice(0, 100)}`);
      });
  }
  assert.deepEqual(found, []);
});

test('shell scripts of the project are well-formed and can be run', () => {
  const scripts = ['.ci/run', '.ci/long', ...projectFiles('scripts').filter(path => path.endsWith('.sh'))];
  for (const path of scripts) {
    assert.ok((statSync(join(ROOT, path)).mode & 0o111) !== 0, `${path} is not executable`);
    assert.equal(spawnSync('bash', ['-n', join(ROOT, path)]).status, 0, path);
  }
});

test('the reference of the library is what its docstrings say', () => {
  const made = spawnSync(process.execPath, [join(ROOT, 'scripts/api.mjs')], { encoding: 'utf8' });
  assert.equal(made.status, 0, made.stderr);
  assert.equal(readProjectFile('docs/api.md'), made.stdout, 'run npm run docs');
});
