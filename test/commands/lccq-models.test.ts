/** What lccq gives to models: Markdown, pieces, archives of Markdown. */
import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { TestCache } from '../support/cache.js';
import { runProgram } from '../support/command.js';
import { lccqSays, runLccq } from '../support/lccq.js';

let cache: TestCache;
beforeEach(() => {
  cache = new TestCache();
});
afterEach(() => cache.close());

type Line = Record<string, unknown>;
const linesOf = (stdout: string) =>
  stdout
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as Line);
const PAGE =
  '<html lang=en><title>T</title><meta name=description content=D><h1>H</h1><p>a <a href=x>b</a><h2>I</h2><p>c';

describe('lccq --format=jsonl --markdown', () => {
  it('has Markdown and what is known of the page, nulls of what is no text, and problems', () => {
    cache.put({ curl: 'https://h/d/1', content: PAGE });
    cache.put({ curl: 'https://h/2', mimetype: 'image/png' });
    rmSync(cache.put({ curl: 'https://h/3' }));
    cache.put({ curl: 'https://h/4' });
    cache.remove('https://h/4');
    const { status, stdout } = lccqSays(cache, [
      '--format=jsonl',
      '--markdown',
      '--fields=curl',
      '--since=0',
    ]);
    assert.equal(status, 1);
    const none = {
      title: null,
      language: null,
      charset: null,
      description: null,
      markdown: null,
      hash: null,
    };
    const [first, ...others] = linesOf(stdout);
    assert.match(String(first?.['hash']), /^[0-9a-f]{32}$/);
    assert.deepEqual(
      { ...first, hash: '' },
      {
        curl: 'https://h/d/1',
        title: 'T',
        language: 'en',
        charset: 'utf-8',
        description: 'D',
        markdown: '# H\n\na [b](https://h/d/x)\n\n## I\n\nc\n',
        hash: '',
      },
    );
    assert.deepEqual(others, [
      { curl: 'https://h/2', ...none },
      { curl: 'https://h/3', ...none, problem: 'its content is missing' },
      { curl: 'https://h/4' },
    ]);
  });

  for (const args of [
    ['--format=jsonl', '--markdown', '--text'],
    ['--format=jsonl', '--markdown=all', '--content'],
    ['--format=jsonl', '--markdown=some'],
    ['--format=xml', '--markdown'],
    ['--format=chunks', '--markdown'],
    ['--format=chunks', '--chunk-size=199'],
    ['--format=chunks', '--chunk-size=100001'],
    ['--format=jsonl', '--chunk-size=500'],
  ])
    it(`is refused as ${args.join(' ')}: 64`, () => assert.equal(lccqSays(cache, args).status, 64));
});

