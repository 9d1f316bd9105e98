import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { compare } from '../../../src/cp/state/compare.js';
import {
  deletionOf,
  isPlainLine,
  isStateLine,
  keyOf,
  markedUnseen,
  unseenSinceOf,
  withoutMark,
} from '../../../src/cp/state/lines.js';
import { formatUrl } from '../../../src/wire/url.js';

const key = fc.record({
  curl: fc.constantFrom('a', 'a b', 'ab', 'a"', 'ä', 'a/b', 'b'),
  mimetype: fc.constantFrom('t/h', 't/hx'),
});
const site = fc.uniqueArray(fc.tuple(key, fc.nat(2)), {
  selector: ([k]) => `${k.curl} ${k.mimetype}`,
  maxLength: 14,
});
const lineOf = ([k, len]: [{ curl: string; mimetype: string }, number]) =>
  Buffer.from(formatUrl({ ...k, len: String(len) }).trimEnd()).toString('latin1');

const keys = fc.uniqueArray(key, { selector: k => `${k.curl} ${k.mimetype}`, maxLength: 8 });

test('what is sent turns the old state into the new, whichever lines were recognised early', () => {
  fc.assert(
    fc.property(site, site, fc.nat(0xffff), (before, now, mask) => {
      const old = before.map(lineOf).sort();
      const taken = new Set(now.map(lineOf).filter((l, i) => old.includes(l) && (mask >> (i % 16)) & 1));
      const { state, delta, changes } = compared(old, now.map(lineOf), taken, []);
      assert.deepEqual(state, now.map(lineOf).sort());
      assert.deepEqual(applied(old, delta), state);
      assert.equal(delta.length, changes.added + changes.changed + changes.deleted);
      assert.equal(state.length, changes.added + changes.changed + changes.unchanged);
      assert.equal(old.length, changes.deleted + changes.changed + changes.unchanged);
    }),
  );
});

test('whatever a UNS has of the urls in doubt, what is sent turns it into the new state', () => {
  fc.assert(
    fc.property(site, site, site, keys, fc.nat(0xffff), (before, now, other, doubtful, mask) => {
      const old = before.map(lineOf).sort();
      const taken = new Set(now.map(lineOf).filter((l, i) => old.includes(l) && (mask >> (i % 16)) & 1));
      const doubt = doubtful.map(k => keyOf(lineOf([k, 0]))).sort();
      // Of the urls in doubt it has anything, also nothing.
      const isDoubtful = (line: string) => doubt.includes(keyOf(line));
      const has = [...old.filter(l => !isDoubtful(l)), ...other.map(lineOf).filter(isDoubtful)];
      const { state, delta, changes } = compared(old, now.map(lineOf), taken, doubt);
      assert.deepEqual(state, now.map(lineOf).sort());
      assert.deepEqual(applied(has, delta), state);
      assert.deepEqual(delta, [...delta].sort());
      const { added, changed, deleted, unchanged, again, ghosts } = changes;
      assert.equal(delta.length, added + changed + deleted + again);
      assert.equal(state.length, added + changed + unchanged);
      assert.equal(old.length, deleted - ghosts + changed + unchanged);
    }),
  );
});

function compared(
  old: readonly string[],
  now: readonly string[],
  taken: ReadonlySet<string>,
  doubtful: readonly string[],
  keep?: (line: string) => string | undefined,
) {
  const state: string[] = [];
  const delta: string[] = [];
  const changes = compare(
    { lines: old, wasTaken: l => taken.has(l), doubtful, keep },
    now.filter(l => !taken.has(l)).sort(),
    { state: l => state.push(l), delta: l => delta.push(l) },
  );
  return { state, delta, changes };
}

/** What a UNS has after a set. */
function applied(has: readonly string[], delta: readonly string[]): string[] {
  const held = new Map(has.map(l => [keyOf(l), l]));
  for (const l of delta) {
    if (l === deletionOf(keyOf(l))) held.delete(keyOf(l));
    else held.set(keyOf(l), l);
  }
  return [...held.values()].sort();
}

