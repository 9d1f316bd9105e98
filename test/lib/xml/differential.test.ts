/** The fast path and saxes must report the same, whatever comes and however it is cut. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { cut, goldenFiles, LIMITS, read } from './events.js';

/** Longer runs: LCC_FUZZ_RUNS=100000. */
const RUNS = Number(process.env['LCC_FUZZ_RUNS'] ?? 400);

const SMALL = { maxTokenBytes: 120, maxDepth: 3, maxAttributes: 4, maxNameBytes: 12 };

function assertSame(input: Uint8Array, sizes: readonly number[]): void {
  for (const limits of [LIMITS, SMALL]) {
    const slow = read([input], { limits, fastPath: false });
    for (const chunks of [[input], cut(input, sizes)]) {
      const fast = read(chunks, { limits });
      assert.deepEqual([fast.events, fast.error], [slow.events, slow.error]);
    }
  }
}

const value = fc.oneof(
  { weight: 6, arbitrary: fc.stringMatching(/^[a-z0-9./?=:-]{0,20}$/) },
  fc.constantFrom(
    'a&amp;b',
    '&lt;&gt;&quot;&apos;',
    '&#65;',
    '&#x41;',
    'ä',
    '日本',
    '😀',
    '>',
    "'",
    ']]>',
    '/>',
  ),
  fc.constantFrom('&', '<', '&nbsp;', '&amp', '\t', '\n', '\r\n', '\0', '\x7f', '\ufffe', 'x'.repeat(130)),
);
const name = fc.constantFrom(
  'url',
  'fetched',
  'lococa:url',
  'a',
  'a.b',
  'url2',
  'ü',
  'veryverylongname',
  '__proto__',
);
const attributeName = fc.constantFrom(
  'curl',
  'mimetype',
  'len',
  'mtime',
  'x:y',
  '__proto__',
  'constructor',
  'é',
  'b-c',
);
const blank = fc.oneof(
  { weight: 8, arbitrary: fc.constant(' ') },
  fc.constantFrom('', '  ', '\n', '\t', '\r'),
);
const quote = fc.oneof({ weight: 8, arbitrary: fc.constant('"') }, fc.constant("'"));
const attribute = fc
  .tuple(blank, attributeName, quote, value)
  .map(([space, attr, q, text]) => `${space}${attr}=${q}${text}${q}`);
const tagEnd = fc.constantFrom('/>', '/>', '/>', ' />', '>', ' >', '/', '');
const between = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('\n', '', '\n  ') },
  fc.constantFrom(
    '\r\n',
    '\r',
    '\n\n',
    'text',
    'a&amp;b',
    '<!-- c -->',
    '<?lcc x?>',
    '</url>',
    '</a>',
    '<a>',
    ']]>',
  ),
  fc.constantFrom(
    '<?xml version="1.0" encoding="iso-8859-1"?>',
    '<?xml version="1.0" encoding="utf-8"?>',
    '<![CDATA[x]]>',
  ),
);
const element = fc
  .tuple(name, fc.array(attribute, { maxLength: 6 }), tagEnd)
  .map(([tag, attributes, end]) => `<${tag}${attributes.join('')}${end}`);
const filled = fc
  .tuple(name, fc.array(attribute, { maxLength: 3 }), value, name, fc.boolean())
  .map(
    ([tag, attributes, text, other, same]) => `<${tag}${attributes.join('')}>${text}</${same ? tag : other}>`,
  );
/** Elements repeat, so that layouts are learnt and used. */
const documentText = fc
  .tuple(
    fc.array(fc.oneof({ weight: 3, arbitrary: element }, filled), { minLength: 1, maxLength: 4 }),
    fc.array(fc.tuple(fc.nat(), between), { maxLength: 16 }),
    fc.boolean(),
  )
  .map(([elements, picks, rooted]) => {
    const body = picks.map(([pick, gap]) => `${elements[pick % elements.length]}${gap}`).join('');
    return rooted ? `<set>${body}</set>` : body;
  });
const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 30 });

test('reads made-up documents the same with and without the fast path, in any pieces', () => {
  fc.assert(
    fc.property(documentText, sizes, (text, pieces) => assertSame(Buffer.from(text), pieces)),
    { numRuns: RUNS },
  );
});

const golden = goldenFiles().map(([, bytes]) => bytes);
const mutation = fc.oneof(
  fc.record({ kind: fc.constant('set' as const), at: fc.nat(), byte: fc.integer({ min: 0, max: 255 }) }),
  fc.record({
    kind: fc.constant('set' as const),
    at: fc.nat(),
    byte: fc.constantFrom(...Buffer.from('<>&;"\'/=!?] \n\r-x')),
  }),
  fc.record({ kind: fc.constant('drop' as const), at: fc.nat(), length: fc.integer({ min: 1, max: 20 }) }),
  fc.record({ kind: fc.constant('repeat' as const), at: fc.nat(), length: fc.integer({ min: 1, max: 120 }) }),
);

test('reads mutated golden files the same with and without the fast path, in any pieces', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...golden),
      fc.array(mutation, { maxLength: 3 }),
      sizes,
      (file, mutations, pieces) => {
        let bytes = Buffer.from(file);
        for (const change of mutations) {
          const at = change.at % bytes.length;
          if (change.kind === 'set') bytes[at] = change.byte;
          else if (change.kind === 'drop')
            bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + change.length)]);
          else bytes = Buffer.concat([bytes.subarray(0, at + change.length), bytes.subarray(at)]);
          if (bytes.length === 0) return;
        }
        assertSame(bytes, pieces);
      },
    ),
    { numRuns: RUNS },
  );
});
