import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { describe, it } from 'node:test';
import { cache, cursor } from '../support/cursor.js';
import { runProgram } from '../support/command.js';
import { runLccq } from '../support/lccq.js';

/** The stream of what changed since the last one. */
function delta(format: string): Buffer {
  const { status, stdout, stderr } = runLccq(cache, [`--cursor=${cursor}`, `--format=${format}`]);
  assert.equal(status, 0, stderr);
  assert.equal(runLccq(cache, [`--commit=${cursor}`]).status, 0);
  return stdout;
}

const at = 1_795_000_000;

describe('lccq --format=swish-e', () => {
  it('writes a header and exactly as many bytes as it says, nothing between', () => {
    cache.put({
      curl: 'http://x/1',
      content: '<title>\u00c4</title><p>\ud83d\ude00 caf\u00e9\u0000\u0007',
      at,
    });
    cache.put({
      curl: 'http://x/2',
      mimetype: 'text/plain',
      content: 'na\u00efve \u0153uvre \u201cq\u201d \u4e2d',
      at,
    });
    assert.deepEqual(
      delta('swish-e').toString('latin1'),
      `Path-Name: http://x/1\nContent-Length: 45\nLast-Mtime: ${at}\nDocument-Type: HTML*\n\n` +
        `<title>&#196;</title><p>&#128512; caf&#233;  ` +
        `Path-Name: http://x/2\nContent-Length: 18\nLast-Mtime: ${at}\nDocument-Type: TXT*\n\n` +
        'na\u00efve oeuvre "q" ?',
    );
  });

  it('types documents as the LCC does, and writes XML so that a mistake in it hides nothing', () => {
    cache.put({ curl: 'http://x/1', mimetype: 'application/xhtml+xml', content: '<p>one' });
    cache.put({
      curl: 'http://x/2',
      mimetype: 'text/xml',
      content: '<a><title>T</title><b>d\u00e9j\u00e0 &nbsp;</a> &amp; on',
    });
    cache.put({ curl: 'http://x/3', mimetype: 'image/png', content: 'x' });
    const text = runLccq(cache, ['--format=swish-e']).stdout.toString();
    assert.deepEqual(text.match(/^Document-Type: .*$/gm), ['Document-Type: HTML*', 'Document-Type: XML*']);
    const xml = text.slice(text.indexOf('<?xml'));
    assert.equal(runProgram('xmllint', ['--noout', '-'], { input: xml }).status, 0, xml);
    assert.match(xml, /<swishtitle>T<\/swishtitle>/);
    assert.match(xml, /d&#233;j&#224;.*on/s);
  });

  it('names another encoding than its own nowhere, which the parser would believe', () => {
    const page = '<meta http-equiv="Content-Type" content="text/html; charset=iso-8859-2"><p>\u00b1';
    cache.put({ curl: 'http://x/1', content: Buffer.from(page, 'latin1') });
    const text = runLccq(cache, ['--format=swish-e']).stdout.toString();
    assert.match(text, /charset=us-ascii"><p>&#261;$/);
  });

  it('tells every page once, a deletion as one word with the time it was made', () => {
    cache.put({ curl: 'http://x/1', burl: 'http://b/1', content: '<p>one\n' });
    cache.put({ curl: 'http://x/2', content: '<p>two\n' });
    cache.put({ curl: 'http://x/3', burl: 'http://x/2' });
    assert.equal(
      delta('swish-e')
        .toString()
        .match(/^Path-Name/gm)?.length,
      2,
    );
    cache.put({ curl: 'http://x/1', burl: 'http://c/1', content: '<p>one\n', at: at + 1 });
    cache.remove('http://x/3', { at: at + 2 });
    assert.deepEqual(
      delta('swish-e')
        .toString()
        .match(/^(?:Path-Name|Last-Mtime|lcc).*$/gm),
      [
        'Path-Name: http://b/1',
        `Last-Mtime: ${at + 1}`,
        'lccdeletedpage',
        'Path-Name: http://c/1',
        `Last-Mtime: ${at + 1}`,
        'Path-Name: http://x/2',
        `Last-Mtime: ${at + 2}`,
      ],
    );
  });

  it('counts pages, not rows', () => {
    cache.put({ curl: 'http://x/1', burl: 'http://b/1' });
    cache.put({ curl: 'http://x/2', burl: 'http://b/1' });
    assert.equal(runLccq(cache, ['--format=swish-e', '--count']).stdout.toString(), '1\n');
  });
});

describe('lccq --format=scriptindex', () => {
  it('writes records whole, the key last, and of a deletion the key alone', () => {
    cache.put({
      curl: 'http://x/1',
      content: '<title>T\n=U</title><p>one\n=two\n\nid=9',
      mtime: '2026-11-20T10:13:01Z',
    });
    cache.put({ curl: 'http://x/2\n', mimetype: 'text/plain', content: '=\nid=1', at });
    cache.put({ curl: 'http://x/3', burl: '' });
    cache.put({ curl: 'http://x/4', mimetype: 'image/png' });
    cache.remove('http://x/3');
    assert.equal(
      delta('scriptindex').toString(),
      'mime=text/html\nmtime=1795169581\nsize=36\ntitle=T =U\ntext=one =two id=9\nurl=http://x/1\nid=1\n\n' +
        `mime=text/plain\nmtime=${at}\nsize=6\ntext== id=1\nurl=http://x/2%0A\nid=2\n\n` +
        'id=4\n\nid=3\n\n',
    );
  });
});

describe('lccq --format=ntvml', () => {
  it('is well-formed for any content', () => {
    const hostile = [
      // Far enough from the beginning, and few enough, to be taken for text.
      `${'word '.repeat(300)}\u0000\u0001\u001b\u007f\u0085\ufffe\uffff]]><!-- & <b`,
      '&#xD800; &#0; &#x1F600; \ud83d\ude00 &bogus; &#xFFFFFFFF;',
      Buffer.from(Array.from({ length: 32_768 }, (_, i) => (i < 28_000 ? 0x20 : i % 256))),
      Buffer.from([0xed, 0xa0, 0x80, 0xff, 0xfe, 0xc0, 0x80]),
      '</text></document></ntv:docseq>',
    ];
    for (const [i, content] of hostile.entries()) {
      cache.put({ curl: `http://x/${i}?a=1&b=<"'>\u0001`, content });
      cache.put({ curl: `http://x/t${i}`, content, mimetype: 'text/plain' });
      cache.put({ curl: `http://x/x${i}`, content, mimetype: 'text/xml', subtype: 'a:\u0002' });
    }
    const stream = delta('ntvml');
    const { status, stderr } = runProgram('xmllint', ['--noout', '-'], { input: stream });
    assert.equal(status, 0, stderr);
    const count = runProgram('xmllint', ['--xpath', 'count(//document/text[string-length() > 0])', '-'], {
      input: stream,
    });
    assert.equal(count.stdout.toString().trim(), '13');
  });

  it('has a document of a row, and of one that is gone an empty one that says so', () => {
    cache.put({ curl: 'http://x/1', content: '<title>T</title><p>a &lt; b', mtime: '2026-11-20T10:13:01Z' });
    cache.put({ curl: 'http://x/2' });
    cache.remove('http://x/2');
    assert.equal(
      delta('ntvml').toString(),
      '<?xml version="1.0" encoding="utf-8"?>\n<ntv:docseq xmlns:ntv="http://www.nextrieve.com/1.0">\n' +
        '<document><attributes><id>1</id><url>http://x/1</url><mimetype>text/html</mimetype>' +
        '<mtime>2026-11-20T10:13:01Z</mtime></attributes><text><title>T</title>a &lt; b</text></document>\n' +
        '<document><attributes><id>2</id><url>http://x/2</url><mimetype>text/html</mimetype><deleted>1</deleted>' +
        '</attributes><text></text></document>\n</ntv:docseq>\n',
    );
  });
});

describe('formats of text, in every indexer', () => {
  for (const format of ['swish-e', 'scriptindex', 'ntvml', 'fts5-sql']) {
    it(`${format}: content that is missing is reported, its old text forgotten, the rest told: 1`, () => {
      cache.put({ curl: 'http://x/1', content: '<p>older' });
      assert.equal(runLccq(cache, [`--cursor=${cursor}`, `--format=${format}`, '--', 'cat']).status, 0);
      rmSync(cache.put({ curl: 'http://x/1', content: '<p>newer' }));
      cache.put({ curl: 'http://x/2', content: '<p>other' });
      const { status, stdout, stderr } = runLccq(cache, [
        `--cursor=${cursor}`,
        `--format=${format}`,
        '--',
        'cat',
      ]);
      assert.equal(status, 1);
      assert.match(stderr, /^lccq: http:\/\/x\/1: left out: .* is missing/);
      const forgets = {
        'swish-e': 'lccdeletedpage',
        scriptindex: '\nid=1\n',
        ntvml: '<deleted>1',
        'fts5-sql': 'rowid = 1;',
      };
      assert.ok(
        `\n${stdout.toString()}`.includes(forgets[format as keyof typeof forgets]),
        stdout.toString(),
      );
      assert.ok(stdout.includes('other'));
    });

    it(`${format}: what holds no text is counted`, () => {
      cache.put({ curl: 'http://x/1', mimetype: 'image/png', content: 'x' });
      const { status, stderr } = runLccq(cache, [`--format=${format}`]);
      assert.deepEqual([status, stderr], [0, 'lccq: 1 rows without text in them were not indexed\n']);
    });
  }
});
