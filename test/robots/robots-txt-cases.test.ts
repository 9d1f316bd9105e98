/** The examples of RFC 9309 and what Google's tests of its parser ask, as far as they are of the standard. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readRobots } from '../../src/robots/robots-txt.js';

interface Case {
  what: string;
  lines: readonly string[];
  /** `robot url`, with `+` in front where it is permitted and `-` where it is not. */
  answers: readonly string[];
}

const RFC_5_1 = [
  'User-Agent: *',
  'Disallow: *.gif$',
  'Disallow: /example/',
  'Allow: /publications/',
  '',
  'User-Agent: foobot',
  'Disallow:/',
  'Allow:/example/page.html',
  'Allow:/example/allowed.gif',
  '',
  'User-Agent: barbot',
  'User-Agent: bazbot',
  'Disallow: /example/page.html',
  '',
  'User-Agent: quxbot',
];

const CASES: readonly Case[] = [
  {
    what: '$ is the end of a url at the end of a rule, and itself elsewhere',
    lines: [
      'User-agent: *',
      'Disallow: /*$history',
      'Disallow: /$metadata',
      'Disallow: /x$$',
      'Disallow: /y%24z',
      'Disallow: /e$',
    ],
    answers: [
      '- a /a$history',
      '- a /a%24history/more',
      '+ a /a',
      '- a /$metadata',
      '- a /%24metadata?x',
      '- a /x$',
      '+ a /x$y',
      '+ a /x',
      '- a /y$z',
      '- a /e',
      '+ a /ee',
      '+ a /e$',
    ],
  },
  {
    what: 'RFC 9309, 2.2.2: what is encoded and what is not are one, in a rule and in a url',
    lines: [
      'User-agent: *',
      'Disallow: /*?f%5B%5D=',
      'Disallow: /*?g[]=',
      'Disallow: /foo?u=https://x',
      'Disallow: /bar?u=https%3A%2F%2Fx',
      'Disallow: /a{b}',
      'Disallow: /*<',
      'Disallow: /c%7Cd',
      "Disallow: /it's;v=1,2",
      'Disallow: /p%2Fq',
      'Disallow: /r%3Fs',
      'Disallow: /t u',
      'Disallow: /*@!',
    ],
    answers: [
      '- a /p?f[]=1',
      '- a /p?f%5b%5D=1',
      '- a /p?g%5B%5D=1',
      '- a /foo?u=https%3A%2F%2Fx',
      '- a /foo?u=https://x/y',
      '- a /bar?u=https://x',
      '- a /a%7Bb%7D',
      '- a /a{b}c',
      '- a /x/%3Cy',
      '- a /c|d',
      '- a /it%27s%3Bv=1%2C2',
      '- a /p%2fq',
      '+ a /p/q',
      '+ a /r?s',
      '- a /r%3fs',
      '- a /t%20u',
      '- a /x?y=%40%21',
      '+ a /free',
    ],
  },
  {
    what: 'RFC 9309, 5.1: a simple example',
    lines: RFC_5_1,
    answers: [
      '- anybot /a.gif',
      '- anybot /example/x',
      '+ anybot /publications/x',
      '+ anybot /a.gif?x',
      '- foobot /',
      '+ foobot /example/page.html',
      '+ foobot /example/allowed.gif',
      '- foobot /example/other',
      '- barbot /example/page.html',
      '- bazbot /example/page.html',
      '+ barbot /a.gif',
      '+ quxbot /example/page.html',
    ],
  },
  {
    what: 'RFC 9309, 5.2: the longest match',
    lines: ['User-Agent: foobot', 'Allow: /example/page/', 'Disallow: /example/page/disallowed.gif'],
    answers: ['+ foobot /example/page/', '- foobot /example/page/disallowed.gif'],
  },
  {
    what: 'RFC 9309, 2.2.1: groups of one name are one',
    lines: [
      'user-agent: ExampleBot',
      'disallow: /foo',
      'disallow: /bar',
      'user-agent: ExampleBot',
      'disallow: /baz',
    ],
    answers: ['- examplebot /foo', '- examplebot /bar', '- examplebot /baz', '+ examplebot /x'],
  },
  {
    what: 'RFC 9309, 2.2.2: percent-encoding',
    lines: [
      'user-agent: *',
      'disallow: /foo/bar?baz=quz',
      'disallow: /foo/bar?baz=http://foo.bar',
      'disallow: /foo/bar/\u30c4',
      'disallow: /a/%62%61%7A',
    ],
    answers: [
      '- x /foo/bar?baz=quz',
      '- x /foo/bar?baz=http://foo.bar',
      '- x /foo/bar/%E3%83%84',
      '- x /foo/bar/\u30c4',
      '- x /a/baz',
    ],
  },
  {
    what: 'RFC 9309, 2.2.3: special characters',
    lines: ['user-agent: *', 'allow: /this/path/exactly$', 'allow: /this/*/exactly', 'disallow: / # all'],
    answers: [
      '+ x /this/path/exactly',
      '+ x /this/way/exactly/so',
      '- x /this/path',
      '- x /that',
      '+ x /robots.txt',
    ],
  },
  {
    what: 'lines that are no rules',
    lines: ['foo: FooBot', 'bar: /'],
    answers: ['+ FooBot /x/y'],
  },
  {
    what: 'several groups, and rules before any of them',
    lines: [
      'allow: /foo/bar/',
      '',
      'user-agent: FooBot',
      'disallow: /',
      'allow: /x/',
      'user-agent: BarBot',
      'disallow: /',
      'allow: /y/',
      '',
      'allow: /w/',
      'user-agent: BazBot',
      '',
      'user-agent: FooBot',
      'allow: /z/',
      'disallow: /',
    ],
    answers: [
      '+ FooBot /x/b',
      '+ FooBot /z/d',
      '- FooBot /y/c',
      '+ BarBot /y/c',
      '+ BarBot /w/a',
      '- BarBot /z/d',
      '+ BazBot /z/d',
      '- FooBot /foo/bar/',
      '- BarBot /foo/bar/',
      '- BazBot /foo/bar/',
    ],
  },
  {
    what: 'a Sitemap between two names',
    lines: ['User-agent: BarBot', 'Sitemap: https://foo.bar/sitemap', 'User-agent: *', 'Disallow: /'],
    answers: ['- FooBot /', '- BarBot /'],
  },
  {
    what: 'names of lines and of robots in any case',
    lines: ['USER-AGENT: FoO', 'ALLOW: /x/', 'DISALLOW: /'],
    answers: ['+ foo /x/y', '- FOO /a/b'],
  },
  {
    what: 'a name up to the first character that no name has',
    lines: ['user-agent: Foo Bar/2.1', 'disallow: /', 'allow: /x/'],
    answers: ['+ Foo /x/y', '- Foo /a/b', '+ FooBar /a/b'],
  },
  {
    what: 'a group for all beside one that names the robot',
    lines: ['user-agent: *', 'allow: /', 'user-agent: FooBot', 'disallow: /'],
    answers: ['- FooBot /x/y', '+ BarBot /x/y'],
  },
  { what: 'no robots.txt to speak of', lines: [''], answers: ['+ FooBot /x'] },
  {
    what: 'paths whose case differs',
    lines: ['user-agent: FooBot', 'disallow: /X/'],
    answers: ['+ FooBot /x/y', '- FooBot /X/y'],
  },
  {
    what: 'the longest match, whatever comes first',
    lines: ['user-agent: FooBot', 'disallow: /x/page.html', 'allow: /x/'],
    answers: ['- FooBot /x/page.html', '+ FooBot /x/', '+ FooBot /'],
  },
  {
    what: 'equally long ones',
    lines: ['user-agent: FooBot', 'disallow: /x', 'allow: /x', 'disallow: ', 'allow: '],
    answers: ['+ FooBot /x/page.html', '+ FooBot /'],
  },
  {
    what: 'an empty disallow beside a wider one',
    lines: ['user-agent: FooBot', 'disallow: /', 'allow: '],
    answers: ['- FooBot /x/page.html', '- FooBot /'],
  },
  {
    what: 'a rule that names its end',
    lines: ['user-agent: FooBot', 'disallow: /*.html', 'allow: /x.html'],
    answers: ['- FooBot /y.html', '+ FooBot /x.html'],
  },
];

describe('what robots may fetch', () => {
  for (const { what, lines, answers } of CASES)
    it(what, () => {
      for (const answer of answers) {
        const [sign = '', robot = '', path = ''] = answer.split(' ');
        const rules = readRobots(Buffer.from(lines.join('\n')), robot);
        assert.equal(rules.permits(`https://foo.bar${path}`), sign === '+', answer);
      }
    });

  it('a line of any length is read', () => {
    const long = `/x/${'a'.repeat(20_000)}`;
    const rules = readRobots(Buffer.from(`user-agent: FooBot\ndisallow: ${long}/qux\n`), 'FooBot');
    assert.equal(rules.permits(`http://foo.bar${long}/qux`), false);
    assert.equal(rules.permits(`http://foo.bar${long}/fux`), true);
  });
});
