import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { describe, it } from 'node:test';
import { FORMAT_NAMES } from '../../src/cu/formats/index.js';
import { cache, cursor } from '../support/cursor.js';
import { runLccq } from '../support/lccq.js';

describe('a stream killed half-way', () => {
  for (const format of FORMAT_NAMES) {
    it(`of ${format} leaves the cursor where it was, and everything comes again`, () => {
      // More than a pipe holds, whatever the format makes of it.
      const noise = (i: number) => Array.from({ length: 800 }, (_, j) => Math.sin(i * 1000 + j)).join(' ');
      cache.db.transaction(() => {
        for (let i = 0; i < 12; i++) {
          const curl = `http://x/${i}/${'y'.repeat(3000)}`;
          cache.put({ curl });
          cache.put({ curl, content: `<p>${noise(i)}` });
        }
      })();
      const into = (...command: string[]) =>
        runLccq(cache, [`--cursor=${cursor}`, `--format=${format}`, '--', ...command]);
      const killed = into('sh', '-c', 'head -c 2000 >/dev/null; kill -9 $PPID');
      assert.equal(killed.status, null);
      assert.ok(!existsSync(cursor));
      const whole = into('cat');
      assert.equal(whole.status, 0, whole.stderr);
      assert.ok(existsSync(cursor));
      assert.ok(whole.stdout.length > 0);
      assert.equal(into('cat').stdout.length, 0);
    });
  }
});
