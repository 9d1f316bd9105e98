import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LccError } from '../../../src/lib/errors.js';
import { XmlReader } from '../../../src/lib/xml/reader.js';
import { cut, goldenFiles, LIMITS, read, type Event } from './events.js';

for (const [name, bytes] of goldenFiles()) {
  test(`${name} reads the same whole, byte by byte and in threes`, () => {
    const whole = read([bytes]);
    assert.equal(whole.error, undefined);
    assert.ok(whole.events.length > 5);
    assert.deepEqual(read(cut(bytes, [1])), whole);
    assert.deepEqual(read(cut(bytes, [3])), whole);
  });
}

/** [input, events] */
function events(input: string | Uint8Array): Event[] {
  const outcome = read([typeof input === 'string' ? Buffer.from(input) : input]);
  assert.equal(outcome.error, undefined);
  return outcome.events;
}

test('reports start tags with their attributes and their own text', () => {
  assert.deepEqual(events(`<a b="1>2" c='&lt;&#65;&#x42;&quot;'\n/>`), [
    {
      open: 'a',
      attributes: [
        ['b', '1>2'],
        ['c', '<AB"'],
      ],
      empty: true,
      raw: `<a b="1>2" c='&lt;&#65;&#x42;&quot;'\n/>`,
    },
  ]);
});

test('attribute names that objects have already are ordinary names', () => {
  const [event] = events('<a __proto__="1" constructor="2" toString="3"/>');
  assert.ok(event !== undefined && 'open' in event);
  assert.deepEqual(event.attributes, [
    ['__proto__', '1'],
    ['constructor', '2'],
    ['toString', '3'],
  ]);
});

test('line ends are normalised in text, white space in attributes', () => {
  assert.deepEqual(events('<a b="1\r\n2\t3&#10;">\r\n\r<c/></a>'), [
    { open: 'a', attributes: [['b', '1 2 3\n']], empty: false, raw: '<a b="1\r\n2\t3&#10;">' },
    { text: '\n\n' },
    { open: 'c', attributes: [], empty: true, raw: '<c/>' },
    { close: 'a' },
  ]);
});

test('a declaration changes the encoding from its end on, until the next', () => {
  const latin1 = Buffer.from(
    '<?xml version="1.0" encoding="iso-8859-1"?><a b="\xe4"/><c d="\xfc"/>',
    'latin1',
  );
  const utf8 = Buffer.from('<?xml version="1.0" encoding="utf-8"?><e f="ä"/>');
  const attributes = [...events(Buffer.concat([latin1, utf8]))].map(e => 'open' in e && e.attributes[0]?.[1]);
  assert.deepEqual(attributes, ['ä', 'ü', 'ä']);
});

test('a byte order mark in front is skipped', () => {
  assert.equal(events('\ufeff<a/>').length, 1);
  assert.equal(events('\ufeff<?xml version="1.0"?>\n<a/>').length, 1);
});

/** [why, input, error] */
const REFUSED: [string, string | Buffer, string][] = [
  [
    'a wrong end tag',
    '<a>\n <b></a>',
    '2:8: unexpected close tag: <b> is open; end it first, or write <b .../>',
  ],
  ['an end tag too many', '<a/></a>', '1:8: unmatched closing tag: a'],
  ['a duplicate attribute', '<a b="1" b="2"/>', '1:16: duplicate attribute: b'],
  ['an attribute without quotes', '<a b=1/>', '1:6: unquoted attribute value'],
  ['an attribute without value', '<a b/>', '1:5: disallowed character in attribute name'],
  ['< in an attribute', '<a b="<"/>', '1:7: disallowed character'],
  ['attributes without space between', '<a b="1"c="2"/>', '1:9: no whitespace between attributes'],
  ['an undefined entity', '<a>&nbsp;</a>', '1:9: undefined entity'],
  ['an unescaped ampersand', '<a b="x&y=1"/>', '1:8: an ampersand that begins no entity; write &amp;'],
  ['a lone ampersand', '<a>\n&', '2:1: the input ends inside <a>; it was cut off'],
  ['an ampersand and a blank', '<a>& ;</a>', '1:4: an ampersand that begins no entity; write &amp;'],
  ['an endless reference', '<a>&aaaaaaaaaaaaaaaaa;', '1:4: an ampersand that begins no entity; write &amp;'],
  ['NUL', '<a b="\0"/>', '1:7: disallowed character'],
  ['an encoded NUL', '<a b="&#0;"/>', '1:10: malformed character entity'],
  ['a control character', '<a>\x1b</a>', '1:4: disallowed character'],
  ['a control character, encoded', '<a>&#x1b;</a>', '1:9: malformed character entity'],
  ['a surrogate, encoded', '<a>&#xd800;</a>', '1:11: malformed character entity'],
  ['U+FFFE', '<a>\ufffe</a>', '1:4: disallowed character'],
  [
    'a document type',
    '\n\n<!DOCTYPE a [<!ENTITY b "c">]>',
    '3:1: a document type or other declaration is not accepted',
  ],
  ['CDATA', '<a>ä<![CDATA[x]]></a>', '1:5: a CDATA section is not accepted'],
  ['an element declaration', '<a><!ELEMENT', '1:4: a document type or other declaration is not accepted'],
  [']]> in text', '<a>x]]></a>', '1:7: the string "]]>" is disallowed in char data'],
  [
    ']]> in a familiar element',
    '<a>x</a><a>y</a><a>]]></a>',
    '1:22: the string "]]>" is disallowed in char data',
  ],
  ['-- in a comment', '<!-- a -- b -->', '1:10: malformed comment'],
  ['text outside', '<a/>\n  x', '2:3: text outside every element'],
  ['a reference outside', '<a/>&#32;', '1:5: text outside every element'],
  ['a declaration inside', '<a><?xml version="1.0"?></a>', '1:4: an XML declaration inside an element'],
  ['a malformed declaration', '<?xml version="1.0" encoding=utf-8?><a/>', '1:1: malformed XML declaration'],
  ['a declaration without version', '<?xml encoding="utf-8"?><a/>', '1:1: malformed XML declaration'],
  ['an endless declaration', `<?xml version="1.0"${' '.repeat(300)}?>`, '1:1: malformed XML declaration'],
  [
    'an unknown encoding',
    '<?xml version="1.0" encoding="utf-16"?>',
    '1:1: encoding utf-16 is not known here; use UTF-8',
  ],
  ['UTF-16', Buffer.from('\ufeff<a/>', 'utf16le'), '1:1: not UTF-8'],
  ['invalid UTF-8', Buffer.from('<a>\n\xc3\xa4\xe4\xb6x</a>', 'latin1'), '2:2: not UTF-8'],
  ['overlong UTF-8', Buffer.from('<a>\xc0\xaf</a>', 'latin1'), '1:4: not UTF-8'],
  ['an encoded surrogate in UTF-8', Buffer.from('<a>\ufffd\xed\xa0\x80</a>', 'latin1'), '1:4: not UTF-8'],
  [
    'bytes that are not ASCII where it was declared',
    '<?xml version="1.0" encoding="US-ASCII"?><a>x\u00e4</a>',
    '1:46: not US-ASCII',
  ],
  ['no name', '< a/>', '1:2: disallowed character in tag name'],
  ['the end inside an element', '<a>\n<b/>\n', '3:1: the input ends inside <a>; it was cut off'],
  ['the end inside a tag', '<a b="', '1:7: the input ends inside a tag; it was cut off'],
  ['the end after <', '<', '1:1: the input ends inside a tag; it was cut off'],
  ['the end inside a comment', '<!-- x --', '1:10: the input ends inside a tag; it was cut off'],
  [
    'the end inside a character',
    Buffer.from('<a/>\xe4', 'latin1'),
    '1:5: the input ends inside a character; it was cut off',
  ],
];

