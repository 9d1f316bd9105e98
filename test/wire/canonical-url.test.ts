import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { canonicalUrl, isSameUrl } from '../../src/wire/canonical-url.js';
import { amount } from '../support/long.js';

const SESSION = '0123456789abcdef0123456789ABCDEF';

/** What is written, and the form it has. */
const FORMS: readonly (readonly [string, string])[] = [
  ['HTTP://Example.ORG', 'http://example.org/'],
  ['http://example.org:80/a', 'http://example.org/a'],
  ['https://example.org:443/a', 'https://example.org/a'],
  ['https://example.org:80/a', 'https://example.org:80/a'],
  ['http://example.org/a#b', 'http://example.org/a'],
  ['http://example.org/#', 'http://example.org/'],
  ['http://example.org/a?', 'http://example.org/a'],
  ['http://example.org/a?#b', 'http://example.org/a'],
  ['http://example.org/a/../b/./c', 'http://example.org/b/c'],
  ['http://example.org/a/%2e%2E/b', 'http://example.org/b'],
  ['http://example.org/%7euser/%41', 'http://example.org/~user/A'],
  ['http://example.org/%c3%a9?q=%2f', 'http://example.org/%C3%A9?q=%2F'],
  ['http://example.org/é?q=ü x', 'http://example.org/%C3%A9?q=%C3%BC%20x'],
  ['http://bücher.example/', 'http://xn--bcher-kva.example/'],
  ['http://example.org/100%', 'http://example.org/100%'],
  ['http://example.org/%2%35', 'http://example.org/%2%35'],
  ['http://example.org/%%411', 'http://example.org/%%411'],
  ['http://example.org/a?utm_source=x&utm_medium=y', 'http://example.org/a'],
  ['http://example.org/a?id=1&UTM_Campaign=x&b=2', 'http://example.org/a?id=1&b=2'],
  ['http://example.org/a?%75tm_source=x', 'http://example.org/a'],
  ['http://example.org/a?fbclid=1&gclid=2&msclkid=3&mc_cid=4&mc_eid=5&z', 'http://example.org/a?z'],
  ['http://example.org/a?xutm_source=1&gclids=2', 'http://example.org/a?xutm_source=1&gclids=2'],
];

/** These stay as they are: some server may have another page there. */
const APART = [
  'http://example.org/A',
  'http://example.org/a/',
  'http://example.org/a//b',
  'http://example.org/index.html',
  'http://example.org/a?b=1&a=2',
  'http://example.org/a?a=1&&b=2',
  'http://example.org/a?a',
  'http://example.org/a?a=',
  'http://example.org/a;v=1',
  'http://example.org/a?sid=12',
  'http://example.org/a?sid=k2o5m1p9v5c8r4t6b1u0a3s5d7',
  `http://example.org/a?PHPSESSID=${SESSION.slice(0, 21)}`,
  `http://example.org/a?PHPSESSID=${'a'.repeat(257)}`,
  `http://example.org/a?PHPSESSIDS=${SESSION}`,
  `http://example.org/a?PHPSESSID=${SESSION}/b`,
  'http://example.org/a?ASPSESSIONIDQQ=LCBGHHKAMJCKEKCHNCLDBFO1',
  'http://example.org/a?ASPSESSIONIDQQ=LCBGHHKAMJCKEKCHNCLDBF',
  'http://example.org/a?a=%26utm_source',
  'http://www.example.org/a',
];

