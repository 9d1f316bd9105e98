import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MUTANTS, markedModules, placesOf } from '../support/marks.js';

test('every mutant finds its place by the mark in the source, in whatever file that is', () => {
  for (const mutant of MUTANTS) assert.equal(placesOf(mutant).length, mutant.edits.length);
});

test('every mark in the source has its mutant', () => {
  const names = new Set(MUTANTS.map(({ without }) => without));
  const marks = [...markedModules()].flatMap(([module, text]) =>
    [...text.matchAll(/\/\/ safeguard: (.*)/g)].map(([, name = '']) => ({ module, name })),
  );
  assert.ok(marks.length >= names.size);
  assert.deepEqual(
    marks.filter(({ name }) => !names.has(name)),
    [],
  );
});
