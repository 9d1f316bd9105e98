import assert from 'node:assert/strict';
import { test } from 'node:test';
import { escapeAttribute, escapeText } from '../../../src/lib/xml/escape.js';
import { XmlReader } from '../../../src/lib/xml/reader.js';

const LIMITS = { maxTokenBytes: 65_536, maxDepth: 8, maxAttributes: 32, maxNameBytes: 256 };
const FORBIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;

/** What a reader makes of the value as an attribute and as text; twice, the second time by the fast path. */
function read(value: string): string[] {
  const found: string[] = [];
  const reader = new XmlReader(
    {
      open: (_name, attributes) => found.push(attributes['a'] ?? '', ''),
      text: text => (found[found.length - 1] += text),
      close: () => undefined,
    },
    LIMITS,
    { where: 'test' },
  );
  const element = `<e a="${escapeAttribute(value)}">${escapeText(value)}</e>\n`;
  reader.write(Buffer.from(element + element));
  return found;
}

test('what is escaped is read back as it was, but for what XML cannot carry', () => {
  const values = [
    '',
    'plain',
    '"69201f4d-1000"',
    '&amp;',
    '&&&',
    '<>"\'',
    'a\tb\nc',
    'ä &ö" \u{1f600}',
    '\u0000x\uffff',
  ];
  const alphabet = [
    '"',
    "'",
    '&',
    '<',
    '>',
    '\t',
    '\n',
    '\u0001',
    '\ufffe',
    'a',
    'Z',
    '7',
    ' ',
    ';',
    '?',
    '@',
    'ß',
    '€',
  ];
  let seed = 7;
  for (let i = 0; i < 2000; i++) {
    let value = '';
    for (let n = i % 12; n >= 0; n--) {
      seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 1;
      value += alphabet[(seed >> 8) % alphabet.length];
    }
    values.push(value);
  }
  for (const value of values) {
    const kept = value.replace(FORBIDDEN, '\ufffd');
    assert.deepEqual(read(value), [kept, kept, kept, kept], JSON.stringify(value));
  }
});

test('line ends and quotes stay as they are in text, and carriage returns are kept', () => {
  assert.equal(escapeText('a\n"b"\t\r'), 'a\n"b"\t&#13;');
  assert.equal(escapeAttribute('a\n"b"\t\r'), 'a&#10;&quot;b&quot;&#9;&#13;');
});
