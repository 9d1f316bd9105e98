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
});