for (const [why, input, message] of REFUSED) {
  test(`refuses ${why}, at the same place whole and byte by byte`, () => {
    const bytes = Buffer.from(input);
    const whole = read([bytes]);
    assert.equal(whole.error?.replace(/^\S+ input:/, ''), message);
    const bytewise = read(cut(bytes, [1]));
    assert.deepEqual([bytewise.events, bytewise.error], [whole.events, whole.error]);
  });
}

test('a wrong end tag is never reported as an end', () => {
  assert.deepEqual(
    read([Buffer.from('<set><url/></sat>')]).events.filter(e => 'close' in e),
    [],
  );
});

test('says cut for what ends early and malformed for what is wrong', () => {
  assert.match(read([Buffer.from('<a>')]).error ?? '', /^data\.cut /);
  assert.match(read([Buffer.from('</a>')]).error ?? '', /^data\.malformed /);
});

test('processing instructions are refused where nobody asked for them', () => {
  const bytes = Buffer.from('<?xml version="1.0"?><a/><?lcc x?>');
  assert.equal(read([bytes]).error, undefined);
  assert.match(
    read([bytes], { instructions: false }).error ?? '',
    /input:1:26: a processing instruction is not accepted here$/,
  );
});

test('is dead after an error, whatever follows', () => {
  const reader = new XmlReader({ open: () => {}, close: () => {} }, LIMITS, { where: 'input' });
  const first = failure(() => reader.write(Buffer.from('<a><<')));
  assert.ok(first instanceof LccError);
  assert.equal(
    failure(() => reader.write(Buffer.from('<a/>'))),
    first,
  );
  assert.equal(
    failure(() => reader.end()),
    first,
  );
});

test('is dead after a handler threw', () => {
  const refusal = new Error('not this one');
  let opened = 0;
  const open = (): void => {
    opened += 1;
    throw refusal;
  };
  const reader = new XmlReader({ open, close: () => {} }, LIMITS, { where: 'input' });
  assert.equal(
    failure(() => reader.write(Buffer.from('<a/><a/>'))),
    refusal,
  );
  assert.equal(
    failure(() => reader.write(Buffer.from('<a/>'))),
    refusal,
  );
  assert.equal(opened, 1);
});

test('tells handlers where the markup they see ends', () => {
  const seen: { line: number; column: number }[] = [];
  const open = (): void => {
    seen.push(reader.position);
  };
  const reader = new XmlReader({ open, close: () => {} }, LIMITS, { where: 'input' });
  for (const piece of cut(Buffer.from('<a>\n<b/><b/>\n ä<b/>'), [5])) reader.write(piece);
  assert.deepEqual(seen, [
    { line: 1, column: 3 },
    { line: 2, column: 4 },
    { line: 2, column: 8 },
    { line: 3, column: 6 },
  ]);
});

/** What the first of the actions to throw threw. */
function failure(...actions: (() => void)[]): unknown {
  for (const action of actions) {
    try {
      action();
    } catch (error) {
      return error;
    }
  }
  return undefined;
}
