import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { displayName, encodePath, encodePathForXml } from '../../src/cp/url-path.js';
import { decodePath, HOSTILE_NAMES } from '../support/hostile-names.js';

const anyName = fc
  .uint8Array({ minLength: 1, maxLength: 255 })
  .map(bytes => Buffer.from(bytes).toString('latin1'));

test('any bytes come back from their path', () => {
  fc.assert(fc.property(anyName, name => decodePath(encodePath(name)) === name));
  for (const name of HOSTILE_NAMES) assert.equal(decodePath(encodePath(name)), name);
});

test('a path holds only what RFC 3986 allows in one, and never looks as if it had a scheme', () => {
  fc.assert(
    fc.property(anyName, name => {
      const path = encodePath(name);
      assert.match(path, /^(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/]|%[0-9A-F]{2})*$/);
      assert.doesNotMatch(path, /^[^/]*:/);
      assert.equal(new URL(path.replace(/^\/+/, ''), 'http://h/').host, 'h');
    }),
  );
});

test('what is safe stays as it is, a colon behind a slash too', () => {
  const name = "a-z/A_Z/0~9/it's(1)+2,3;x=y!$*@/Talk:Main.html";
  assert.equal(encodePath(name), name);
  assert.equal(encodePath('Talk:Main:x/a:b'), 'Talk%3AMain%3Ax/a:b');
  assert.equal(encodePath('100%41 caf\xe9'), '100%2541%20caf%E9');
});

test('an attribute holds the path with its ampersands escaped', () => {
  fc.assert(
    fc.property(anyName, name => {
      assert.equal(encodePathForXml(name).replaceAll('&amp;', '&'), encodePath(name));
      assert.doesNotMatch(encodePathForXml(name), /["<>]|&(?!amp;)/);
    }),
  );
});

test('a name is shown as it is where a terminal can, else escaped', () => {
  assert.equal(displayName('caf\xc3\xa9 1.html'), 'café 1.html');
  assert.equal(displayName('caf\xe9'), 'caf%E9');
  assert.equal(displayName('a\x1b[31m\n'), 'a%1B%5B31m%0A');
});
