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

function seenOf(text: string, maxBytes?: number): Seen {
  writeFileSync(path, text, 'latin1');
  const file = new Statefile(path);
  try {
    return new Seen(file, maxBytes);
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
      const state = old.sort();
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
      let offset = 0;
      for (const one of state) {
        assert.equal(seen.wasTaken(offset), !missing.has(one));
        offset += one.length + 1;
      }
      assert.equal(seen.isComplete, missing.size === 0);
      assert.equal(seen.total, state.length);
    }),
  );
});

test('a state too large to hold, or one with more lines than there are places, is left to sorting', () => {
  const lines = Array.from({ length: 5000 }, (_, n) => `<url curl="page-${n}" mimetype="t/h"/>`);
  const large = seenOf(textOf(lines), 100);
  assert.equal(large.take(Buffer.from(textOf(lines)), 0), 0);
  assert.ok(!large.isComplete && !large.wasTaken(0));

  // All the same, and so all in one row of places: no more than the bound are found, and the state is not complete.
  const same = textOf(Array.from({ length: 5000 }, () => '<a/>'));
  const crowded = seenOf(same);
  crowded.take(Buffer.from(same), 0);
  assert.ok(crowded.taken <= 64);
  assert.ok(!crowded.isComplete);
});

test('a state whose last line is cut is refused, with its number', () => {
  assert.throws(() => seenOf('<a/>\n<b'), { code: 'data.malformed', message: /state\.txt:2: it is cut off/ });
});
