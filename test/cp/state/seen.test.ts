import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import fc from 'fast-check';
import { Seen } from '../../../src/cp/state/seen.js';
import { Statefile } from '../../../src/cp/state/statefile.js';

const dir = mkdtempSync(join(tmpdir(), 'seen-'));
after(() => rmSync(dir, { recursive: true }));
const path = join(dir, 'state.txt');

function seenOf(text: string, mostPlaces?: number): Seen {
  writeFileSync(path, text, 'latin1');
  const file = new Statefile(path);
  try {
    return new Seen(file, mostPlaces);
  } finally {
    file.close();
  }
}
const textOf = (lines: readonly string[]) => lines.map(line => `${line}\n`).join('');
/** Lines that differ in length, at the end, and inside a word of four bytes. */
const line = fc
  .tuple(fc.constantFrom('<a', '<ab', '<\xe4', '<url curl="x"'), fc.nat(30), fc.constantFrom('', '/>', '/'))
  .map(([begin, n, end]) => `${begin}${'0123456'.repeat(5).slice(0, n)}${end}`);

test('recognises each line of the old state once, wherever chunks are cut, and nothing else', () => {
  fc.assert(
    fc.property(fc.uniqueArray(line), fc.array(line), fc.nat(), (old, now, cut) => {
      const state = old.sort((a, b) => Buffer.compare(Buffer.from(a, 'latin1'), Buffer.from(b, 'latin1')));
      const seen = seenOf(textOf(state));
      const missing = new Set(state);
      const bytes = Buffer.from(textOf(now), 'latin1');
      const end = bytes.length === 0 ? 0 : cut % bytes.length;
      for (let at = 0, i = 0; i < now.length;) {
        // First with an end that may lie inside a line, then whole.
        const before = seen.taken;
        const next = seen.take(bytes, at < end ? seen.take(bytes.subarray(0, end), at) : at);
        for (const stop = i + seen.taken - before; i < stop; i++) assert.ok(missing.delete(now[i]!));
        if (i === now.length) break;
        assert.ok(!missing.has(now[i]!), 'a line of the state was not recognised');
        at = next + now[i]!.length + 1;
        i += 1;
      }
      for (const [n, one] of state.entries()) assert.equal(seen.wasTaken(n), !missing.has(one));
      assert.equal(seen.isComplete, missing.size === 0);
      assert.equal(seen.total, state.length);
    }),
  );
});

test('of a state with more lines than there are places, some are recognised, and the rest is left to sorting', () => {
  const lines = Array.from({ length: 5000 }, (_, n) => `<url curl="page-${n}" mimetype="t/h"/>`).sort();
  const whole = seenOf(textOf(lines));
  whole.take(Buffer.from(textOf(lines)), 0);
  assert.ok(whole.isComplete);

  const small = seenOf(textOf(lines), 1024);
  for (const line of lines) small.take(Buffer.from(`${line}\n`), 0);
  assert.ok(small.taken > 512 && small.taken < 1024);
  assert.ok(!small.isComplete);
  assert.equal(lines.filter((_, n) => small.wasTaken(n)).length, small.taken);
});

test('a state whose lines are not in order is refused, with the number of the first, wherever it is read in pieces', () => {
  const lines = Array.from({ length: 9000 }, (_, n) => `<url curl="page-${n}" mimetype="t/h"/>`).sort();
  for (const [n, line] of [
    [1, lines[0]!],
    [2, lines[0]!],
    [5000, lines[0]!],
    [8999, lines[8997]!],
  ] as const) {
    const wrong = lines.with(n, line);
    assert.throws(() => seenOf(textOf(wrong)), {
      code: 'data.malformed',
      message: new RegExp(`state\\.txt:${n + 1}: it is not in order`),
    });
  }
  assert.throws(() => seenOf(textOf(lines.toReversed())), { message: /:2: it is not in order/ });
});

test('a state whose last line is cut is refused, with its number', () => {
  assert.throws(() => seenOf('<a/>\n<b'), { code: 'data.malformed', message: /state\.txt:2: it is cut off/ });
});
