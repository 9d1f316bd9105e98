/** robots.txt as RFC 9309 and Google's tests have it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { MAX_ROBOTS_BYTES, productToken, readRobots, type RobotsRules } from '../../src/robots/robots-txt.js';

const SITE = 'http://www.example.org';
const read = (text: string, token = 'FooBot'): RobotsRules => readRobots(Buffer.from(text), token);
const permitted = (text: string, path: string, token?: string) => read(text, token).permits(SITE + path);

/** Rules, then paths that they permit and paths that they forbid. */
const RULES: readonly [rules: string, permitted: readonly string[], forbidden: readonly string[]][] = [
  ['Disallow: /', ['/robots.txt'], ['/', '/a', '/?q', '']],
  ['Disallow:', ['/', '/a'], []],
  ['Allow: /p\nDisallow: /', ['/p', '/page'], ['/', '/x']],
  ['Allow: /folder\nDisallow: /folder', ['/folder', '/folder/page'], []],
  ['Allow: /page\nDisallow: /*.html', ['/page', '/x'], ['/page.html', '/x.html?y']],
  ['Allow: /$\nDisallow: /', ['/', ''], ['/page', '/page.html']],
  [
    'Disallow: /fish',
    ['/Fish.asp', '/catfish', '/?id=fish'],
    ['/fish', '/fish.html', '/fish/salmon', '/fishheads?x'],
  ],
  ['Disallow: /fish*', ['/Fish', '/catfish'], ['/fish', '/fishheads/yummy.html']],
  ['Disallow: /fish/', ['/fish', '/fish.html', '/animals/fish/'], ['/fish/', '/fish/salmon.htm']],
  [
    'Disallow: /*.php',
    ['/', '/windows.PHP'],
    ['/index.php', '/folder/filename.php?parameters', '/filename.php/'],
  ],
  [
    'Disallow: /*.php$',
    ['/filename.php?parameters', '/filename.php/', '/filename.php5'],
    ['/filename.php', '/a/b.php'],
  ],
  ['Disallow: /fish*.php', ['/Fish.PHP'], ['/fish.php', '/fishheads/catfish.php?parameters']],
  ['Disallow: *.gif', ['/a.png'], ['/a.gif', '/b/c.gif']],
  ['Disallow: page', ['/page'], []],
  // Percent-encoding is equal, on either side.
  ['Disallow: /~joe/', ['/joe/'], ['/%7Ejoe/', '/%7ejoe/', '/~joe/x']],
  ['Disallow: /%7Ejoe/', [], ['/~joe/', '/%7ejoe/']],
  ['Disallow: /\u30c4', ['/'], ['/%E3%83%84', '/%e3%83%84x', '/\u30c4']],
  ['Disallow: /%E3%83%84', [], ['/\u30c4', '/%e3%83%84']],
  ['Disallow: /foo/bar%2fbaz', ['/foo/bar/baz'], ['/foo/bar%2Fbaz']],
  // A wildcard's sign in a url is no wildcard, and has no end.
  ['Disallow: /path/file-with-a-%2A.html', ['/path/file-with-a-b.html'], ['/path/file-with-a-*.html']],
  ['Disallow: /path/foo-%24', ['/path/foo-'], ['/path/foo-$']],
  ['Disallow: /a*b*c$', ['/abcd', '/acb', '/ab'], ['/abc', '/axbxc', '/abcbc']],
  ['Disallow: /ab*b$', ['/ab'], ['/abb', '/abxb']],
  ['Disallow: /a$b', ['/a', '/ab'], []],
];

describe('the rules of a robots.txt', () => {
  for (const [rules, permits, forbids] of RULES)
    it(`${rules.replace('\n', ', ')}: permit ${permits.join(' ') || 'nothing'}`, () => {
      const text = `User-agent: FooBot\n${rules}\n`;
      for (const path of permits) assert.equal(permitted(text, path), true, path);
      for (const path of forbids) assert.equal(permitted(text, path), false, path);
    });

  it('of 20 000 wildcards cost a few milliseconds a url, also where a path is made to be compared with all of them', () => {
    const rulesOf = (line: (i: number) => string) =>
      read(`User-agent: *\n${Array.from({ length: 20_000 }, (_, i) => line(i)).join('\n')}\n`);
    const cases: [RobotsRules, path: string, isPermitted: boolean][] = [
      [rulesOf(i => `Disallow: /*p${i}*x$`), `/${'p1x'.repeat(600)}y`, true],
      [rulesOf(i => `Disallow: /*aa*aab*b${i}`), `/${'a'.repeat(2000)}`, true],
      [rulesOf(() => 'Disallow: *aaaaaaab'), `/${'a'.repeat(2000)}`, true],
      [rulesOf(i => `Disallow: /${i}/`), '/20000/', true],
      // Each has all that the rules ask for, in the other order.
      [rulesOf(() => 'Disallow: *b*aaaaaab'), `/aaaaaab${'a'.repeat(1990)}`, false],
    ];
    for (const [rules, path, isPermitted] of cases) {
      assert.equal(rules.permits(SITE + path), isPermitted, path.slice(0, 20));
      const before = process.cpuUsage();
      for (let i = 0; i < 10; i++) rules.permits(SITE + path);
      // Of this process alone: others do not make it slower.
      const urlMs = process.cpuUsage(before).user / 10_000;
      assert.ok(urlMs < 50, `${urlMs.toFixed(1)} ms for ${path.slice(0, 20)}`);
    }
  });

  it('have 16 wildcards: a disallow with more is cut there, an allow is none', () => {
    const stars = (count: number) => Array.from({ length: count }, (_, i) => `*${i % 10}`).join('');
    const digits = Array.from({ length: 20 }, (_, i) => i % 10).join('');
    const path = (count: number) => `/${digits.slice(0, count)}`;
    assert.equal(permitted(`User-agent: *\nDisallow: /${stars(16)}$`, path(16)), false);
    assert.equal(permitted(`User-agent: *\nDisallow: /${stars(16)}$`, path(17)), true);
    assert.equal(permitted(`User-agent: *\nDisallow: /${stars(17)}$`, path(16)), false);
    assert.equal(permitted(`User-agent: *\nDisallow: /${stars(17)}$`, `${path(16)}x`), false);
    assert.equal(permitted(`User-agent: *\nDisallow: /${stars(17)}$`, path(15)), true);
    const allow = (count: number) => `User-agent: *\nDisallow: /\nAllow: /${stars(count)}`;
    assert.equal(permitted(allow(16), path(17)), true);
    assert.equal(permitted(allow(17), path(17)), false);
    assert.equal(
      permitted(`User-agent: *\nDisallow: /${'*'.repeat(40)}x$`, '/yx'),
      false,
      'some in a row are one',
    );
  });

  it('beyond 512000 bytes count for nothing', () => {
    const text = (padding: number) => `User-agent: *\n#${'x'.repeat(padding)}\nDisallow: /late\n`;
    assert.equal(permitted(text(1000), '/late'), false);
    assert.equal(permitted(text(MAX_ROBOTS_BYTES), '/late'), true);
  });
});

