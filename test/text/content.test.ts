import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { decodedOf, textOf } from '../../src/text/content.js';

const plain = { mimetype: 'text/plain' };

describe('the text of content', () => {
  it('is in the encoding that the server said', () => {
    const bytes = Buffer.from('f0d2c9d7c5d4', 'hex');
    assert.deepEqual(textOf(bytes, { mimetype: 'text/html', charset: 'koi8-r' }), {
      title: '',
      text: 'Привет',
      charset: 'koi8-r',
    });
  });

  it('is one line of words for an index', () => {
    assert.equal(textOf(Buffer.from('a\n\n  b\tc\u00add\n'), plain)?.text, 'a b cd');
  });

  it('keeps the lines of plain text and Markdown for readers, and their indentation', () => {
    const text = '# Run\n\n    npm test  \n\n1. one\n   - two';
    for (const mimetype of ['text/markdown', 'text/plain', 'text/x-python'])
      assert.equal(
        textOf(Buffer.from(`\n${text.replaceAll('\n', '\r\n')}\r\n\r\n`), { mimetype }, 'readable')?.text,
        text.replace('test  ', 'test'),
      );
  });

  it('is none where bytes are no text, whatever their type says', () => {
    const png = Buffer.concat([
      Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'),
      Buffer.alloc(2000, '\x01\xff<?\0<a\x80', 'latin1'),
    ]);
    for (const bytes of [png, gzipSync('text'), Buffer.from('a\0b'), Buffer.from('\x7fELF\x02\x01\x01')]) {
      assert.equal(textOf(bytes, plain), undefined);
      assert.equal(decodedOf(bytes, { mimetype: 'text/csv' }), undefined);
      assert.equal(textOf(bytes, { mimetype: 'text/html' }), undefined);
    }
  });

  it('is there where a control character stands among tags, far from the beginning, or in an encoding that has it', () => {
    assert.equal(textOf(Buffer.from('<p>a\x01b'), { mimetype: 'text/html' })?.text, 'a\x01b');
    assert.equal(textOf(Buffer.from(`${'a'.repeat(1445)}\x01`), plain)?.text.length, 1446);
    assert.equal(textOf(Buffer.from('\ufeffa\x01'), plain)?.text, 'a\x01');
    assert.equal(textOf(Buffer.from('a\x1b[1mb\x0c'), plain)?.text, 'a\x1b[1mb');
    assert.equal(textOf(Buffer.from('a\0b\0', 'latin1'), { ...plain, charset: 'utf-16le' })?.text, 'ab');
    assert.equal(textOf(Buffer.from('\xff\xfea\0b\0', 'latin1'), plain)?.text, 'ab');
  });

  it('is none where a tag stands among bytes of which too many are in no text', () => {
    const object = Buffer.concat([Buffer.from('!<arch>\n/ 0 <module>'), Buffer.alloc(2000, '\0\x01a\xff')]);
    assert.equal(textOf(object, { mimetype: 'text/html' }), undefined);
    const page = Buffer.concat([Buffer.from(`<p>${'words '.repeat(100)}`), Buffer.from('\x01'.repeat(13))]);
    assert.equal(textOf(page, { mimetype: 'text/html' }), undefined);
    assert.ok(textOf(page.subarray(0, -5), { mimetype: 'text/html' }) !== undefined);
  });

  it('is none where such bytes come after the beginning', () => {
    const bytes = Buffer.concat([
      Buffer.from('good words here\n'.repeat(200)),
      Buffer.from(Array.from({ length: 5000 }, (_, i) => (i * 89) % 256)),
    ]);
    for (const source of [plain, { mimetype: 'text/html' }]) assert.equal(textOf(bytes, source), undefined);
  });

  it('is none where the signature is that of a document, a picture or an archive', () => {
    const rest = `<p>${'words '.repeat(1000)}`;
    for (const start of [
      '%PDF-1.4\n',
      '%!PS-Adobe-3.0\n',
      'GIF89a\x10\0',
      '\x89PNG\r\n\x1a\n',
      'PK\x03\x04',
      'RIFF\n\n\n\nWEBPVP',
    ])
      assert.equal(textOf(Buffer.from(start + rest, 'latin1'), { mimetype: 'text/html' }), undefined, start);
    assert.ok(textOf(Buffer.from('BMW, ID3, OTTO and RIFF'), plain) !== undefined);
  });

  it('is there in UTF-16 without its mark', () => {
    for (const words of [
      '<p>The sea rises and falls.',
      '<p>\u041f\u0440\u0438\u043b\u0438\u0432\u044b \u0438 \u043e\u0442\u043b\u0438\u0432\u044b',
    ]) {
      const little = Buffer.from(words, 'utf16le');
      for (const [bytes, charset] of [
        [little, 'utf-16le'],
        [Buffer.from(little).swap16(), 'utf-16be'],
      ] as const) {
        const found = textOf(bytes, { mimetype: 'text/html' });
        assert.deepEqual([found?.text, found?.charset], [words.slice(3), charset]);
      }
    }
    assert.equal(textOf(Buffer.alloc(100, '\x05\0'), plain), undefined);
  });
});
