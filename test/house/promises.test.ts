/** docs/promises.md against the tests that it names. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { projectFiles, readProjectFile } from '../support/tree.js';

/** A line of a table: what is promised, and each `folder`: name. */
function rows(): { promise: string; tests: string[] }[] {
  const lines = readProjectFile('docs/promises.md').matchAll(/^\| (.+?) \| (.+) \|$/gm);
  return [...lines]
    .map(([, promise = '', tests = '']) => ({ promise, tests: tests.split('<br>') }))
    .filter(({ promise }) => promise !== 'promise' && promise !== '---');
}

/** Shorter ones are no names, and with a part that may be anything they would be all names. */
const LEAST_FIXED = 8;

/** Every text in quotes of a source, as what it may become: what stands in `${…}` may be anything. */
function textsOf(path: string): RegExp[] {
  const quoted = readProjectFile(path).matchAll(
    /'((?:\\.|[^'\\\n])*)'|"((?:\\.|[^"\\\n])*)"|`((?:\\.|[^`\\])*)`/g,
  );
  return [...quoted].flatMap(([, single, double, template]) => {
    const text = (single ?? double ?? template ?? '').replace(/\\(?!u)(.)/g, '$1');
    const parts = template === undefined ? [text] : text.split(/\$\{[^}]*\}/);
    if (parts.join('').length < LEAST_FIXED) return [];
    return new RegExp(`^${parts.map(part => part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('.*')}$`);
  });
}

const isTests = (path: string) => path.endsWith('.ts');

test('every test that docs/promises.md names is there', () => {
  const named = rows().flatMap(({ tests }) => tests);
  assert.ok(named.length > 100);
  const known = new Map<string, RegExp[]>();
  const missing = named.filter(one => {
    const [, folder = '', name = ''] = /^`(\w+)`: (.+)$/.exec(one) ?? [];
    if (folder === '') return true;
    const texts = known.get(folder) ?? projectFiles(`test/${folder}`).filter(isTests).flatMap(textsOf);
    known.set(folder, texts);
    return !texts.some(text => text.test(name));
  });
  assert.deepEqual(missing, []);
});

test('every promise is held by a test, and made once', () => {
  const promises = rows().map(({ promise }) => promise);
  assert.equal(new Set(promises).size, promises.length);
  assert.deepEqual(
    rows().filter(({ tests }) => tests.length === 0 || tests.includes('')),
    [],
  );
});