describe('the groups of a robots.txt', () => {
  const GROUPS = 'User-agent: foobot\nDisallow: /foo\n\nUser-agent: *\nDisallow: /all\n';

  it('are those of the name of the robot in any case, otherwise those of all', () => {
    for (const token of ['FooBot', 'foobot', 'FOOBOT']) {
      assert.equal(permitted(GROUPS, '/foo', token), false);
      assert.equal(permitted(GROUPS, '/all', token), true);
    }
    for (const token of ['barbot', 'foobot-news', 'foo', '']) {
      assert.equal(permitted(GROUPS, '/foo', token), true);
      assert.equal(permitted(GROUPS, '/all', token), false);
    }
  });

  it('have several names, and several groups of a name are one', () => {
    const text =
      'User-agent: a\nUser-agent: FooBot\nDisallow: /1\nUser-agent: b\nDisallow: /2\nuser-AGENT : foobot/2.1\nDISALLOW : /3 # no\n';
    for (const [path, isPermitted] of [
      ['/1', false],
      ['/2', true],
      ['/3', false],
    ] as const)
      assert.equal(permitted(text, path), isPermitted, path);
  });

  it('are not ended by other lines, or lines without anything', () => {
    for (const between of ['Sitemap: http://x/', 'Crawl-delay: 1', '', '# x', 'Unknown: y', 'nonsense']) {
      const text = `User-agent: FooBot\n${between}\nUser-agent: other\n${between}\nDisallow: /x\n${between}\nDisallow: /y\n`;
      for (const path of ['/x', '/y']) assert.equal(permitted(text, path), false, between);
    }
  });

  it('have no rules before the first name', () => {
    assert.equal(permitted('Disallow: /\nUser-agent: FooBot\nDisallow: /x\n', '/'), true);
  });

  it('take any end of a line, and a byte order mark', () => {
    for (const end of ['\n', '\r', '\r\n'])
      assert.equal(permitted(['\ufeffUser-agent: *', 'Disallow: /x', ''].join(end), '/x'), false);
  });

  it('of all, with more after the star', () => {
    assert.equal(permitted('User-agent: * bots\nDisallow: /x\n', '/x'), false);
    assert.equal(permitted('User-agent: *bots\nDisallow: /x\n', '/x'), true);
  });

  it('say the pause they wish for', () => {
    assert.equal(read('User-agent: *\nCrawl-delay: 2.5\nDisallow: /x').crawlDelayMs, 2500);
    assert.equal(read('User-agent: *\nCrawl-delay: soon').crawlDelayMs, 0);
    assert.equal(read('User-agent: other\nCrawl-delay: 9').crawlDelayMs, 0);
  });
});

it('a robot has the first word of its User-Agent for a name', () => {
  assert.equal(productToken('Foo-Bot_x/2.1 (+http://x/)'), 'Foo-Bot_x');
  assert.equal(productToken('LCC robot'), 'LCC');
  assert.equal(productToken('/x'), '');
});

it('any bytes are a robots.txt', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), fc.webUrl(), (bytes, url) => {
      assert.equal(typeof readRobots(bytes, 'x').permits(url), 'boolean');
    }),
  );
  const words = fc.constantFrom(
    'User-agent',
    'Disallow',
    'Allow',
    ':',
    ' ',
    '/',
    '*',
    '$',
    'x',
    '%',
    '%4',
    '\n',
    '\r',
    '\ud800',
  );
  fc.assert(
    fc.property(fc.array(words, { size: 'large' }), parts => {
      const rules = read(parts.join(''));
      for (const path of ['/', '/x', '/%', '/\ud800', '/*$'])
        assert.equal(typeof rules.permits(SITE + path), 'boolean');
    }),
  );
});