describe('lccq --format=chunks', () => {
  const cursorArgs = () => [`--cursor=${join(cache.home, 'v.cursor')}`, '--format=chunks', '--', 'cat'];

  it('tells the pieces of a page, and then that it is whole', () => {
    cache.put({ curl: 'https://h/d/1', content: PAGE });
    const { status, stdout, stderr } = lccqSays(cache, ['--format=chunks', '--fields=pid,mimetype,seq']);
    assert.equal(status, 0, stderr);
    const [reset, first, second, end, ...others] = linesOf(stdout);
    assert.deepEqual(Object.keys(reset ?? {}), ['op', 'store']);
    const row = {
      doc: 1,
      of: 2,
      seq: 1,
      url: 'https://h/d/1',
      title: 'T',
      language: 'en',
      pid: 1,
      mimetype: 'text/html',
    };
    assert.deepEqual(
      [first, second].map(line => ({ ...line, hash: '' })),
      [
        {
          op: 'upsert',
          id: '1.0',
          n: 0,
          ...row,
          headings: ['H'],
          markdown: '# H\n\na [b](https://h/d/x)\n',
          text: 'H\na b',
          hash: '',
        },
        {
          op: 'upsert',
          id: '1.1',
          n: 1,
          ...row,
          headings: ['H', 'I'],
          markdown: '## I\n\nc\n',
          text: 'H > I\nc',
          hash: '',
        },
      ],
    );
    assert.deepEqual(Object.keys(first ?? {}).slice(0, 9), [
      'op',
      'id',
      'doc',
      'n',
      'of',
      'seq',
      'url',
      'title',
      'language',
    ]);
    assert.deepEqual(end, { op: 'delete', doc: 1, from: 2, seq: 1 });
    assert.deepEqual(others, []);
  });

  it('says that it begins with everything, and only then', () => {
    cache.put({ curl: 'https://h/1', content: PAGE });
    assert.equal(linesOf(lccqSays(cache, cursorArgs()).stdout)[0]?.['op'], 'reset');
    assert.equal(lccqSays(cache, cursorArgs()).stdout, '');
    cache.put({ curl: 'https://h/1', content: '<p>shorter' });
    const delta = linesOf(lccqSays(cache, cursorArgs()).stdout);
    assert.deepEqual(
      delta.map(({ op, id, from }) => [op, id ?? from]),
      [
        ['upsert', '1.0'],
        ['delete', 1],
      ],
    );
    rmSync(join(cache.home, 'v.cursor'));
    assert.equal(linesOf(lccqSays(cache, cursorArgs()).stdout)[0]?.['op'], 'reset');
    assert.notEqual(linesOf(lccqSays(cache, ['--format=chunks', '--since=1d']).stdout)[0]?.['op'], 'reset');
    // Nothing of what is selected is there, but the reader may have something of another store.
    rmSync(join(cache.home, 'v.cursor'));
    const other = lccqSays(cache, [
      `--cursor=${join(cache.home, 'v.cursor')}`,
      '--pid=9',
      '--format=chunks',
      '--',
      'cat',
    ]);
    assert.deepEqual(
      linesOf(other.stdout).map(({ op }) => op),
      ['reset'],
    );
  });

  it('begins once, however many batches there are', () => {
    for (let i = 1; i <= 5; i++) cache.put({ curl: `https://h/${i}` });
    const { stdout } = lccqSays(cache, ['--batch=2', ...cursorArgs()]);
    assert.equal(linesOf(stdout).filter(({ op }) => op === 'reset').length, 1);
    assert.equal(linesOf(stdout).filter(({ op }) => op === 'delete').length, 5);
  });

  it('lets go of what is gone, not for browsing, no text, or cannot be read: 1', () => {
    cache.put({ curl: 'https://h/1' });
    cache.remove('https://h/1');
    cache.put({ curl: 'https://h/2', burl: '' });
    cache.put({ curl: 'https://h/3', mimetype: 'image/png' });
    rmSync(cache.put({ curl: 'https://h/4' }));
    const { status, stdout } = lccqSays(cache, ['--format=chunks', '--since=0']);
    assert.equal(status, 1);
    assert.deepEqual(
      linesOf(stdout)
        .map(({ op, from, problem }) => [op, from, problem])
        .sort((a, b) => String(a[2]).localeCompare(String(b[2]))),
      [
        ['delete', 0, 'its content is missing'],
        ['delete', 0, undefined],
        ['delete', 0, undefined],
        ['delete', 0, undefined],
      ],
    );
  });

  it('has an empty line after each stream for a program that stays', () => {
    cache.put({ curl: 'https://h/1' });
    const script = 'while IFS= read -r line; do printf "%s\\n" "$line" >&2; [ -n "$line" ] || echo ok; done';
    const { status, stderr } = lccqSays(cache, [
      '--batch=9',
      '--stay',
      '--format=chunks',
      '--',
      'sh',
      '-c',
      script,
    ]);
    assert.equal(status, 0, stderr);
    assert.match(stderr, /"reset".*\n.*"upsert".*\n.*"delete".*\n\n$/);
  });
});

