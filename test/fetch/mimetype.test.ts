import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { contradicts } from '../../src/fetch/announced.js';

const SAME: [announced: string, served: string][] = [
  ['text/html', 'text/html'],
  ['application/gzip', 'application/octet-stream'],
  ['application/octet-stream', 'image/png'],
  ['text/javascript', 'application/javascript'],
  ['application/gzip', 'application/x-gzip'],
  ['application/rss+xml', 'text/xml'],
  ['application/xml', 'text/xml'],
  ['application/ld+json', 'application/json'],
  ['image/vnd.microsoft.icon', 'image/x-icon'],
  ['font/woff2', 'application/font-woff2'],
  ['text/markdown', 'text/plain'],
  ['application/json', 'text/plain'],
];
const DIFFERENT: [announced: string, served: string][] = [
  ['application/pdf', 'text/html'],
  ['text/html', 'text/plain'],
  ['text/html', 'application/xhtml+xml'],
  ['text/plain', 'text/html'],
  ['image/png', 'image/jpeg'],
  ['image/svg+xml', 'text/xml'],
  ['application/pdf', 'text/plain'],
];

describe('a served mimetype', () => {
  for (const [announced, served] of SAME) {
    it(`${served} does not contradict ${announced}`, () =>
      assert.equal(contradicts(announced, served), false));
  }
  for (const [announced, served] of DIFFERENT) {
    it(`${served} contradicts ${announced}`, () => assert.equal(contradicts(announced, served), true));
  }
});
