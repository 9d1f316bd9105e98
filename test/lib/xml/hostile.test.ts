/** Input made to hurt: each kind is refused after at most 256 KB of it, however much would have followed. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { XmlReader } from '../../../src/lib/xml/reader.js';
import { cut, LIMITS, read } from './events.js';

const MAX_CONSUMED_BYTES = 256 * 1024;
const CHUNK_BYTES = 16 * 1024;
/** Offered at most; a reader that takes it all has no limit. */
const OFFERED_BYTES = 2 * 1024 * 1024;

/** `head`, then `body` over and over, in chunks as a socket delivers them. */
function* endless(head: string, body: string): Generator<Uint8Array> {
  const block = Buffer.from(body.repeat(Math.ceil(CHUNK_BYTES / body.length)));
  yield Buffer.from(head);
  for (let offered = 0; offered < OFFERED_BYTES; offered += block.length) yield block;
}

/** [what, head, body, error] */
const HOSTILE: [string, string, string, RegExp][] = [
  [
    'attribute value',
    '<a b="',
    'x',
    /^limit input:1:65537: markup longer than 65536 characters \(xml\.token_bytes\)$/,
  ],
  ['attribute value that is all >', '<a b="', '>', /^limit input:1:65537: markup longer/],
  ['attribute value of references', '<a b="', '&amp;', /^limit input:1:65537: markup longer/],
  ['text', '<a>', 'x', /^limit input:1:65540: text longer than 65536 characters \(xml\.token_bytes\)$/],
  ['text of references', '<a>', '&lt;', /^limit input:1:65540: text longer/],
  ['text of brackets', '<a>', ']', /^limit input:1:65540: text longer/],
  ['white space inside', '<a>', ' ', /^limit input:1:65540: text longer/],
  ['white space outside', '', '\n', /^limit input:65537:1: text longer/],
  ['comment', '<!--', 'x', /^limit input:1:65537: markup longer/],
  ['comment that is all >', '<!--', '>', /^limit input:1:65537: markup longer/],
  ['processing instruction', '<?lcc ', 'x', /^limit input:1:65537: markup longer/],
  ['declaration', '<?xml ', ' ', /^data\.malformed input:1:1: malformed XML declaration$/],
  ['element name', '<', 'x', /^limit input:1:65537: markup longer/],
  ['end tag', '<a></a', ' ', /^limit input:1:65540: markup longer/],
  ['attribute name', '<a ', 'x', /^limit input:1:65537: markup longer/],
  ['row of attributes, all the same', '<a', ' b="1"', /^limit input:1:65537: markup longer/],
  ['blanks in a tag', '<a', ' ', /^limit input:1:65537: markup longer/],
  ['reference', '<a>&', 'x', /^data\.malformed input:1:4: an ampersand that begins no entity/],
  ['numeric reference', '<a b="&#', '0', /^data\.malformed input:1:7: an ampersand that begins no entity/],
  ['nesting', '', '<a>', /^limit input:1:27: elements nested deeper than 8$/],
  ['nesting with attributes', '', '<a b="c">', /^limit input:1:81: elements nested deeper than 8/],
  [
    'nesting of familiar elements',
    '<b c="d"/>',
    '<a><b c="d"/>',
    /^limit input:\S+ elements nested deeper than 8/,
  ],
  [
    'entity declarations',
    '<!DOCTYPE a [',
    '<!ENTITY a "aaaa">',
    /^data\.malformed input:1:1: a document type/,
  ],
  ['document type name', '<!DOCTYPE ', 'a', /^data\.malformed input:1:1: a document type/],
  ['CDATA section', '<a><![CDATA[', 'x', /^data\.malformed input:1:4: a CDATA section/],
  ['NUL', '', '\0', /^data\.malformed input:1:1: text outside/],
];

for (const [what, head, body, error] of HOSTILE) {
  test(`an endless ${what} is refused before 256 KB of it were read`, () => {
    const outcome = read(endless(head, body));
    assert.match(outcome.error ?? '', error);
    assert.ok(outcome.consumed <= MAX_CONSUMED_BYTES, `${outcome.consumed} bytes were consumed`);
  });
}

