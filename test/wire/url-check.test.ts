import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createRootCheck } from '../../src/wire/roots.js';
import { resolveUrl } from '../../src/wire/urlprefix.js';
import { createUrlChecker, type UrlVerdict } from '../../src/wire/url-check.js';
import type { UrlRecord } from '../../src/wire/url.js';
import { amount } from '../support/long.js';

const OPTIONS = {
  mimes: ['text/*', 'application/pdf'],
  roots: ['http://www.example.org/docs/', 'https://files.example.org/'],
  urlprefix: 'http://www.example.org/docs/',
  maxUrlBytes: 200,
};

function verdictOf(record: Partial<UrlRecord>, options: Partial<typeof OPTIONS> = {}): UrlVerdict {
  return createUrlChecker({ ...OPTIONS, ...options })({ curl: 'a.html', mimetype: 'text/html', ...record });
}

function codeOf(
  record: Partial<UrlRecord>,
  options: Partial<typeof OPTIONS> = {},
): number | 'drop' | undefined {
  const verdict = verdictOf(record, options);
  return typeof verdict === 'object' ? verdict.code : verdict;
}

const GOOD: Partial<UrlRecord>[] = [
  {},
  { curl: 'guide/b%C3%BCcher%20a.html?x=%2F&y#z' },
  { curl: 'guide/bücher.html' },
  { curl: 'http://www.example.org/docs/x' },
  { curl: 'urn:isbn:123', furl: 'x.html' },
  { curl: 'anything', furl: 'https://files.example.org/a' },
  { burl: '' },
  { burl: 'http://elsewhere.example/' },
  { md5: '0123456789abcdefABCDEF0123456789' },
  { len: '0' },
  { len: '9007199254740991' },
  { mtime: '2024-02-29T00:00:00Z' },
  { mtime: '1795169581.5' },
  { op: 'update' },
  { op: 'delete' },
  { op: 'delete', curl: 'http://elsewhere.example/' },
  { op: 'delete', mimetype: 'image/png' },
  { furl: '' },
  { tod: '0-7' },
  { tod: '22-5,12' },
  { tod: '0-167' },
  { ifabsent: 'yes', outofroot: 'drop' },
  { mimetype: '*/*' },
  { mimetype: '*/*', op: 'delete' },
  { mimetype: '*/*', ifabsent: 'yes', hops: '3' },
  { mimetype: 'TEXT/x-Foo.bar+xml' },
  { mimetype: 'application/pdf' },
];

test('lets pass what makes sense', () => {
  for (const record of GOOD) assert.equal(verdictOf(record), undefined, JSON.stringify(record));
});

/** [code, record] */
const BAD: [number, Partial<UrlRecord>][] = [
  [301, { curl: '' }],
  [302, { mimetype: '' }],
  [302, { mimetype: 'text' }],
  [302, { mimetype: 'text/' }],
  [302, { mimetype: 'text/html; charset=utf-8' }],
  [302, { mimetype: 'text/html/x' }],
  [302, { mimetype: '*/html' }],
  [302, { mimetype: 'text/*' }],
  [306, { hops: '-1' }],
  [306, { hops: 'many' }],
  [303, { mimetype: 'image/png' }],
  [303, { mimetype: 'application/pdfx' }],
  [303, { mimetype: 'textual/plain' }],
  [304, { curl: 'http://www.example.org/other' }],
  [304, { curl: '../a' }],
  [304, { curl: 'x/%2e%2e/../a' }],
  [304, { furl: 'http://files.example.org/' }],
  [304, { furl: 'http://' }],
  [305, { curl: 'ftp://www.example.org/docs/a' }],
  [305, { curl: 'urn:isbn:123' }],
  [305, { furl: 'javascript:alert(1)' }],
  [305, { burl: 'javascript:alert(1)' }],
  [306, { md5: 'abc' }],
  [306, { md5: 'g123456789abcdef0123456789abcdef' }],
  [306, { len: '' }],
  [306, { len: '-1' }],
  [306, { len: '1.5' }],
  [306, { len: '9007199254740992' }],
  [306, { mtime: 'soon' }],
  [306, { mtime: '2026-02-29T00:00:00Z' }],
  [306, { op: 'remove' }],
  [306, { tod: '' }],
  [306, { tod: '168' }],
  [306, { tod: '1-' }],
  [306, { tod: '1,,2' }],
  [306, { ifabsent: 'maybe' }],
  [306, { outofroot: 'ignore' }],
  [306, { curl: 'a\nb' }],
  [307, { curl: 'x'.repeat(200) }],
  [307, { curl: 'ä'.repeat(90) }],
  [307, { furl: 'x'.repeat(200) }],
  [307, { burl: 'x'.repeat(200) }],
  [307, { op: 'delete', curl: 'x'.repeat(200) }],
];

for (const [code, record] of BAD) {
  test(`${code} for ${JSON.stringify(record).slice(0, 70)}`, () => assert.equal(codeOf(record), code));
}

test('names the attribute that is malformed', () => {
  const text = (record: Partial<UrlRecord>) => {
    const verdict = verdictOf(record);
    return typeof verdict === 'object' ? verdict.text : '';
  };
  for (const name of ['md5', 'len', 'mtime', 'op', 'tod', 'ifabsent', 'outofroot'] as const) {
    assert.ok(text({ [name]: '?' }).startsWith(name), name);
  }
});

