import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isHttp, parseUrl, targetOf, targetOfUrl } from '../../src/fetch/target.js';

const ORIGINS = [
  'http://plain.example',
  'https://plain.example',
  'http://127.0.0.1:8080',
  'http://[2001:db8::1]',
];
const BEFORE = [
  'http://plain.example.evil',
  'http://plain.example@evil',
  'HTTP://plain.example',
  'http://Plain.example',
];
const PORTS = [
  'http://plain.example:80',
  'http://plain.example:',
  'https://plain.example:443',
  'http://0x7f.1:8080',
];
const REST = [
  '',
  '/',
  '//',
  '/a/b.html',
  '/a/b.html?c=d&e=/f?g',
  '/a#b',
  '/a?b#c',
  '/a?',
  '/a?#b',
  '?',
  '/a??',
  '/a/../b',
  '/a/./b',
  '/a/..',
  '/.well-known/x',
  '/a/.b',
  '/a?b=/../c',
  '/%2e%2e/b',
  '/a/%2E/b',
  '/%41',
  '/a b',
  '/a\tb',
  '/a\n',
  ' /a',
  '/a ',
  '/a\\b',
  '\\a',
  '/ä',
  '/a?ä',
  '/a?b\'c"d<e>',
  '/a"b<c>`{d}|^',
  '/a;b:c@d!$&()*+,=~_-',
  '?a',
  '#a',
  '@evil.example/',
  ':8080/a',
];

describe('the target of a url', () => {
  it('is what the parser of urls says, whether its origin was met before or not', () => {
    for (let round = 0; round < 2; round++) {
      for (const origin of [...ORIGINS, ...BEFORE, ...PORTS]) {
        for (const rest of REST) {
          const text = origin + rest;
          const url = parseUrl(text);
          const expected = url === undefined || !isHttp(url) ? undefined : targetOfUrl(url);
          assert.deepEqual(targetOf(text), expected, JSON.stringify(text));
        }
      }
    }
  });

  it('is what the parser says for every character anywhere in a path or a query', () => {
    assert.ok(targetOf('http://plain.example/'));
    for (let code = 0; code < 0x180; code++) {
      const character = String.fromCharCode(code);
      for (const rest of [`/${character}`, `/a${character}b`, `/a?${character}`, `/a?b${character}c`]) {
        const text = `http://plain.example${rest}`;
        assert.deepEqual(targetOf(text), targetOfUrl(new URL(text)), JSON.stringify(text));
      }
    }
  });

  it('is asked for as it is written, also a question mark that nothing follows', () => {
    for (let round = 0; round < 2; round++) {
      for (const [rest, path] of [
        ['', '/'],
        ['?', '/?'],
        ['/x?', '/x?'],
        ['/x?#a?b', '/x?'],
        ['/x#a/b?', '/x'],
        ['/x?a=http://b/c#d', '/x?a=http://b/c'],
      ]) {
        assert.equal(targetOf(`http://plain.example${rest}`)?.path, path, rest);
        assert.equal(targetOf(`https://user:secret@plain.example:8443${rest}`)?.path, path, rest);
      }
    }
  });

  it('does not exist for what is no http url', () => {
    for (const text of ['', 'page.html', '/', 'ftp://plain.example/a', 'http://', 'file:///etc/passwd'])
      assert.equal(targetOf(text), undefined, text);
  });
});
