import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { asciiHtml, asciiText, latin1Text } from '../../src/text/encode.js';
import { textOf } from '../../src/text/content.js';

const html = (document: string) => Buffer.concat(asciiHtml(document)).toString('latin1');

describe('HTML in ASCII', () => {
  it('has references for all that is beyond, characters of two units in one', () => {
    assert.equal(html('d\u00e9j\u00e0 \u4e2d \ud83d\ude00'), 'd&#233;j&#224; &#20013; &#128512;');
  });

  it('declares itself as what it is, however it declared itself before', () => {
    assert.equal(html('<meta charset="utf-16">'), '<meta charset="us-ascii">');
    assert.equal(
      html('<META content="text/html; CHARSET = iso-8859-5" http-equiv=x>'),
      '<META content="text/html; CHARSET = us-ascii" http-equiv=x>',
    );
    assert.equal(
      html('<?xml version="1.0" encoding=\'koi8-r\'?>'),
      '<?xml version="1.0" encoding=\'us-ascii\'?>',
    );
    assert.equal(html('<p>charset=utf-8'), '<p>charset=utf-8');
  });

  it('has no control characters, which parsers stop at', () => {
    assert.equal(html('a\u0000b\u0007c\u001b[1m\u0085\ufffe\td\n'), 'a b c [1m  \td\n');
  });

  it('holds the text that was there, whatever that was', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 200 }), text => {
        const words = text.replace(/[<>&\p{C}]/gu, ' ');
        const bytes = Buffer.concat(asciiHtml(`<p>${words}</p>`));
        assert.ok(bytes.every(byte => byte < 0x80));
        assert.equal(
          textOf(bytes, { mimetype: 'text/html' })?.text,
          textOf(Buffer.from(`<p>${words}</p>`), { mimetype: 'text/html' })?.text,
        );
      }),
    );
  });

  it('takes time in proportion to a document that is nothing but beginnings', () => {
    assert.equal(html('<meta '.repeat(1_000_000)).length, 6_000_000);
  });

  it('comes in small pieces, with no character in two of them', () => {
    const pieces = asciiHtml(`a${'\u{1f600}'.repeat(100_000)}`);
    assert.ok(pieces.every(piece => piece.length < 150_000));
    assert.equal(Buffer.concat(pieces).toString('latin1'), `a${'&#128512;'.repeat(100_000)}`);
  });
});

describe('text in one byte a character', () => {
  it('keeps Latin-1, takes letters apart that it does not have, and shows the rest as a question mark', () => {
    assert.equal(
      latin1Text(
        'd\u00e9j\u00e0 e\u0301 \u0159\u00ed\u0142 \u0153uvre \ufb01n \u201cq\u201d \u4e2d \ud83d\ude00',
      ).toString('latin1'),
      'd\u00e9j\u00e0 \u00e9 r\u00edl oeuvre fin "q" ? ?',
    );
  });

  it('makes a lone surrogate no reference', () => {
    assert.equal(asciiText('a\ud800b'), 'a&#65533;b');
  });
});