test('a part of a site deletes nothing: what it does not name stays, and what a UNS has of urls in doubt becomes the state', () => {
  fc.assert(
    fc.property(site, site, site, keys, fc.nat(0xffff), (before, now, other, doubtful, mask) => {
      const old = before
        .map((entry, n) => (n % 3 === 0 ? markedUnseen(lineOf(entry), 86_400 * n) : lineOf(entry)))
        .sort();
      const taken = new Set(now.map(lineOf).filter((l, i) => old.includes(l) && (mask >> (i % 16)) & 1));
      const doubt = doubtful.map(k => keyOf(lineOf([k, 0]))).sort();
      const isDoubtful = (line: string) => doubt.includes(keyOf(line));
      const bare = old.map(withoutMark);
      const has = [...bare.filter(l => !isDoubtful(l)), ...other.map(lineOf).filter(isDoubtful)];
      const { state, delta, changes } = compared(old, now.map(lineOf), taken, doubt, line => line);

      const named = new Set(now.map(l => keyOf(lineOf(l))));
      const kept = old.filter(l => !named.has(keyOf(l)));
      const known = new Set([...named, ...old.map(keyOf)]);
      const ghosts = doubt.filter(k => !known.has(k)).map(k => `${k}/>`);
      assert.deepEqual(state, [...now.map(lineOf), ...kept, ...ghosts].sort());
      assert.deepEqual(applied(has, delta), state.map(withoutMark).sort());
      assert.ok(delta.every(l => l !== deletionOf(keyOf(l)) && l === withoutMark(l)));
      assert.equal(changes.kept, kept.length + ghosts.length);
      assert.equal(changes.deleted + changes.ghosts, 0);
    }),
  );
});

test('a line that is forgotten leaves the state in silence, unless it is in doubt', () => {
  const [a, b] = ['a', 'b'].map(curl => lineOf([{ curl, mimetype: 't/h' }, 1])) as [string, string];
  const forgotten = compared([a, b], [], new Set(), [keyOf(b)], () => undefined);
  assert.deepEqual([forgotten.state, forgotten.delta], [[b], [b]]);
  assert.equal(forgotten.changes.rewritten, 1);
});

test('a mark is read as it was written, and comes off', () => {
  const line = lineOf([{ curl: 'a', mimetype: 't/h' }, 1]);
  const marked = markedUnseen(line, 1_000_000_000);
  assert.equal(marked, line.replace('/>', ' unseen="2001-09-09T01:46:40Z"/>'));
  assert.equal(unseenSinceOf(marked), 1_000_000_000);
  assert.equal(withoutMark(marked), line);
  assert.equal(unseenSinceOf(line), undefined);
  assert.equal(withoutMark(line), line);
  assert.ok(isStateLine(marked));
});

test('a key named twice differently is refused, twice the same is once', () => {
  const a1 = lineOf([{ curl: 'a', mimetype: 't/h' }, 1]);
  const a2 = lineOf([{ curl: 'a', mimetype: 't/h' }, 2]);
  const run = (old: string[], fresh: string[], taken: string[] = []) => {
    const state: string[] = [];
    const wasTaken = (line: string) => taken.includes(line);
    const sinks = { state: (l: string) => void state.push(l), delta: () => undefined };
    compare({ lines: old, wasTaken, doubtful: [] }, fresh, sinks);
    return state;
  };
  assert.throws(() => run([], [a1, a2]), { code: 'data.refused', message: /curl="a" .*named twice/ });
  assert.throws(() => run([a1], [a2], [a1]), { code: 'data.refused' });
  assert.throws(() => run([a2], [a1], [a2]), { code: 'data.refused' });
  assert.deepEqual(run([a1], [a1], [a1]), [a1]);
  assert.deepEqual(run([], [a1, a1, a1]), [a1]);
});

test('a line that looks canonical is what formatUrl prints', () => {
  const text = fc.string({
    unit: fc.constantFrom('a', '/', '&', '<', '"', "'", ' ', '\t', 'é', '%', '>', ';', '?'),
    maxLength: 6,
  });
  fc.assert(
    fc.property(fc.record({ curl: text, mimetype: text, len: fc.constantFrom('1', 'x', '') }), record => {
      const line = formatUrl(record).trimEnd();
      if (isPlainLine(line)) assert.doesNotMatch(line.replaceAll('&amp;', ''), /[&\t]| (?=[^=]*$)/);
      if (record.curl !== '' && record.mimetype !== '') assert.ok(isStateLine(line), line);
    }),
  );
  for (const line of [
    '<url curl="a" mimetype="t/h"/>',
    '<url curl="a&amp;b" mimetype="t/h" md5="0123456789abcdef0123456789abcdef" len="5" mtime="2026-01-01T00:00:00Z"/>',
  ])
    assert.ok(isPlainLine(line), line);
  for (const line of [
    '<url curl="a" mimetype="t/h" />',
    "<url curl='a' mimetype='t/h'/>",
    '<url mimetype="t/h" curl="a"/>',
    '<url curl="a&lt;" mimetype="t/h"/>',
    '<url curl="a" mimetype="t/h" len="5" md5="0123456789abcdef0123456789abcdef"/>',
    '<url curl="a" mimetype="t/h" md5="0123456789ABCDEF0123456789abcdef"/>',
    '<url curl="a" mimetype="t/h" mtime="1000"/>',
    '<url curl="" mimetype="t/h"/>',
    '<url curl="a" mimetype="t/h"/><url curl="b" mimetype="t/h"/>',
    '<url curl="a" mimetype="t/h"/> ',
  ])
    assert.ok(!isPlainLine(line), line);
});
