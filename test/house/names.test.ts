/** One name, one thing: what is exported as a type or a class, and every class, has its name alone. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { projectFiles, readProjectFile } from '../support/tree.js';

/** Names that may stand for several things, each with its reason. None is needed now. */
const SHARED: ReadonlySet<string> = new Set();

const DECLARED = /^(export )?(?:default )?(?:declare )?(?:abstract )?(class|interface|type|enum) (\w+)\b/gm;

/** Where each such name is declared, `file` once for each declaration. */
function declarations(): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const path of projectFiles('src').filter(file => file.endsWith('.ts')))
    for (const [, exported, kind, name = ''] of readProjectFile(path).matchAll(DECLARED))
      if (exported !== undefined || kind === 'class') found.set(name, [...(found.get(name) ?? []), path]);
  return found;
}

test('classes and exported types have names of their own: rename the one that is known to fewer files', () => {
  const all = declarations();
  assert.ok(all.size > 400 && all.has('Dispatcher'), 'they are found');
  const shared = [...all].filter(([name, files]) => files.length > 1 && !SHARED.has(name));
  assert.deepEqual(
    shared.map(([name, files]) => `${name}: ${files.join(', ')}`),
    [],
  );
});
