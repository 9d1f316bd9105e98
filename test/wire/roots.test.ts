import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRootCheck, rootProblem } from '../../src/wire/roots.js';

const ROOT = 'http://www.example.org/docs/';
const inside = createRootCheck([ROOT]);

const INSIDE = [
  'http://www.example.org/docs/',
  'http://www.example.org/docs/a.html',
  'http://www.example.org/docs/a/b/c.html?x=%2f..%2f..',
  'http://www.example.org/docs/a.html#top',
  'HTTP://WWW.EXAMPLE.ORG/docs/a',
  'http://www.example.org:80/docs/a',
  'http://www.example.org/d%6fcs/a',
  'http://www.example.org/docs/.hidden/..name/a..b',
  'http://www.example.org/docs/a%20b%C3%A4',
  'http://www.example.org/docs/new%0Aline%09tab%1b%7f',
  'http://www.example.org/docs/latin1%E9%C0%FF%C1',
  'http://www.example.org/docs/ä b',
  'http://www.example.org/docs/a@b:c',
  'http://www.example.org/docs/back%5Cslash',
  'http://www.example.org/docs/new%0D%0Aline%09%01%7F',
  'http://www.example.org/docs/%C0%C1lbum%E0%F0',
  'http://www.example.org/docs/100%25%2541%252f',
  'http://www.example.org/docs/...',
  'http://www.example.org/docs/“quoted” ….html',
  'http://www.example.org/docs/%E2%80%9Cquoted%E2%80%9D%E2%80%A6.html',
  'http://www.example.org/docs/。../a',
  'http://www.example.org/docs/..%E3%80%82/a',
  'http://www.example.org/docs/ .a',
  'http://www.example.org/docs/100%u/%uabc',
];

const ESCAPES = [
  'http://www.example.org/docs',
  'http://www.example.org/docs2/a',
  'http://www.example.org/Docs/a',
  'https://www.example.org/docs/a',
  'http://www.example.org:8080/docs/a',
  'http://www.example.org.evil.test/docs/a',
  'http://www.example.org@evil.test/docs/a',
  'http://user@www.example.org/docs/a',
  'http://user:pw@www.example.org/docs/a',
  'http://@www.example.org/docs/a',
  'http://evil.test/http://www.example.org/docs/a',
  'http://www.example.org/docs/../a',
  'http://www.example.org/docs/./a',
  'http://www.example.org/docs/..',
  'http://www.example.org/docs/..?x',
  'http://www.example.org/docs/..#x',
  'http://www.example.org/docs/%2e%2e/a',
  'http://www.example.org/docs/%2E./a',
  'http://www.example.org/docs/.%2e/a',
  'http://www.example.org/docs/%252e%252e/a',
  'http://www.example.org/docs/..;x=1/a',
  'http://www.example.org/docs/..%3b/a'.replace('%3b', ';'),
  'http://www.example.org/docs/..%2fa',
  'http://www.example.org/docs/..%252Fa',
  'http://www.example.org/docs%2fa',
  'http://www.example.org/docs/%5c..%5ca',
  'http://www.example.org/docs/..\\a',
  'http://www.example.org\\docs/a',
  'http:\\\\www.example.org/docs/a',
  'http:/www.example.org/docs/a',
  'http:www.example.org/docs/a',
  'http:///www.example.org/docs/a',
  'http://www.example.org/docs/.\t./a',
  'http://www.example.org/docs/.\n./a',
  'http://www.example.org/docs/a\u0000',
  'http://www.example.org/docs/a%00',
  'http://www.example.org/docs/%c0%ae%c0%ae/a',
  'http://www.example.org/docs/a%c0%af..%c0%af..%c0%afa',
  'http://www.example.org/docs/%e0%80%ae%e0%80%ae/a',
  'http://www.example.org/docs/%252e%252e%255ca',
  'http://www.example.org/docs/..%2500/a',
  'http://www.example.org/docs/%2525252525252525252525252525252541',
  'http://www.example.org/docs/..%20/a',
  'http://www.example.org/docs/%20../a',
  'http://www.example.org/docs/..%09/a',
  'http://www.example.org/docs/..%0d/a',
  'http://www.example.org/docs/.%0a./a',
  'http://www.example.org/docs/.%250a./a',
  'http://www.example.org/docs/.%20/a',
  'http://www.example.org/docs/x/..%20;y/a',
  'http://www.example.org/docs/%u002e%u002e/a',
  'http://www.example.org/docs/%U002E./a',
  'http://www.example.org/docs/%uff0e%uff0e/a',
  'http://www.example.org/docs/%25uff0e%25uff0e/a',
  'http://www.example.org/docs/\uff0e\uff0e/a',
  'http://www.example.org/docs/x/\uff0e\uff0e/a',
  'http://www.example.org/docs/.\uff0e/a',
  'http://www.example.org/docs/%ef%bc%8e%EF%BC%8E/a',
  'http://www.example.org/docs/\u2025/a',
  'http://www.example.org/docs/..\uff0fa',
  'http://www.example.org/docs/..\uff3ca',
  'http://www.example.org/docs/..%ef%bc%8fa',
  'http://www.example.org/docs/.\u200b./a',
  'http://www.example.org/docs/..\u00a0/a',
  'http://www.example.org/docs/..\ufeff/a',
  'http://www.example.org/docs/.%ff./a',
  'http://www.example.org/docs/%c0%ae%ef%bc%8e/a',
  ' http://www.example.org/docs/a',
  'http://www.example.org/docs/a ',
  'http://www.example.org /docs/a',
  'http://[/docs/a',
  'http://www.example.org:99999/docs/a',
  'ftp://www.example.org/docs/a',
  'javascript://www.example.org/docs/a',
  '//www.example.org/docs/a',
  '/docs/a',
  '',
];