describe('lccq --format=tar --markdown', () => {
  it('has a page a file with what is known of it in front, and lists what is gone', () => {
    cache.put({ curl: 'https://h/d/1', content: PAGE, mtime: '2026-01-02T03:04:05Z' });
    cache.put({ curl: 'https://h/2', mimetype: 'image/png' });
    const first = runLccq(cache, ['--format=tar', '--markdown']);
    assert.equal(first.status, 0);
    assert.match(first.stderr, /1 rows without text/);
    const tar = (args: string[], input: Buffer) => runProgram('tar', args, { input }).stdout.toString();
    assert.equal(tar(['-t'], first.stdout), 'h/d/1~.html.md\n');
    const file = tar(['-xO'], first.stdout);
    const [, front = '', body] = /^---\n([^]*?)---\n\n([^]*)$/.exec(file) ?? [];
    const values = Object.fromEntries(
      front
        .trim()
        .split('\n')
        .map(line => [
          line.slice(0, line.indexOf(':')),
          JSON.parse(line.slice(line.indexOf(':') + 1)) as unknown,
        ]),
    );
    assert.deepEqual(Object.keys(values), [
      'url',
      'title',
      'description',
      'language',
      'mtime',
      'md5',
      'hash',
    ]);
    assert.deepEqual(
      [values['url'], values['title'], values['mtime']],
      ['https://h/d/1', 'T', '2026-01-02T03:04:05Z'],
    );
    assert.equal(body, '# H\n\na [b](https://h/d/x)\n\n## I\n\nc\n');
    cache.remove('https://h/d/1');
    const cursor = join(cache.home, 'c');
    runLccq(cache, [`--cursor=${cursor}`, '--format=tar.gz', '--markdown', '--', 'cat']);
    const gone = runLccq(cache, ['--since=0', '--format=tar', '--markdown']);
    assert.match(tar(['-xO', '--wildcards', '.lcc/*'], gone.stdout), /^h\/d\/1~\.html\.md$/m);
  });

  it('holds whatever a page calls itself', () => {
    const evil = 'a"\'\n---\nb: ``` | \u202e';
    cache.put({
      curl: 'https://h/1',
      charset: 'utf-8',
      content: `<html lang='${evil.replaceAll("'", '&#39;')}'><title>${evil}</title><p>x`,
    });
    const { stdout } = runLccq(cache, ['--format=tar', '--markdown']);
    const file = runProgram('tar', ['-xO'], { input: stdout }).stdout.toString();
    const lines = file.split('\n');
    assert.equal(lines.indexOf('---', 1), 8);
    assert.equal(JSON.parse(lines[2]?.replace('title: ', '') ?? ''), 'a"\' --- b: ``` | \u202e');
  });
});

describe('documents that programs make text of', () => {
  const lcc = (commands: string[]) =>
    writeFileSync(join(cache.home, 'lcc.toml'), `[convert]\ncommands = ${JSON.stringify(commands)}\n`);

  it('have text in every format, in their order; of one that fails the row is told: 1', () => {
    lcc(['x/bad text/plain false', 'x/* text/plain cat']);
    for (let i = 1; i <= 12; i++)
      cache.put({
        curl: `https://h/${i}`,
        mimetype: i === 3 ? 'x/bad' : i % 2 === 0 ? 'text/plain' : 'x/y',
        content: `words ${i}`,
      });
    const numbers = Array.from({ length: 12 }, (_, i) => `words ${i + 1}`);
    const { status, stdout, stderr } = lccqSays(cache, ['--format=jsonl', '--text', '--fields=curl']);
    assert.equal(status, 1);
    assert.match(stderr, /^lccq: https:\/\/h\/3: left without text: convert: false exited with 1$/m);
    assert.deepEqual(
      linesOf(stdout).map(({ text }) => text),
      numbers.map((text, i) => (i === 2 ? null : text)),
    );
    assert.equal(linesOf(stdout)[2]?.['problem'], 'convert: false exited with 1');
    const markdown = linesOf(lccqSays(cache, ['--format=jsonl', '--markdown']).stdout);
    assert.equal(markdown[4]?.['markdown'], 'words 5\n');
    const pieces = linesOf(lccqSays(cache, ['--format=chunks']).stdout);
    assert.deepEqual(
      pieces.filter(({ op }) => op === 'upsert').map(({ text }) => text),
      numbers.filter((_, i) => i !== 2),
    );
    assert.deepEqual(
      pieces.filter(({ doc }) => doc === 3).map(({ op, from, problem }) => [op, from, problem]),
      [['delete', 0, 'convert: false exited with 1']],
    );
    for (const format of ['fts5-sql', 'scriptindex', 'ntvml', 'swish-e', 'tar'])
      assert.match(
        lccqSays(cache, [`--format=${format}`, ...(format === 'tar' ? ['--markdown'] : [])]).stdout,
        /words 4[^]*words 5[^]*words 6/,
        format,
      );
  });

  it('are none where nothing says so, and a rule that is none ends it: 78', () => {
    cache.put({ curl: 'https://h/1', mimetype: 'x/y', content: 'words' });
    assert.equal(linesOf(lccqSays(cache, ['--format=jsonl', '--text']).stdout)[0]?.['text'], null);
    lcc(['x/y']);
    assert.equal(lccqSays(cache, ['--format=jsonl', '--text']).status, 78);
  });
});
