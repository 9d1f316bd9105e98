import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  isBelow,
  pathOfContentId,
  problemOfPage,
  problemOfUrl,
  spellingsOf,
} from '../../src/clear/page-url.js';
import { amount } from '../support/long.js';

const isRefused = (id: string, utf8 = false) => 'problem' in pathOfContentId(id, utf8);

describe('the path of a page', () => {
  it('is refused where some server reads dots in it, however they are written', () => {
    for (const url of [
      '/%c0%ae/x',
      '/a/%c0%ae%c0%ae/x',
      '/%E0%80%AE%E0%80%AE/x',
      '/a/..;x/b',
      '/a/%ef%bc%8e%ef%bc%8e/b',
    ])
      assert.notEqual(problemOfUrl(url), undefined, url);
    for (const url of ['/caf%c3%a9.html', '/a;v=1/b.html', '/%e6%97%a5.html'])
      assert.equal(problemOfUrl(url), undefined, url);
  });
});

describe('a content id', () => {
  it('is words of plain characters with slashes between', () => {
    for (const id of ['a', 'A1', '_x', 'news/2026/11/a-b_c.d~e', '0', 'a'.repeat(512)])
      assert.deepEqual(pathOfContentId(id), { part: id });
  });

  it('is refused when a path could lead elsewhere by it', () => {
    const hostile = [
      '../x',
      '%2e%2e/x',
      'x/',
      '',
      'a\0b',
      '*',
      '/a',
      'a//b',
      '.',
      '..',
      'a/../b',
      'a/./b',
      '.htaccess',
    ];
    hostile.push(
      'a/.b',
      '-rf',
      '~root',
      'a/~b',
      'a b',
      'a?b',
      'a#b',
      'a\\b',
      'a%2fb',
      'a\nb',
      'a..b',
      'é',
      'a'.repeat(513),
    );
    for (const id of hostile) assert.ok(isRefused(id), id);
  });

  it('may have letters of any script, if that is set', () => {
    assert.deepEqual(pathOfContentId('straße/été', true), { part: 'stra%C3%9Fe/%C3%A9t%C3%A9' });
    assert.ok(isRefused('straße'));
    for (const id of [
      'é/../b',
      'é/',
      '/é',
      'é//b',
      'é/.b',
      'é b',
      'é\u200eb',
      'é?',
      'é*',
      'é%41',
      'é\ud800',
      'é\u0000',
      '~é',
    ])
      assert.ok(isRefused(id, true), JSON.stringify(id));
  });
});

describe('the url of a page', () => {
  it('is a plain path that is no folder', () => {
    for (const url of ['/a', '/a/b.html', '/a%20b', `/${'a'.repeat(2047)}`, "/a!$&'()+,;=:@~"])
      assert.equal(problemOfUrl(url), undefined, url);
    const hostile = [
      '',
      'a',
      '/',
      '/a/',
      '//a',
      '/a//b',
      '/./a',
      '/../a',
      '/a/..',
      '/%2e%2e/a',
      '/.%2E/a',
      '/a/%2e',
    ];
    hostile.push(
      '/a%2fb',
      '/a%5Cb',
      '/a%00b',
      '/a%0ab',
      '/a%7f',
      '/a%',
      '/a%g1',
      '/a\\b',
      '/a?b',
      '/a#b',
      '/*',
      '/a b',
    );
    hostile.push('/a\0', '/a\r\nx', '/é', `/${'a'.repeat(2048)}`, 'http://h/a', '/a"b', '/a<b', '/a|b');
    for (const url of hostile) assert.notEqual(problemOfUrl(url), undefined, JSON.stringify(url));
  });

  it('may be that of a folder only where that is asked', () => {
    for (const url of ['/', '/a/', '/a/b/', '/a']) assert.equal(problemOfPage(url), undefined, url);
    for (const url of ['', '//', '/a//', '/../', '/a/./', '/%2e%2e/', '/a/?', '/*/', 'a/', '/a%2f/'])
      assert.notEqual(problemOfPage(url), undefined, url);
  });

  it('is, where it passes, what any parser takes it for', () => {
    const piece = fc.constantFrom(
      'a',
      '.',
      '..',
      '/',
      '%2e',
      '%2f',
      '%',
      '\\',
      '?',
      '#',
      '%00',
      ' ',
      'é',
      '*',
      '~',
      '%41',
      ':',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), pieces => {
        const url = `/${pieces.join('')}`;
        if (problemOfUrl(url) !== undefined) return;
        const parsed = new URL(url, 'http://rail.example');
        assert.deepEqual(
          [parsed.host, parsed.pathname, parsed.search, parsed.hash],
          ['rail.example', url, '', ''],
        );
        const decoded = url
          .replace(/%(..)/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)))
          .split('/')
          .slice(1);
        assert.ok(decoded.every(segment => segment !== '' && segment !== '.' && segment !== '..'));
        assert.equal(decoded.length, url.split('/').length - 1);
      }),
      { numRuns: amount(1000, 5000) },
    );
  });

  it('has few other ways to be written, none of which leads elsewhere; most paths have none', () => {
    const table: [url: string, others: string[]][] = [
      ['/t.html', []],
      ['/caf%c3%a9.html', ['/caf%C3%A9.html']],
      ['/caf%C3%A9.html', ['/caf%c3%a9.html']],
      ['/~t.html', ['/%7Et.html', '/%7et.html']],
      ['/%7Et.html', ['/~t.html', '/%7et.html']],
      ['/%7Ejoe/%C3%A9', ['/~joe/%C3%A9', '/~joe/%c3%a9', '/%7ejoe/%c3%a9']],
      ['/%41b%2Dc', ['/Ab-c']],
      ['/a%20b/', []],
      ['/a%2fb', []],
    ];
    for (const [url, others] of table) assert.deepEqual(spellingsOf(url), others, url);
  });

  it('is below a path when it begins with it and goes on', () => {
    assert.deepEqual(
      [
        isBelow('/a/b', '/a/'),
        isBelow('/a/b', '/'),
        isBelow('/a/', '/a/'),
        isBelow('/b', '/a/'),
        isBelow('/a', '/a'),
      ],
      [true, true, true, false, false],
    );
  });
});
