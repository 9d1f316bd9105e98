import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { charsetNamed } from '../../src/lib/charset.js';

describe('the name of an encoding', () => {
  // Some of each kind that the Encoding Standard lists in its table of labels.
  for (const [label, name] of [
    ['UTF-8', 'utf-8'],
    ['unicode-1-1-utf-8', 'utf-8'],
    ['ISO-8859-1', 'windows-1252'],
    ['us-ascii', 'windows-1252'],
    ['latin1', 'windows-1252'],
    ['iso-8859-9', 'windows-1254'],
    ['iso-8859-11', 'windows-874'],
    ['TIS-620', 'windows-874'],
    ['iso8859-15', 'iso-8859-15'],
    ['iso-8859-16', 'iso-8859-16'],
    ['logical', 'iso-8859-8-i'],
    ['koi', 'koi8-r'],
    ['koi8-ru', 'koi8-u'],
    ['x-cp1251', 'windows-1251'],
    ['866', 'ibm866'],
    ['x-mac-roman', 'macintosh'],
    ['x-mac-ukrainian', 'x-mac-cyrillic'],
    ['GB2312', 'gbk'],
    ['gb18030', 'gb18030'],
    ['big5-hkscs', 'big5'],
    ['x-sjis', 'shift_jis'],
    ['windows-31j', 'shift_jis'],
    ['x-euc-jp', 'euc-jp'],
    ['csiso2022jp', 'iso-2022-jp'],
    ['ks_c_5601-1987', 'euc-kr'],
    ['utf-16', 'utf-16le'],
    ['unicodefffe', 'utf-16be'],
    ['hz-gb-2312', 'replacement'],
    ['x-user-defined', 'x-user-defined'],
  ] as const) {
    it(`of ${label} is ${name}`, () => assert.equal(charsetNamed(label), name));
  }

  it('bears blanks around a label and letters of any case, and nothing else', () => {
    assert.equal(charsetNamed(' \tLaTin1\n'), 'windows-1252');
    assert.equal(charsetNamed('lat in1'), undefined);
    assert.equal(charsetNamed("'utf-8'"), undefined);
    assert.equal(charsetNamed(''), undefined);
    assert.equal(charsetNamed('utf-7'), undefined);
    assert.equal(charsetNamed(`${' '.repeat(100)}utf-8`), undefined);
  });
});
