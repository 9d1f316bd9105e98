import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, posix } from 'node:path';
import { test } from 'node:test';
import { FLOORS } from '../support/floors.js';
import { projectFiles, readProjectFile, ROOT } from '../support/tree.js';

const MAX_LINES = 400;
const { MAY_IMPORT, CLOSED_TO } = FLOORS;
const sources = projectFiles('src').filter(path => path.endsWith('.ts'));
const roomOf = (path: string) => (path.split('/').length > 2 ? path.split('/')[1] : undefined);

/** Paths (relative to the root, .ts) that a module names in `import … from`, `export … from` and `import(…)`. */
function importsOf(path: string): string[] {
  const code = readProjectFile(path).replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
  return [...code.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*['"](\.[^'"]+)['"]/g)].map(found =>
    posix.join(posix.dirname(path), found[1] ?? '').replace(/\.js$/, '.ts'),
  );
}

test('every room of src/ has its floor, and every floor a room', () => {
  const rooms = new Set(sources.map(roomOf).filter(room => room !== undefined));
  assert.deepEqual([...rooms].sort(), Object.keys(MAY_IMPORT).sort());
});

test('no module lies deeper than the walls of the linter reach', () => {
  const deep = sources.filter(path => path.split('/').length > FLOORS.MOST_DEEP + 3);
  assert.deepEqual(deep, []);
});

test('imports point down only, and stages know nothing of each other', () => {
  const upward: string[] = [];
  for (const path of sources) {
    const room = roomOf(path);
    if (room === undefined) continue;
    for (const target of importsOf(path)) {
      const other = roomOf(target);
      const inside =
        target.startsWith('src/') && (other === room || (MAY_IMPORT[room] ?? []).includes(other ?? ''));
      if (!inside) upward.push(`${path} imports ${target}`);
    }
  }
  assert.deepEqual(upward, []);
});

test('no file imports itself through others, not even their types', () => {
  const seen = new Set<string>();
  const way: string[] = [];
  const circles: string[] = [];
  const visit = (path: string) => {
    if (way.includes(path)) circles.push([...way.slice(way.indexOf(path)), path].join(' → '));
    if (seen.has(path)) return;
    seen.add(path);
    way.push(path);
    importsOf(path)
      .filter(target => sources.includes(target))
      .forEach(visit);
    way.pop();
  };
  sources.forEach(visit);
  assert.deepEqual(circles, []);
});

test('the scan of imports sees every form there is', () => {
  assert.ok(importsOf('src/commands/run.ts').includes('src/lib/errors.ts'));
  const forms = sources.flatMap(importsOf);
  assert.ok(forms.length > sources.length, 'fewer imports than files: the scan is blind');
});

test('the walls of the linter are those of the floors: else run npm run walls', () => {
  const text = readProjectFile('.oxlintrc.json');
  assert.equal(text, FLOORS.walled(text));
});

test('what is closed to wings is what writes lcc.db', () => {
  const writing = projectFiles('src/db/cache')
    .filter(path =>
      /\b(INSERT (OR \w+ )?INTO|UPDATE \w+ SET|DELETE FROM|REPLACE INTO)\b/.test(readProjectFile(path)),
    )
    .map(path => path.replace(/^src\/(.*)\.ts$/, '$1.js'));
  assert.ok(writing.length > 0 && projectFiles('src/db/queue').length > 0);
  const closed = Object.values(CLOSED_TO).map(paths =>
    paths.filter(path => path.startsWith('db/')).toSorted(),
  );
  const wings = closed.filter(paths => paths.length > 0);
  assert.ok(wings.length > 0);
  for (const paths of wings) assert.deepEqual(paths, ['db/queue', ...writing].toSorted());
});

test('stages read no configuration: it is closed to all but commands, daemons and its own room', () => {
  const open = Object.keys(MAY_IMPORT).filter(room => CLOSED_TO[room]?.includes('config/load.js') !== true);
  assert.deepEqual(open.toSorted(), ['commands', 'config', 'daemon', 'lib']);
  const reading = sources.filter(
    path =>
      !open.includes(roomOf(path) ?? 'commands') && /\bconfig\.(?:get|section)\(/.test(readProjectFile(path)),
  );
  assert.deepEqual(reading, []);
});

test('the linter refuses exactly the imports that the floors forbid', () => {
  const root = mkdtempSync(join(tmpdir(), 'lcc-floors-'));
  try {
    copyFileSync(join(ROOT, '.oxlintrc.json'), join(root, '.oxlintrc.json'));
    symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'));
    const rooms = Object.keys(MAY_IMPORT);
    const forbidden: string[] = [];
    for (const room of rooms) {
      for (const other of rooms) {
        if (other === room) continue;
        for (let depth = 0; depth <= FLOORS.MOST_DEEP; depth++) {
          const inner = 'inner/'.repeat(depth);
          const path = `src/${room}/${inner}to-${other}.ts`;
          mkdirSync(dirname(join(root, path)), { recursive: true });
          writeFileSync(
            join(root, path),
            `export { x } from '${'../'.repeat(depth + 1)}${other}/${inner}x.js';\n`,
          );
          if (!(MAY_IMPORT[room] ?? []).includes(other)) forbidden.push(path);
        }
      }
    }
    // A folder of a room may have the name of another room: src/db/clear.
    mkdirSync(join(root, 'src/db/clear'));
    writeFileSync(join(root, 'src/db/clear/near.ts'), `export { x } from '../rs/x.js';\n`);
    writeFileSync(join(root, 'src/fsck/near.ts'), `export { x } from '../db/clear/x.js';\n`);
    const mayRead = (room: string) => MAY_IMPORT[room]?.includes('db') === true;
    for (const [room, closed] of Object.entries(CLOSED_TO))
      for (const [i, other] of [...closed, ...(mayRead(room) ? ['db/cache/read.js'] : [])].entries()) {
        const path = `src/${room}/closed-${i}.ts`;
        const target = other.endsWith('.js') ? other : `${other}/x.js`;
        writeFileSync(join(root, path), `export { x } from '../${target}';\n`);
        if (i < closed.length) forbidden.push(path);
      }
    const linted = spawnSync(
      process.execPath,
      [join(ROOT, 'node_modules/oxlint/bin/oxlint'), '-c', '.oxlintrc.json', '--format', 'json', 'src'],
      { cwd: root, encoding: 'utf8', maxBuffer: 64 << 20 },
    );
    const report = JSON.parse(linted.stdout) as { diagnostics: { code: string; filename: string }[] };
    const refused = report.diagnostics
      .filter(d => d.code.includes('no-restricted-imports'))
      .map(d => d.filename);
    assert.deepEqual([...new Set(refused)].sort(), forbidden.sort());
  } finally {
    rmSync(root, { recursive: true });
  }
});

test('no file of code or tests is longer than can be read at a sitting', () => {
  const files = ['src', 'test', 'bench']
    .flatMap(dir => projectFiles(dir))
    .filter(path => path.endsWith('.ts'));
  const long = files
    .map(path => ({ path, lines: readProjectFile(path).split('\n').length - 1 }))
    .filter(file => file.lines > MAX_LINES)
    .map(file => `${file.path}: ${file.lines} lines`);
  assert.deepEqual(long, []);
});
