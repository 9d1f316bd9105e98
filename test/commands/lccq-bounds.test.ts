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

describe('memory', () => {
  /** Shell command of the consumer: prints the peak memory of lccq so far. */
  const PEAK = 'sed -n "s/^VmHWM:[^0-9]*\\([0-9]*\\) kB/\\1/p" /proc/$PPID/status';
  const peakKilobytes = (...args: string[]) => {
    const consumer = `cat >/dev/null; ${PEAK}`;
    const { status, stdout, stderr } = runLccq(cache, [...args, '--', 'sh', '-c', consumer]);
    assert.equal(status, 0, stderr);
    const peak = Number(stdout.toString());
    assert.ok(peak > 0);
    return peak;
  };

  for (const args of [
    ['--format=tar'],
    ['--format=tar.gz'],
    ['--format=warc'],
    ['--format=jsonl', '--content'],
    ['--format=xml', '--content'],
  ]) {
    it(`of ${args.join(' ')} does not depend on the size of content`, () => {
      cache.put({ curl: 'http://x/1', mimetype: 'image/png', content: Buffer.alloc(1_000_000) });
      const small = peakKilobytes(...args);
      cache.put({ curl: 'http://x/1', mimetype: 'image/png', content: Buffer.alloc(200_000_000) });
      const large = peakKilobytes(...args);
      // V8 keeps up to 70 MB of pieces that are no longer used, whatever the size.
      assert.ok(large - small < 100 * 1024, `${small} kB, then ${large} kB`);
    });
  }

  for (const args of [
    ['--format=fts5-sql'],
    ['--format=scriptindex'],
    ['--format=ntvml'],
    ['--format=swish-e'],
    ['--format=jsonl', '--text'],
  ]) {
    it(`of ${args.join(' ')} has a bound: a page beyond it is reported, and what comes after it is told`, () => {
      cache.put({ curl: 'http://x/1', mimetype: 'text/plain', content: Buffer.alloc(199_000_000, 'word ') });
      cache.put({ curl: 'http://x/2', content: '<p>other' });
      const into = () =>
        runLccq(cache, [`--cursor=${cursor}`, ...args, '--', 'sh', '-c', `grep -ac other; ${PEAK}`]);
      const { status, stdout, stderr } = into();
      assert.equal(status, 1);
      assert.match(
        stderr,
        /^lccq: http:\/\/x\/1: left without text: 199000000 bytes, more than 16 MB \(cu\.max_text_bytes\)$/m,
      );
      const [found, peak] = stdout.toString().trim().split('\n').map(Number);
      assert.equal(found, 1);
      assert.ok(Number(peak) < 300 * 1024, `${peak} kB`);
      // The cursor has moved past it.
      assert.deepEqual([into().status, into().stdout.length], [0, 0]);
    });
  }

  it('has a bound for the largest page that text is made of, whatever is in it', () => {
    const most = 16 * 1024 * 1024;
    for (const piece of ['<p>a', '<a href=x>y</a>', 'a&shy;\n'])
      cache.put({ curl: `http://x/${piece.length}`, content: Buffer.alloc(most, piece) });
    for (const args of [['--format=fts5-sql'], ['--format=jsonl', '--text']]) {
      const peak = peakKilobytes(...args);
      assert.ok(peak < 400 * 1024, `${args.join(' ')}: ${peak} kB`);
    }
  });
});