/** What is written, by what it is known, and what is asked for. */
const WITH_SESSION: readonly (readonly [string, string, string])[] = [
  [
    'http://example.org/a;jsessionid=5A2F?b=1',
    'http://example.org/a?b=1',
    'http://example.org/a;jsessionid=5A2F?b=1',
  ],
  [
    'http://example.org/a;JSESSIONID=5A2F.node1/b;c=d',
    'http://example.org/a/b;c=d',
    'http://example.org/a;JSESSIONID=5A2F.node1/b;c=d',
  ],
  [
    `http://example.org/a?PHPSESSID=${SESSION}&utm_id=1`,
    'http://example.org/a',
    `http://example.org/a?PHPSESSID=${SESSION}`,
  ],
  [
    `http://example.org/a?b=1&sid=${SESSION}&ASPSESSIONIDQQ=${SESSION}`,
    'http://example.org/a?b=1',
    `http://example.org/a?b=1&sid=${SESSION}&ASPSESSIONIDQQ=${SESSION}`,
  ],
  // PHP, of 4, 5 and 6 bits a character, and ASP.
  ...[
    `phpsessid=${SESSION.slice(0, 22)}`,
    'PHPSESSID=k2o5m1p9v5c8r4t6b1u0a3s5d7',
    'PHPSESSID=Zq3-8hUv0,LmX9tYwB2c-D',
    'PHPSESSID=Zq3-8hUv0%2CLmX9tYwB2c-D',
    `PHPSESSID=${'0'.repeat(256)}`,
    'ASPSESSIONIDACTTRDSA=LCBGHHKAMJCKEKCHNCLDBFOE',
  ].map(
    session =>
      [
        `http://example.org/a?${session}&b`,
        'http://example.org/a?b',
        `http://example.org/a?${session}&b`,
      ] as const,
  ),
  [
    'http://example.org/a/b/..;jsessionid=1/c',
    'http://example.org/a/c',
    'http://example.org/a/b/..;jsessionid=1/c',
  ],
];

const NO_URLS = [
  '',
  'a',
  'mailto:a@example.org',
  'javascript:void(0)',
  'ftp://example.org/',
  'http://',
  'http://user@example.org/',
  'http://user:password@example.org/',
  'http://example.org:99999/',
  'http://exa mple.org/',
];

describe('the canonical form of a url', () => {
  for (const [written, curl] of FORMS)
    it(`of ${written} is ${curl}`, () => assert.deepEqual(canonicalUrl(written), { curl }));

  it('leaves apart what may be another page', () => {
    for (const url of APART) assert.deepEqual(canonicalUrl(url), { curl: url });
  });

  for (const [written, curl, furl] of WITH_SESSION)
    it(`knows ${written} without its session, and asks for it with it`, () =>
      assert.deepEqual(canonicalUrl(written), { curl, furl }));

  it('is none of what is not fetched', () => {
    for (const url of NO_URLS) assert.equal(canonicalUrl(url), undefined, url);
  });

  it('of a relative url is that of where it leads', () => {
    assert.deepEqual(canonicalUrl('//www.example.org/a?', 'https://example.org/b'), {
      curl: 'https://www.example.org/a',
    });
    assert.deepEqual(canonicalUrl('?q=1', 'http://example.org/b/c?d#e'), {
      curl: 'http://example.org/b/c?q=1',
    });
    assert.equal(canonicalUrl('a', 'mailto:a@example.org'), undefined);
  });

  it('is that of itself, whatever the url', () => {
    const piece = fc.oneof(
      fc.constantFrom(
        '%',
        '%2',
        '%2e',
        '%2E',
        '%25',
        '%41',
        '%7e',
        '%zz',
        '.',
        '..',
        '/',
        '//',
        '\\',
        '?',
        '&',
        '#',
      ),
      fc.constantFrom(
        '=',
        ';',
        '@',
        ':',
        'utm_x=1',
        'gclid',
        ';jsessionid=1',
        `sid=${SESSION}`,
        'é',
        ' ',
        '\t',
        '1',
        'a',
      ),
      fc.string({ maxLength: 3, unit: 'binary' }),
    );
    const url = fc.array(piece, { maxLength: 12 }).map(pieces => `http://example.org/${pieces.join('')}`);
    fc.assert(
      fc.property(url, written => {
        const found = canonicalUrl(written);
        if (found === undefined) return;
        assert.deepEqual(canonicalUrl(found.curl), { curl: found.curl });
        if (found.furl !== undefined) assert.deepEqual(canonicalUrl(found.furl), found);
      }),
      { numRuns: amount(500, 3000) },
    );
  });

  it('says whether two urls are one', () => {
    assert.ok(isSameUrl('http://example.org/%7ea', 'http://EXAMPLE.org/~a?utm_id=1'));
    assert.ok(isSameUrl('no url', 'no url'));
    assert.ok(!isSameUrl('no url', 'http://example.org/'));
    assert.ok(!isSameUrl('http://example.org/a', 'http://example.org/A'));
  });
});
