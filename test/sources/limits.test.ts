import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { SOURCE_LIMITS } from '../../src/sources/limits.js';

describe('limits of lists', () => {
  it('are in the manual of sitemap2url, each as messages name it', () => {
    const manual = readFileSync('man/sitemap2url.1', 'utf8');
    for (const [name, { text }] of Object.entries(SOURCE_LIMITS))
      assert.match(manual, new RegExp(`\\b${text}\\b`), name);
  });
});