test('says what it is that nobody can judge, and not that it is elsewhere', () => {
  for (const [curl, text] of [
    ['a%2Fb', 'curl has %2F in its path: some servers read that as a slash'],
    ['a%00b', 'curl has %00 in its path: some servers end the name there'],
    ['a\\b', 'curl has a backslash, which some read as a slash; write %5C where a name has one'],
    ['http://www.example.org:99999/docs/a', 'curl cannot be read: its host or its port is malformed'],
    ['http://u:p@www.example.org/docs/a', 'curl has a user name before its host'],
    ['x/..%20/a', 'curl has a segment . or .., or one that some servers read as that'],
    ['http://elsewhere.example/', "curl is outside the provider's roots"],
  ] as const)
    assert.deepEqual(verdictOf({ curl }), { code: 304, text });
});

test('what spiders find outside the roots is dropped without a word', () => {
  assert.equal(codeOf({ curl: 'http://elsewhere.example/', outofroot: 'drop' }), 'drop');
  assert.equal(codeOf({ curl: 'mailto:a@example.org', outofroot: 'drop' }), 'drop');
  assert.equal(codeOf({ curl: 'http://elsewhere.example/', outofroot: 'error' }), 304);
  assert.equal(codeOf({ curl: '', outofroot: 'drop' }), 301);
});

test('without a urlprefix, relative urls have no scheme', () => {
  assert.equal(codeOf({ curl: 'a.html' }, { urlprefix: '' }), 305);
  assert.equal(codeOf({ curl: 'a.html', op: 'delete' }, { urlprefix: '' }), 305);
  assert.equal(codeOf({ curl: 'http://www.example.org/docs/a' }, { urlprefix: '' }), undefined);
});

test('a urlprefix outside the roots, or with a query, makes relative urls fall outside', () => {
  assert.equal(codeOf({}, { urlprefix: 'http://elsewhere.example/' }), 304);
  assert.equal(codeOf({}, { urlprefix: 'http://www.example.org/docs' }), 304);
  assert.equal(codeOf({}, { urlprefix: 'http://www.example.org/docs/../' }), 304);
  assert.equal(codeOf({}, { urlprefix: 'http://user@www.example.org/docs/' }), 304);
  assert.equal(codeOf({ curl: '../x' }, { urlprefix: 'http://www.example.org/docs/?/' }), undefined);
});

test('accepts everything for */*', () => {
  assert.equal(codeOf({ mimetype: 'image/png' }, { mimes: ['*/*'] }), undefined);
  assert.equal(codeOf({ mimetype: 'image/png' }, { mimes: [] }), 303);
});

const piece = fc.oneof(
  fc.constantFrom(
    'a',
    'b/',
    '/',
    '.',
    '..',
    './',
    '../',
    '/..',
    '..;',
    '%2e',
    '%2E%2e/',
    '%2f',
    '%5c',
    '%252e',
    '%41',
  ),
  fc.constantFrom(
    '\\',
    '?',
    '#',
    '@',
    ':',
    '//',
    ' ',
    '\t',
    '\u0000',
    '%',
    '%c0%ae',
    'ä',
    '。',
    '\u3002',
    '．',
    '%00',
    '%20',
    '%0a',
    '\uff0e',
    '%uff0e',
    '%ef%bc%8e',
    '\u200b',
    '\uff0f',
  ),
  fc.stringMatching(/^[a-z0-9%._~-]{0,6}$/),
);
const rest = fc.array(piece, { maxLength: 8 }).map(parts => parts.join(''));
const prefix = fc.constantFrom(
  OPTIONS.urlprefix,
  'http://www.example.org/docs/sub/',
  'http://www.example.org/docs/sub',
  'http://www.example.org/docs/?q=/',
  'http://www.example.org/docs/a%2e/',
  'http://www.example.org',
  'http://www.example.org/docs/%2e%2e/',
);

/** The root check said in the slow and obvious way: only what the URL standard makes of the text. */
function isBelowDocs(url: string): boolean {
  try {
    const parsed = new URL(url);
    return parsed.origin === 'http://www.example.org' && `${parsed.pathname}/`.startsWith('/docs/');
  } catch {
    return false;
  }
}

test('nothing passes that the URL standard puts outside the root', () => {
  fc.assert(
    fc.property(prefix, rest, (before, after) => {
      const check = createUrlChecker({
        ...OPTIONS,
        roots: ['http://www.example.org/docs/'],
        urlprefix: before,
      });
      const passed = check({ curl: after, mimetype: 'text/html' }) === undefined;
      if (passed) assert.ok(isBelowDocs(resolveUrl(before, after)), resolveUrl(before, after));
    }),
    { numRuns: amount(500, 3000) },
  );
});

test('the short way to judge a relative url and the long way agree', () => {
  const isInside = createRootCheck(['http://www.example.org/docs']);
  fc.assert(
    fc.property(prefix, rest, (before, after) => {
      const check = createUrlChecker({
        ...OPTIONS,
        roots: ['http://www.example.org/docs/'],
        urlprefix: before,
        maxUrlBytes: 8192,
      });
      const code = codeOfVerdict(check({ curl: after, mimetype: 'text/html' }));
      if (code !== undefined && code !== 304) return;
      const resolved = resolveUrl(before, after);
      if (/^http:\/\/www\.example\.org\/docs(?:[?#]|$)/.test(resolved)) return;
      // A root without a slash knows no short way.
      assert.equal(code === undefined, isInside(resolved), resolved);
    }),
    { numRuns: amount(500, 3000) },
  );
});

function codeOfVerdict(verdict: UrlVerdict): number | 'drop' | undefined {
  return typeof verdict === 'object' ? verdict.code : verdict;
}
