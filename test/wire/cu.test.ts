import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { CuReader, type CuEvent } from '../../src/wire/cu.js';
import { ROOT } from '../support/tree.js';

const LIMITS = { maxTokenBytes: 4096, maxDepth: 8, maxAttributes: 32, maxNameBytes: 256 };
const STORE = '6f3f3c7e-3a0c-4b1c-9b57-5c4c1c2b0a11';

function read(document: string | Buffer, pieceBytes = Infinity): CuEvent[] {
  const reader = new CuReader(LIMITS, 'cu');
  const bytes = Buffer.from(document);
  const events: CuEvent[] = [];
  for (let at = 0; at < bytes.length; at += pieceBytes)
    events.push(...reader.read(bytes.subarray(at, at + pieceBytes)));
  return [...events, ...reader.end()];
}

describe('queries of content users', () => {
  const golden = readFileSync(join(ROOT, 'test/golden/cu-queries.xml'));

  it('are read alike whole and byte by byte', () => {
    const whole = read(golden);
    assert.deepEqual(whole, [
      { kind: 'reader', name: 'search', password: 'a&b' },
      {
        kind: 'query',
        query: { content: true, pid: 7, mime: 'text/*', prefix: 'http://www.example.org/dé/' },
      },
      {
        kind: 'query',
        query: { content: false, cursor: { storeId: STORE, seq: 48213 }, deleted: 'only', limit: 100 },
      },
      { kind: 'query', query: { content: false, since: '2h', until: '2026-11-20' } },
      { kind: 'query', query: { content: false } },
      { kind: 'query', query: { content: false, last: true } },
    ]);
    assert.deepEqual(read(golden, 1), whole);
  });

  for (const [document, code, text] of [
    ['<query mime="*[a-z]*[a-z]*[a-z]*"/>', 104, /at most 3 stars/],
    [`<query fields="${Array.from({ length: 101 }, (_, n) => `f${n}`).join()}"/>`, 104, /at most 100 names/],
    ['<query by="url"/>', 104, /<query by>: give fields as well/],
    ['<query content="text"/>', 104, /<query content>: give fields as well/],
    ['<query fields="seq" by="page"/>', 104, /give row, shown or url/],
    ['<query fields="seq" after="7"/>', 104, /<query after="7">: give one that an answer had/],
    ['<query pidd="7"/>', 104, /line 1, column 17: <query>: no attribute pidd/],
    ['<query pid="-1"/>', 104, /<query pid="-1">: give a number from 1/],
    ['<query limit="0"/>', 104, /give a number from 1/],
    [`<query mime="${'*'.repeat(1001)}"/>`, 104, /give at most 1000 characters/],
    ['<query cursor="17"/>', 104, /give one that an answer had, .* or leave it out for everything/],
    [`<query cursor="${STORE}:1" since="1h"/>`, 104, /give cursor or since/],
    ['<query deleted="maybe"/>', 104, /give only, no or yes/],
    ['<query content="true"/>', 104, /give yes or no/],
    ['<query last="1"/>', 104, /give yes or no/],
    ['<set/>', 104, /<set> is not expected here/],
    ['<query><query/></query>', 104, /<query> inside another element/],
    ['<query>all</query>', 104, /text: "all"/],
    ['<query pid="1" pid="2"/>', 103, /column/],
    ['<query', 103, /ends inside/],
    ['<query></quer>', 103, /line 1/],
    ['<!DOCTYPE query []><query/>', 103, /document type/],
    ['<?xml-stylesheet href="x"?><query/>', 103, /processing instruction/],
    [`<query prefix="${'x'.repeat(5000)}"/>`, 106, /xml\.token_bytes/],
    [
      `<query ${Array.from({ length: 40 }, (_, i) => `xmlns:a${i}="b"`).join(' ')}/>`,
      106,
      /more than 32 attributes/,
    ],
  ] as const) {
    it(`are refused: ${document.slice(0, 60)}`, () => {
      const [problem, ...more] = read(document).slice(-1);
      assert.equal(more.length, 0);
      assert.equal(problem?.kind, 'problem');
      assert.equal(problem?.kind === 'problem' && problem.code, code);
      assert.match(problem?.kind === 'problem' ? problem.text : '', text);
    });
  }

  it('ask for everything with an empty cursor, as a shell writes one that it has not got yet', () => {
    assert.deepEqual(read('<query cursor=""/>'), [{ kind: 'query', query: { content: false } }]);
  });

  it('are not answered before their end tag: one that is cut is only refused', () => {
    assert.deepEqual(
      read('<query><foo').map(event => event.kind),
      ['problem'],
    );
    assert.deepEqual(
      read('<query></query>').map(event => event.kind),
      ['query'],
    );
  });

  it('end at the first problem, whatever follows', () => {
    const reader = new CuReader(LIMITS, 'cu');
    assert.deepEqual(
      reader.read(Buffer.from('<query/><nonsense/><query/>')).map(event => event.kind),
      ['query', 'problem'],
    );
    assert.deepEqual(reader.read(Buffer.from('<query/>')), []);
  });

  it('make a problem of any other bytes, and never throw', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 64 }),
        fc.nat(golden.length),
        fc.integer({ min: 1, max: 9 }),
        (noise, at, pieceBytes) => {
          const document = Buffer.concat([golden.subarray(0, at), noise, golden.subarray(at)]);
          const events = read(document, pieceBytes);
          assert.ok(events.slice(0, -1).every(event => event.kind !== 'problem'));
        },
      ),
    );
  });
});
