import assert from 'node:assert/strict';
import { test } from 'node:test';
import { resolveUrl } from '../../src/wire/urlprefix.js';

test('the prefix stands in front of every url without a scheme', () => {
  assert.equal(resolveUrl('http://h/x/', 'a.html'), 'http://h/x/a.html');
  assert.equal(resolveUrl('http://h/x/', 'https://i/a'), 'https://i/a');
  assert.equal(resolveUrl('http://h/x/', '12:30.html'), 'http://h/x/12:30.html');
});
