import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { feedAsked } from '../../../src/cu/http/request.js';

const STORE = '6f3f3c7e-3a0c-4b1c-9b57-5c4c1c2b0a11';
const asked = (query: string, headers: Record<string, string> = {}) =>
  feedAsked({ url: `/changes${query}`, headers });

describe('parameters of the change feed', () => {
  it('mean what options of lccq do, within their bounds', () => {
    const { query, fields, text, waitMs, isStream } = asked(
      `?cursor=${STORE}:7:9&limit=10000&wait=60&pid=3&prefix=https://h/?q=a%2Bb&mime=application/*+xml&deleted=only&fields=op,curl&with=text`,
    );
    assert.deepEqual(query, {
      content: false,
      cursor: { storeId: STORE, seq: 7, began: 9 },
      limit: 10_000,
      pid: 3,
      prefix: 'https://h/?q=a+b',
      // A plus is a plus: types have them, and no value has a space.
      mime: 'application/*+xml',
      deleted: 'only',
    });
    assert.deepEqual([fields, text, waitMs, isStream], [['op', 'curl'], 'readable', 60_000, false]);
    assert.deepEqual(asked('').query, { content: false, limit: 1000 });
    assert.deepEqual(asked('?cursor=').query.cursor, undefined, 'a shell that has none yet');
    assert.equal(asked('?cursor=now').fromNow, true);
  });

  it('of a stream have no limit unless asked for, and its last event is before its cursor', () => {
    const stream = asked(`?cursor=now`, { accept: 'text/event-stream', 'last-event-id': `${STORE}:5` });
    assert.deepEqual(
      [stream.isStream, stream.fromNow, stream.query],
      [true, false, { content: false, cursor: { storeId: STORE, seq: 5 } }],
    );
    assert.equal(asked('', { 'last-event-id': 'x' }).query.cursor, undefined, 'of a poll it is nothing');
  });

  for (const [query, complaint] of [
    ['?since=2h', 'no parameter since; there are cursor, '],
    ['?Pid=1', 'no parameter Pid'],
    ['?__proto__=1', 'no parameter __proto__'],
    ['?content=yes', 'no parameter content'],
    ['?pid=1&pid=2', 'pid is there twice'],
    ['?pid=0', 'pid=0: give a number from 1'],
    ['?pid=1e3', 'pid=1e3: give a number from 1'],
    ['?limit=10001', 'limit=10001: give a number from 1 to 10000'],
    ['?limit=0', 'limit=0: give a number from 1'],
    ['?wait=61', 'wait=61: give seconds, at most 60'],
    ['?wait=-1', 'wait=-1: give seconds'],
    ['?wait=1.5', 'wait=1.5: give seconds'],
    ['?cursor=7', 'cursor=7: give one that an answer had'],
    [`?cursor=${STORE}`, 'give one that an answer had'],
    ['?deleted=maybe', 'deleted=maybe: give only, no or yes'],
    ['?with=pdf', 'with=pdf: give text, markdown, chunks, content'],
    ['?with=toString', 'with=toString: give text'],
    ['?mime=*[a-z]*[a-z]*[a-z]*', 'at most 3 stars'],
    [`?fields=${'op,'.repeat(100)}op`, 'more than 100 names'],
    ['?fields=curl,colour', 'unknown field "colour"'],
    [`?mime=${'*'.repeat(1001)}`, 'at most 1000 characters'],
  ] as const)
    it(`refuse ${query.slice(0, 30)}`, () => {
      assert.throws(
        () => asked(query),
        ({ message }: Error) => message.includes(complaint),
      );
    });

  it('refuse a last event that is no cursor', () => {
    assert.throws(() => asked('', { accept: 'text/event-stream', 'last-event-id': 'x' }), /cursor=x/);
  });
});
