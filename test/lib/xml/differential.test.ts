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

type Write = (values: string[]) => string;

/** Documents whose elements have few shapes and many values, so that layouts are learnt and used. */
function documents(kind: 'well-formed' | 'anything'): fc.Arbitrary<string> {
  const wild = kind === 'anything';
  /** Mostly the first; of the last only what is well-formed when that is asked for. */
  const mix = (good: fc.Arbitrary<string>, odd: string[], bad: string[]): fc.Arbitrary<string> =>
    fc.oneof(
      { weight: 12, arbitrary: good },
      { weight: 4, arbitrary: fc.constantFrom(...odd) },
      { weight: wild ? 1 : 0, arbitrary: fc.constantFrom(...bad) },
    );
  const value = mix(
    fc.stringMatching(/^[a-z0-9./?=:-]{0,20}$/),
    [
      'a&amp;b',
      '&lt;&gt;&quot;&apos;',
      '&#65;',
      '&#x41;',
      'ä',
      '日本',
      '😀',
      '>',
      ']',
      '/>',
      '\t',
      '\n',
      '\r\n',
      '\x7f',
    ],
    ['<', '&', '&amp', ']]>', '&nbsp;', '"', '\0', '\ufffe', 'x'.repeat(130)],
  );
  const name = mix(
    fc.constantFrom('url', 'fetched', 'lococa:url'),
    ['a', 'a.b', 'url2', 'ü', '__proto__'],
    ['veryverylongname', '1a', ''],
  );
  const attributeName = mix(
    fc.constantFrom('curl', 'mimetype', 'len', 'mtime'),
    ['x:y', '__proto__', 'constructor', 'é', 'b-c'],
    ['veryverylongname', '1a', ''],
  );
  const blank = mix(fc.constant(' '), ['  ', '\n', '\t', '\r'], ['', '\0']);
  const quote = mix(fc.constant('"'), ["'"], ['']);
  const end = mix(fc.constant('/>'), [' />', '  />', '\n/>'], ['>', ' >', '/', '']);
  const between = mix(
    fc.constantFrom('\n', '', '\n  '),
    ['\r\n', '\r', '\n\n', '<!-- c -->', '<?lcc x?>', '<a></a>'],
    ['text', '</url>', '<a>', ']]>', '<![CDATA[x]]>', '<?xml version="1.0" encoding="iso-8859-1"?>'],
  );
  const attributes = fc.uniqueArray(fc.tuple(attributeName, blank, quote), {
    maxLength: 6,
    selector: attribute => (wild ? attribute.join() : attribute[0]),
  });
  const startTag = fc
    .tuple(name, attributes)
    .map(([tag, row]): [string, Write] => [
      tag,
      values => `<${tag}${row.map(([a, space, q], i) => `${space}${a}=${q}${values[i] ?? ''}${q}`).join('')}`,
    ]);
  const empty = fc.tuple(startTag, end).map(
    ([[, start], close]): Write =>
      values =>
        `${start(values)}${close}`,
  );
  const withText = fc.tuple(startTag, mix(fc.constant(''), [' '], ['x'])).map(
    ([[tag, start], tail]): Write =>
      values =>
        `${start(values)}>${values.at(-1) ?? ''}</${tag}${tail}>`,
  );
  return fc
    .tuple(
      fc.array(fc.oneof(empty, withText), { minLength: 1, maxLength: 3 }),
      fc.array(fc.tuple(fc.nat(), fc.array(value, { maxLength: 7 }), between), { maxLength: 16 }),
      fc.boolean(),
    )
    .map(([elements, picks, rooted]) => {
      const body = picks
        .map(([pick, values, gap]) => `${elements[pick % elements.length]?.(values)}${gap}`)
        .join('');
      return rooted ? `<set>${body}</set>` : body;
    });
}

const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 30 });

for (const kind of ['well-formed', 'anything'] as const) {
  test(`reads ${kind} the same with and without the fast path, in any pieces`, () => {
    fc.assert(
      fc.property(documents(kind), sizes, (text, pieces) => assertSame(Buffer.from(text), pieces)),
      { numRuns: RUNS },
    );
  });
}

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