test('accepts what lies below a root, however host and port are written', () => {
  for (const url of INSIDE) assert.equal(inside(url), true, url);
});

test('refuses every known way out of a root', () => {
  for (const url of ESCAPES) assert.equal(inside(url), false, JSON.stringify(url));
});

test('a root without a final slash is itself and what lies below it', () => {
  const check = createRootCheck(['http://h/a/b']);
  assert.equal(check('http://h/a/b'), true);
  assert.equal(check('http://h/a/b/c'), true);
  assert.equal(check('http://h/a/bc'), false);
});

test('international host names are compared as punycode', () => {
  const check = createRootCheck(['http://bücher.example/']);
  assert.equal(check('http://xn--bcher-kva.example/x'), true);
  assert.equal(check('http://BÜCHER.example/x'), true);
  assert.equal(check('http://bucher.example/x'), false);
});

test('nothing is inside no root', () => {
  assert.equal(createRootCheck([])('http://h/'), false);
});

test('an unusable root is refused', () => {
  for (const root of ['', 'www.example.org', 'ftp://h/', 'http://h/?x', 'http://u@h/', 'http://h/../']) {
    assert.throws(() => createRootCheck([root]), TypeError, root);
  }
});

test('a root that nothing can lie below is told from one that can', () => {
  for (const [root, problem] of [
    ['http://*/', /^names no host: there are no wildcards/],
    ['http://*.example.org/docs/', /^names no host/],
    ['http://www.example.org/*', /^has a wildcard in its path/],
    ['http://www.example.org/docs/**/', /^has a wildcard in its path/],
    ['http://www.example.org/?x', /^has a query/],
    ['http://www.example.org:99999/', /^cannot be read: its host or its port/],
    ['http://www.example.org/..%20/', /^has a segment/],
    ['www.example.org', /^is no http or https URL/],
  ] as const)
    assert.match(rootProblem(root) ?? '', problem, root);
  for (const root of [
    ROOT,
    'http://h',
    'http://my_host.local./a*b/',
    'https://192.0.2.1:8443/',
    'http://[2001:db8::1]/',
    'http://bücher.example/',
  ])
    assert.equal(rootProblem(root), undefined, root);
});
