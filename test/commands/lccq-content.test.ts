import assert from 'node:assert/strict';
import { appendFileSync, chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { TestCache } from '../support/cache.js';
import { runProgram } from '../support/command.js';
import { runLccq } from '../support/lccq.js';
import { noOtherUser, OTHER_USER } from '../support/other-user.js';

let cache: TestCache;
beforeEach(() => {
  cache = new TestCache();
});
afterEach(() => cache.close());

/** Every byte value, on and on: no text, and no multiple of three. */
const binary = (length: number) => Buffer.from(Array.from({ length }, (_, i) => i % 256));

function objects(...args: string[]): Record<string, unknown>[] {
  const { status, stdout, stderr } = runLccq(cache, ['--format=jsonl', ...args]);
  assert.equal(status, 0, stderr);
  return stdout
    .toString()
    .split('\n')
    .slice(0, -1)
    .map(line => JSON.parse(line) as Record<string, unknown>);
}

describe('lccq --format=csv', () => {
  it('is read by a CSV reader of other hands, the empty text and no value told apart', () => {
    const file = cache.put({ curl: 'http://x/a,"b"\r\nc\t', subtype: '', content: 'four' });
    cache.put({ curl: 'http://x/ü', burl: '' });
    cache.remove('http://x/ü');
    const { stdout } = runLccq(cache, [
      '--format=csv',
      '--fields=op,curl,subtype,len,file,burl',
      '--since=0',
    ]);
    assert.match(
      stdout.toString(),
      /^op,curl,subtype,len,file,burl\r\nupsert,"http:\/\/x\/a,""b""\r\nc\t","",4,/,
    );
    assert.match(stdout.toString(), /\r\ndelete,"http:\/\/x\/ü",,,,""\r\n$/);
    const script = 'import csv,json,sys;print(json.dumps(list(csv.reader(open(0,newline="")))))';
    const read = runProgram('python3', ['-c', script], { input: stdout });
    assert.deepEqual(JSON.parse(read.stdout.toString()), [
      ['op', 'curl', 'subtype', 'len', 'file', 'burl'],
      ['upsert', 'http://x/a,"b"\r\nc\t', '', '4', file, 'http://x/a,"b"\r\nc\t'],
      ['delete', 'http://x/ü', '', '', '', ''],
    ]);
  });
});

describe('lccq --format=changed-urls', () => {
  it('names what changed and what is gone once, under browse URLs', () => {
    cache.put({ curl: 'http://x/1', burl: 'http://b/1' });
    cache.put({ curl: 'http://x/2' });
    cache.put({ curl: 'http://x/3', burl: '' });
    cache.put({ curl: 'http://x/4', burl: 'http://b/\n4' });
    cache.remove('http://x/2');
    cache.put({ curl: 'http://x/4', burl: 'http://b/1' });
    const { stdout } = runLccq(cache, ['--format=changed-urls', '--since=0']);
    assert.equal(stdout.toString(), 'http://x/2\nhttp://b/%0A4\nhttp://b/1\n');
    assert.equal(runLccq(cache, ['--format=changed-urls', '--since=0', '--count']).stdout.toString(), '3\n');
  });
});

describe('lccq --format=gone-paths', () => {
  it('names the files of this machine that were let go of, since a cursor, and is none of them again', () => {
    const cursor = join(cache.home, 'paths.cursor');
    const next = () =>
      runLccq(cache, [`--cursor=${cursor}`, '--format=gone-paths', '--', 'cat']).stdout.toString();
    const first = cache.put({ curl: 'http://x/1' });
    const second = cache.put({ curl: 'http://x/2', mimetype: 'text/plain' });
    cache.put({ curl: 'http://x/3', machineid: 'elsewhere' });
    assert.equal(next(), '');
    const third = cache.put({ curl: 'http://x/1', content: 'new' });
    assert.equal(next(), `${first}\n`);
    cache.remove('http://x/2', { mimetype: 'text/plain' });
    cache.remove('http://x/3');
    cache.remove('http://x/1');
    assert.equal(next(), `${second}\n${third}\n`);
    const all = (...args: string[]) => runLccq(cache, ['--format=gone-paths', ...args]).stdout.toString();
    assert.equal(all(), `${first}\n${second}\n${third}\n`);
    assert.equal(all('--mime=text/plain'), `${second}\n`);
    assert.equal(all('--count'), '3\n');
    assert.equal(runLccq(cache, ['--format=gone-paths', '--prefix=http://x/']).status, 64);
    cache.forgetDeletions();
    assert.equal(all(), '');
  });

  it('asks for a full resync when paths have been forgotten since', () => {
    const cursor = join(cache.home, 'paths.cursor');
    const run = () => runLccq(cache, [`--cursor=${cursor}`, '--format=gone-paths', '--', 'cat']);
    cache.put({ curl: 'http://x/1' });
    run();
    cache.put({ curl: 'http://x/1', content: 'new' });
    cache.forgetDeletions();
    assert.equal(run().status, 65);
  });
});

describe('lccq --format=jsonl --content', () => {
  it('has text as text, in whatever encoding it was, and everything else as base64', () => {
    cache.put({ curl: 'http://x/1', content: Buffer.from('<p>d\u00e9j\u00e0 "vu"\u2028\n', 'latin1') });
    cache.put({ curl: 'http://x/2', content: '<meta charset=utf-8><p>d\u00e9j\u00e0 \u{1f600}' });
    cache.put({ curl: 'http://x/3', mimetype: 'application/json', content: '{"a":"\u00e9"}' });
    cache.put({ curl: 'http://x/4', mimetype: 'image/png', content: binary(1000) });
    cache.put({ curl: 'http://x/5', mimetype: 'text/plain', content: 'a\0b' });
    cache.put({ curl: 'http://x/6', content: '' });
    cache.put({ curl: 'http://x/7' });
    cache.remove('http://x/7');
    assert.deepEqual(objects('--content', '--fields=op,curl', '--since=0'), [
      { op: 'upsert', curl: 'http://x/1', text: '<p>d\u00e9j\u00e0 "vu"(\n' },
      { op: 'upsert', curl: 'http://x/2', text: '<meta charset=utf-8><p>d\u00e9j\u00e0 \u{1f600}' },
      { op: 'upsert', curl: 'http://x/3', text: '{"a":"\u00e9"}' },
      { op: 'upsert', curl: 'http://x/4', base64: binary(1000).toString('base64') },
      { op: 'upsert', curl: 'http://x/5', base64: Buffer.from('a\0b').toString('base64') },
      { op: 'upsert', curl: 'http://x/6', text: '' },
      { op: 'delete', curl: 'http://x/7' },
    ]);
  });

  it('carries content that is read in pieces byte by byte', () => {
    const big = binary(3 * 1024 * 1024 + 1);
    cache.put({ curl: 'http://x/1', mimetype: 'image/png', content: big });
    const [object] = objects('--content', '--fields=len');
    assert.ok(Buffer.from(String(object?.['base64']), 'base64').equals(big));
  });

  it('without --content has none', () => {
    cache.put({ curl: 'http://x/1', content: 'words' });
    assert.deepEqual(
      Object.keys(objects()[0] ?? {}).filter(key => /text|base64/.test(key)),
      [],
    );
  });
});

describe('lccq --format=jsonl --text', () => {
  it('has title, language, encoding and readable text of what is text, and nulls of what is not', () => {
    const page = (title: string, body: string) =>
      `<html lang=ja><meta charset=shift_jis><title>${title}</title><nav><a href=/>x</a></nav><p>${body}<p>2`;
    const [before = '', after = ''] = page('|', 'b').split('|');
    const japanese = Buffer.from('93fa967b8cea', 'hex');
    cache.put({
      curl: 'http://x/1',
      content: Buffer.concat([Buffer.from(before), japanese, Buffer.from(after)]),
    });
    cache.put({ curl: 'http://x/2', mimetype: 'text/plain', content: ' a  b\r\n\r\nc\n' });
    cache.put({ curl: 'http://x/3', mimetype: 'image/png', content: binary(100) });
    cache.put({ curl: 'http://x/4' });
    cache.remove('http://x/4');
    assert.deepEqual(objects('--text', '--content', '--fields=op,curl', '--since=0'), [
      {
        op: 'upsert',
        curl: 'http://x/1',
        title: '日本語',
        language: 'ja',
        charset: 'shift_jis',
        text: 'b\n2',
      },
      { op: 'upsert', curl: 'http://x/2', title: '', language: null, charset: 'utf-8', text: ' a  b\n\nc' },
      { op: 'upsert', curl: 'http://x/3', title: null, language: null, charset: null, text: null },
      { op: 'delete', curl: 'http://x/4' },
    ]);
  });

  it('reports what is too long to be read as a page', () => {
    cache.put({ curl: 'http://x/1', content: 'word '.repeat(4_000_000) });
    const { status, stderr, stdout } = runLccq(cache, ['--format=jsonl', '--text', '--fields=curl']);
    assert.equal(status, 1);
    assert.match(
      stderr,
      /^lccq: http:\/\/x\/1: left without text: 20000000 bytes, more than 16 MB \(cu\.max_text_bytes\)$/m,
    );
    assert.equal((JSON.parse(stdout.toString()) as { text: unknown }).text, null);
  });

  it('has its bound from cu.max_text_bytes', () => {
    writeFileSync(join(cache.home, 'lcc.toml'), '[cu]\nmax_text_bytes = "2KB"\n');
    cache.put({ curl: 'http://x/1', content: 'a'.repeat(2049) });
    cache.put({ curl: 'http://x/2', content: 'a'.repeat(2048) });
    const lines = (...args: string[]) => {
      const { stderr, stdout } = runLccq(cache, ['--format=jsonl', '--fields=curl', ...args]);
      const objects = stdout.toString().trimEnd().split('\n');
      return { stderr, made: objects.map(line => JSON.parse(line) as Record<string, unknown>) };
    };
    const texts = lines('--text');
    assert.match(
      texts.stderr,
      /x\/1: left without text: 2049 bytes, more than 2 KB \(cu\.max_text_bytes\)$/m,
    );
    assert.deepEqual(
      texts.made.map(({ text }) => text),
      [null, 'a'.repeat(2048)],
    );
    const contents = lines('--content');
    assert.deepEqual(
      contents.made.map(each => Object.keys(each).at(-1)),
      ['base64', 'text'],
    );
  });

  it('is every word where all are asked for', () => {
    cache.put({ curl: 'http://x/1', content: '<nav>Home</nav><main><p>One<p>two</main>' });
    const textOf = (option: string) => {
      const { stdout } = runLccq(cache, ['--format=jsonl', option, '--fields=curl']);
      return (JSON.parse(stdout.toString()) as { text: unknown }).text;
    };
    assert.equal(textOf('--text=all'), 'Home One two');
    assert.equal(textOf('--text=readable'), 'One\ntwo');
    assert.equal(textOf('--text'), 'One\ntwo');
  });

  it('is refused by other formats, and of another kind', () => {
    assert.equal(runLccq(cache, ['--text']).status, 64);
    assert.equal(runLccq(cache, ['--format=jsonl', '--text=some']).status, 64);
  });
});

describe('lccq --format=xml --content', () => {
  it('holds the content as base64 in its element, deletions none', () => {
    cache.put({ curl: 'http://x/1?a&b', content: binary(700) });
    cache.put({ curl: 'http://x/2', content: '' });
    cache.put({ curl: 'http://x/3' });
    cache.remove('http://x/3');
    const { status, stdout } = runLccq(cache, ['--content', '--since=0', '--fields=md5']);
    assert.equal(status, 0);
    const query = (xpath: string) =>
      runProgram('xmllint', ['--xpath', xpath, '-'], { input: stdout }).stdout.toString().trim();
    assert.equal(query('string(//url[1]/@curl)'), 'http://x/1?a&b');
    assert.ok(Buffer.from(query('string(//url[1])'), 'base64').equals(binary(700)));
    assert.equal(
      query('concat(//url[2]/@curl, "|", //url[2], "|", //url[2]/@md5)'),
      'http://x/2||d41d8cd98f00b204e9800998ecf8427e',
    );
    assert.equal(query('concat(//url[3]/@curl, //url[3]/@op)'), 'http://x/3delete');
  });
});

describe('content that cannot be had whole', () => {
  for (const [args, told] of [
    [['--format=jsonl', '--content'], true],
    [['--format=jsonl', '--text'], true],
    [['--format=xml', '--content'], false],
  ] as const) {
    it(`is reported and ${told ? 'told as missing' : 'left out'} by ${args.join(' ')}, never begun: 1`, () => {
      const big = binary(2 * 1024 * 1024);
      rmSync(cache.put({ curl: 'http://x/missing' }));
      appendFileSync(cache.put({ curl: 'http://x/altered' }), 'x');
      appendFileSync(cache.put({ curl: 'http://x/large', content: big }), 'x');
      cache.put({ curl: 'http://x/elsewhere', machineid: 'other' });
      cache.put({ curl: 'http://x/good' });
      const { status, stdout, stderr } = runLccq(cache, args);
      assert.equal(status, 1);
      for (const [name, why] of [
        ['missing', 'is missing; stop lccd and run lccfsck --repair, which has it fetched again'],
        ['altered', 'is altered: its md5 differs; stop lccd'],
        ['large', 'is altered: its md5 differs; stop lccd'],
        ['elsewhere', 'its content is on machine other, not on this one'],
      ] as const)
        assert.match(stderr, new RegExp(`^lccq: http://x/${name}: left out: .*${why}`, 'm'));
      assert.match(stdout.toString(), /http:\/\/x\/good/);
      if (!told) return assert.doesNotMatch(stdout.toString(), /missing|altered|large|elsewhere/);
      const rows = stdout.toString().trim().split('\n');
      assert.deepEqual(
        rows
          .map(row => JSON.parse(row) as Record<string, unknown>)
          .map(({ text, problem }) => [text, problem]),
        [
          [null, 'its content is missing'],
          [null, 'its content is altered: its md5 differs'],
          [null, 'its content is altered: its md5 differs'],
          [null, 'its content is on machine other'],
          [args[1] === '--text' ? 'http://x/good' : '<p>http://x/good</p>', undefined],
        ],
      );
    });
  }

  it('for being on other machines is told in two lines, however much it is; with -v each is named', () => {
    for (let i = 1; i <= 9; i++)
      cache.put({ curl: `http://x/${i}`, machineid: i === 5 ? 'local' : i > 6 ? 'third' : 'other' });
    const { status, stderr } = runLccq(cache, ['--format=jsonl', '--content']);
    assert.equal(status, 1);
    assert.equal(
      stderr,
      `lccq: http://x/1: left out: its content is on machine other, not on this one
lccq: left out in the same way: 4 on machine other, 3 on machine third; -v names each
`,
    );
    const verbose = runLccq(cache, ['--format=jsonl', '--content', '-v']);
    assert.equal(verbose.stderr.match(/^lccq: http:.*left out: its content is on machine/gm)?.length, 8);
  });

  const skip = process.geteuid?.() === 0 && noOtherUser();
  it('for want of permission ends the stream, and the cursor stays: 75', { skip }, () => {
    const first = cache.put({ curl: 'http://x/1', content: 'first' });
    const cursor = join(cache.home, 'content.cursor');
    const lccq = (ids: object) =>
      runLccq(cache, [`--cursor=${cursor}`, '--format=jsonl', '--content', '--', 'cat'], {}, ids);
    assert.equal(lccq({}).status, 0);
    const before = readFileSync(cursor, 'utf8');
    const file = cache.put({ curl: 'http://x/2', content: 'second' });
    chmodSync(first, 0);
    chmodSync(file, 0);
    // Root may read everything; somebody else may all but these.
    for (const path of [cache.home, ...readdirSync(cache.home).map(name => join(cache.home, name))])
      chmodSync(path, 0o777);
    const ended = lccq(process.geteuid?.() === 0 ? OTHER_USER : {});
    assert.equal(ended.stderr, `lccq: ${file}: cannot be read now (EACCES); put that right and run again\n`);
    assert.equal(ended.status, 75);
    assert.equal(readFileSync(cursor, 'utf8'), before);
    chmodSync(file, 0o644);
    assert.match(lccq({}).stdout.toString(), /"second"/);
  });

  it('is refused where the format has no choice of content', () => {
    const { status, stderr } = runLccq(cache, ['--content', '--format=tsv']);
    assert.equal(status, 64);
    assert.match(stderr, /leave out --content/);
  });
});
