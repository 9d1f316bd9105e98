import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { compare } from '../../../src/cp/state/compare.js';
import { isPlainLine, isStateLine, keyOf } from '../../../src/cp/state/lines.js';
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

test('what is sent turns the old state into the new, whichever lines were recognised early', () => {
  fc.assert(
    fc.property(site, site, fc.nat(0xffff), (before, now, mask) => {
      const old = before.map(lineOf).sort();
      const taken = new Set(now.map(lineOf).filter((l, i) => old.includes(l) && (mask >> (i % 16)) & 1));
      const fresh = now
        .map(lineOf)
        .filter(l => !taken.has(l))
        .sort();
      const state: string[] = [];
      const delta: string[] = [];
      const counts = compare(old, fresh, l => taken.has(l), {
        state: l => state.push(l),
        delta: l => delta.push(l),
      });
      assert.deepEqual(state, now.map(lineOf).sort());

      const applied = new Map(old.map(l => [keyOf(l), l]));
      for (const l of delta) {
        if (l.endsWith(' op="delete"/>')) assert.ok(applied.delete(keyOf(l)));
        else applied.set(keyOf(l), l);
      }
      assert.deepEqual([...applied.values()].sort(), state);
      assert.equal(delta.length, counts.added + counts.changed + counts.deleted);
      assert.equal(state.length, counts.added + counts.changed + counts.unchanged);
      assert.equal(old.length, counts.deleted + counts.changed + counts.unchanged);
    }),
  );
});

test('a key named twice differently is refused, twice the same is once', () => {
  const a1 = lineOf([{ curl: 'a', mimetype: 't/h' }, 1]);
  const a2 = lineOf([{ curl: 'a', mimetype: 't/h' }, 2]);
  const run = (old: string[], fresh: string[], taken: string[] = []) => {
    const state: string[] = [];
    compare(old, fresh, l => taken.includes(l), { state: l => state.push(l), delta: () => undefined });
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
