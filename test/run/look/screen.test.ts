import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fitScreen } from '../../../src/run/look/screen.js';

test('a text that fits a terminal is shown whole, without the newline that would scroll its first line away', () => {
  assert.equal(fitScreen('one\n\ntwo\n', 80, 3), 'one\n\ntwo');
  assert.equal(fitScreen('', 80, 24), '');
});

test('of one that does not its beginning is, long lines counted with the rows they take', () => {
  assert.equal(fitScreen('one\ntwo\nthree\nfour\n', 80, 3), 'one\ntwo\n(2 lines more)');
  assert.equal(
    fitScreen(`one\n${'x'.repeat(41)}\nthree\nfour\n`, 20, 5),
    `one\n${'x'.repeat(41)}\n(2 lines more)`,
  );
  assert.equal(fitScreen(`one\n${'x'.repeat(41)}\nthree\nfour\n`, 20, 4), 'one\n(3 lines more)');
  assert.equal(fitScreen(`${'x'.repeat(400)}\n`, 20, 4), '(1 line more)');
  assert.equal(fitScreen('one\ntwo\n', 5, 1), '(2 li');
});
