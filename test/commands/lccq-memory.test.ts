/** How much memory lccq takes for what it reads. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { cache, cursor } from '../support/cursor.js';
import { runLccq } from '../support/lccq.js';

describe('memory of lccq', () => {
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

  it('of what has content in it does not depend on its size', () => {
    const peaks = (size: number) => {
      cache.put({ curl: 'http://x/1', mimetype: 'image/png', content: Buffer.alloc(size) });
      return [
        ['--format=tar'],
        ['--format=tar.gz'],
        ['--format=warc'],
        ['--format=jsonl', '--content'],
        ['--format=xml', '--content'],
      ].map(args => ({ args, peak: peakKilobytes(...args) }));
    };
    const small = peaks(1_000_000);
    for (const [i, { args, peak }] of peaks(200_000_000).entries()) {
      const least = small[i]?.peak ?? 0;
      // V8 keeps pieces of base64 that are no longer used, whatever the size: up to 70 MB, of Node 24 up to 150 MB.
      const mostMB = args.includes('--content') ? 180 : 100;
      assert.ok(peak - least < mostMB * 1024, `${args.join(' ')}: ${least} kB, then ${peak} kB`);
    }
  });

  it('of text has a bound: a page beyond it is reported, and what comes after it is told', () => {
    cache.put({ curl: 'http://x/1', mimetype: 'text/plain', content: Buffer.alloc(199_000_000, 'word ') });
    cache.put({ curl: 'http://x/2', content: '<p>other' });
    for (const args of [
      ['--format=fts5-sql'],
      ['--format=scriptindex'],
      ['--format=ntvml'],
      ['--format=swish-e'],
      ['--format=jsonl', '--text'],
      ['--format=jsonl', '--markdown'],
      ['--format=tar', '--markdown'],
      ['--format=chunks'],
    ]) {
      const own = `${cursor}.${args.join('')}`;
      const into = () =>
        runLccq(cache, [`--cursor=${own}`, ...args, '--', 'sh', '-c', `grep -ac other; ${PEAK}`]);
      const { status, stdout, stderr } = into();
      assert.equal(status, 1, args.join(' '));
      assert.match(
        stderr,
        /^lccq: http:\/\/x\/1: left without text: 199000000 bytes, more than 16 MB \(cu\.max_text_bytes\)$/m,
      );
      const [found, peak] = stdout.toString().trim().split('\n').map(Number);
      assert.equal(found, 1);
      assert.ok(Number(peak) < 300 * 1024, `${args.join(' ')}: ${peak} kB`);
      // The cursor has moved past it.
      assert.deepEqual([into().status, into().stdout.length], [0, 0]);
    }
  });

  it('has a bound for the largest page that text is made of, whatever is in it', () => {
    const bytes = 16 * 1024 * 1024;
    for (const piece of ['<p>a', '<a href=x>y</a>', 'a&shy;\n'])
      cache.put({ curl: `http://x/${piece.length}`, content: Buffer.alloc(bytes, piece) });
    for (const [most, ...args] of [
      [400, '--format=fts5-sql'],
      [400, '--format=jsonl', '--text'],
      // Blocks and marks, until there are too many of them.
      [500, '--format=jsonl', '--markdown'],
      [500, '--format=chunks'],
    ] as const) {
      const peak = peakKilobytes(...args);
      assert.ok(peak < most * 1024, `${args.join(' ')}: ${peak} kB`);
    }
  });
});