for (const [what, body] of [
  ['comments', '<!-- x -->\n'],
  ['empty comments', '<!---->'],
  ['declarations', '<?xml version="1.0"?>\n'],
  ['declarations that change the encoding', '<?xml version="1.0" encoding="latin1"?><?xml version="1.0"?>'],
  ['instructions', '<?lcc x?>'],
  ['white space and comments', `${' '.repeat(1000)}<!---->`],
] as const) {
  test(`an endless row of ${what} is refused where a message is awaited, at the byte that was agreed`, () => {
    const reader = new XmlReader({ open() {}, close() {}, instruction() {} }, LIMITS, { where: 'input' });
    reader.allow(100_000, '100000 bytes (a.key)');
    let consumed = 0;
    assert.throws(
      () => {
        for (const chunk of endless('', body)) {
          reader.write(chunk);
          consumed += chunk.length;
        }
      },
      { code: 'limit', message: /^input:\d+:\d+: no message in 100000 bytes \(a\.key\)$/ },
    );
    assert.ok(consumed <= 100_000 && consumed > 100_000 - 2 * CHUNK_BYTES, String(consumed));
  });
}

test('what was allowed counts from the last message on, to the byte, however it is cut', () => {
  for (const size of [1, 7, 1000]) {
    const reader: XmlReader = new XmlReader(
      { open: () => reader.allow(20, '20 bytes'), close() {} },
      LIMITS,
      {
        where: 'input',
      },
    );
    reader.allow(24, '24 bytes');
    const write = (text: string) => {
      for (const piece of cut(Buffer.from(text), [size])) reader.write(piece);
    };
    write(`${' '.repeat(20)}<a/>`);
    write(' '.repeat(20));
    assert.throws(() => write(' '), /no message in 20 bytes/);
  }
});

test('an attribute is refused at the same character however it is cut', () => {
  const bytes = Buffer.from(`<a b="${'x'.repeat(100_000)}"/>`);
  assert.equal(read([bytes]).error, read(endless('<a b="', 'x')).error);
});

test('what is just within the limits is read', () => {
  const attributes = Array.from({ length: LIMITS.maxAttributes }, (_, i) => ` a${i}=""`).join('');
  const name = 'n'.repeat(LIMITS.maxNameBytes);
  const longest = `<a b="${'x'.repeat(LIMITS.maxTokenBytes - '<a b=""/>'.length)}"/>`;
  const text = `<a>${'x'.repeat(LIMITS.maxTokenBytes)}</a>`;
  const deepest = `${'<a>'.repeat(LIMITS.maxDepth)}${'</a>'.repeat(LIMITS.maxDepth)}`;
  for (const input of [`<a${attributes}/>`, `<${name} ${name}=""/>`, longest, text, deepest]) {
    assert.equal(read([Buffer.from(input + input)]).error, undefined, input.slice(0, 40));
  }
});

test('what is just beyond the limits is refused', () => {
  const attributes = Array.from({ length: LIMITS.maxAttributes + 1 }, (_, i) => ` a${i}=""`).join('');
  const name = 'n'.repeat(LIMITS.maxNameBytes + 1);
  const longest = `<a b="${'x'.repeat(LIMITS.maxTokenBytes + 1 - '<a b=""/>'.length)}"/>`;
  const text = `<a>${'x'.repeat(LIMITS.maxTokenBytes + 1)}</a>`;
  const deepest = `${'<a>'.repeat(LIMITS.maxDepth)}<b/>`;
  for (const input of [`<a${attributes}/>`, `<${name}/>`, `<a ${name}=""/>`, longest, text, deepest]) {
    assert.match(read([Buffer.from(input)]).error ?? '', /^limit /, input.slice(0, 40));
  }
});

test('a familiar element is refused where it is too long, too deep, or follows too much text', () => {
  const familiar = '<b c=""/>';
  const tooLong = `<b c="${'x'.repeat(LIMITS.maxTokenBytes)}"/>`;
  assert.match(read([Buffer.from(familiar + tooLong)]).error ?? '', /^limit input:1:65546: markup longer/);
  const tooDeep = familiar + '<a>'.repeat(LIMITS.maxDepth) + familiar;
  assert.match(read([Buffer.from(tooDeep)]).error ?? '', /^limit input:\S+ elements nested deeper/);
  const tooMuch = `<a>${familiar}${familiar}\n${' '.repeat(LIMITS.maxTokenBytes)}${familiar}`;
  assert.match(read([Buffer.from(tooMuch)]).error ?? '', /^limit input:\S+ text longer/);
});

test('20 000 nested elements cost no more than the eight that are read', () => {
  const { consumed, events } = read([Buffer.from('<a>'.repeat(20_000))]);
  assert.equal(consumed, 60_000);
  assert.equal(events.length, LIMITS.maxDepth);
});

test('an element for every shape there is does not make the reader slower for ever', () => {
  const shapes = Array.from({ length: 5000 }, (_, i) => `<a b${i}="1"/>`).join('\n');
  const outcome = read([Buffer.from(shapes)]);
  assert.equal(outcome.error, undefined);
  assert.equal(outcome.events.filter(event => 'open' in event).length, 5000);
});
