import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { generatePassword, hashPassword, passwordMatches } from '../../src/lib/password.js';

describe('a password', () => {
  it('has 160 bits and is safe on a command line and in XML', () => {
    const passwords = Array.from({ length: 300 }, generatePassword);
    for (const password of passwords) assert.match(password, /^[A-Za-z0-9_][A-Za-z0-9_-]{26}$/);
    assert.equal(new Set(passwords).size, passwords.length);
  });

  it('matches what was stored of it and nothing else', () => {
    const password = generatePassword();
    const stored = hashPassword(password);
    assert.equal(passwordMatches(password, stored), true);
    assert.equal(passwordMatches(`${password} `, stored), false);
    assert.equal(passwordMatches('', stored), false);
    assert.notEqual(hashPassword(password), stored, 'the salt is fresh');
    assert.doesNotMatch(stored, new RegExp(password));
  });

  it('matches nobody', () => {
    assert.equal(passwordMatches('', undefined), false);
    assert.equal(passwordMatches('x', 'plain'), false);
    assert.equal(passwordMatches('', `sha256:${'0'.repeat(32)}:${'0'.repeat(64)}`), false);
  });
});
