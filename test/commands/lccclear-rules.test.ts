/** lccclear --rules: what changes of pages mean for caches. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { newHome, queued } from '../support/clear-home.js';
import { runCommand } from '../support/command.js';

describe('lccclear --rules', () => {
  const rules = {
    providers: {
      7: {
        target: 'www',
        urls: [
          { prefix: 'http://docs.example.org/', type: '@url', path: '/docs/' },
          { prefix: 'http://docs.example.org/news/', type: 'article', strip: '.html' },
        ],
      },
    },
  };
  const change = (seq: number, curl: string, op = 'upsert', pid = 7) =>
    `${JSON.stringify({ op, seq, pid, curl, mimetype: 'text/html' })}\n`;

  function withRules(value: unknown = rules): {
    home: string;
    feed: (input: string, ...args: string[]) => ReturnType<typeof runCommand>;
  } {
    const home = newHome();
    const file = join(home, 'rules.json');
    writeFileSync(file, typeof value === 'string' ? value : JSON.stringify(value));
    return {
      home,
      feed: (input, ...args) =>
        runCommand(home, 'lccclear', ['--stdin=jsonl', `--rules=${file}`, ...args], { input }),
    };
  }

  it('clears what changes mean, by the longest prefix; what was removed is forced', () => {
    const { home, feed } = withRules();
    const { status, stderr } = feed(
      change(1, 'http://docs.example.org/a.html') +
        change(2, 'http://docs.example.org/news/4711.html') +
        change(3, 'http://docs.example.org/b.html', 'delete') +
        change(4, 'http://other.example.org/') +
        change(5, 'http://docs.example.org/c?d') +
        change(6, 'http://docs.example.org/a.html', 'upsert', 8),
    );
    assert.equal(status, 0);
    assert.equal(stderr.split('\n').filter(line => line.includes('clears nothing')).length, 3);
    assert.deepEqual(queued(home), [
      '/docs/a.html @url www',
      '4711 article www',
      '/docs/b.html @url www forced',
    ]);
  });

  it('moves its cursor with the requests, and passes over what was taken', () => {
    const { home, feed } = withRules();
    const show = () => runCommand(home, 'lccclear', ['--cursor=lcc', '--show']).stdout;
    assert.equal(show(), '0\n');
    const both = change(1, 'http://docs.example.org/a.html') + change(2, 'http://docs.example.org/b.html');
    assert.equal(feed(both, '--cursor=lcc').status, 0);
    assert.equal(show(), '2\n');
    assert.equal(feed(both + change(5, 'http://elsewhere.example.org/'), '--cursor=lcc').status, 0);
    assert.equal(show(), '5\n');
    assert.deepEqual(queued(home), ['/docs/a.html @url www', '/docs/b.html @url www']);
    assert.match(feed(both, '--cursor=lcc').stderr, /all 2 changes were taken before \(--cursor\)/);
  });

  it('ends with 65 for a line that is no change, so that the feed does not move', () => {
    const { feed } = withRules();
    const { status, stderr } = feed('{"op":"upsert"}\n{"curl":\n');
    assert.equal(status, 65);
    assert.match(stderr, /line 1: no change of lccq: it has op, pid and curl\n.*line 2: no JSON\n/);
  });

  it('says where rules are malformed: 78, or 66 when they are missing', () => {
    const cases: [unknown, RegExp][] = [
      ['{', /rules\.json: no JSON/],
      [{ provider: {} }, /no key "provider"; there are providers/],
      [{ providers: { x: {} } }, /provider x: no number/],
      [{ providers: { 7: { target: 'www', urls: [] } } }, /provider 7: "urls" is a list/],
      [
        { providers: { 7: { target: 'www', urls: [{ prefix: 'x', type: '@url' }] } } },
        /url 1: "prefix" is an absolute url/,
      ],
      [{ providers: { 7: { target: 'none', urls: rules.providers[7].urls } } }, /there is no target none/],
    ];
    for (const [value, says] of cases) {
      const { status, stderr } = withRules(value).feed('');
      assert.equal(status, 78);
      assert.match(stderr, says);
    }
    const missing = runCommand(newHome(), 'lccclear', ['--stdin=jsonl', '--rules=/nowhere/rules.json']);
    assert.equal(missing.status, 66);
  });
});
