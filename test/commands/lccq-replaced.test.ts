/** A reader that is slower than files of replaced pages stay: nothing is wrong, and the next run has them. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { TestCache } from '../support/cache.js';
import { longIt } from '../support/long.js';
import { LCCQ, lccqSays } from '../support/lccq.js';

const SITE = 'http://www.example.org/';
/** Formats of other kinds are alike to these. */
const OFTEN = ['--format=jsonl --content', '--format=tar'];
/** No compressor helps: when the first bytes are read, pipes and batches are full, and most files have not been opened. */
const contentOf = (i: number) => `${i} <p>${randomBytes(7500).toString('base64')}</p>`;

describe('lccq whose reader is slow', () => {
  let cache: TestCache;
  beforeEach(() => (cache = new TestCache()));
  afterEach(() => cache.close());

  const pageOf = (i: number) => `${SITE}page-${i}.html`;

  /** Stores pages; their files are gone as soon as the first of what lccq writes is read. */
  async function slowly(args: readonly string[], pages: number, meanwhile: (files: string[]) => void) {
    const files: string[] = [];
    cache.db.transaction(() => {
      for (let i = 0; i < pages; i++) files.push(cache.put({ curl: pageOf(i), content: contentOf(i) }));
    })();
    const env = { ...process.env, LCC_HOME: cache.home, LCC_CONFIG: '' };
    const child = spawn(LCCQ, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    let bytes = 0;
    child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
    const closed = once(child, 'close');
    await once(child.stdout, 'readable');
    meanwhile(files);
    child.stdout.on('data', (chunk: Buffer) => (bytes += chunk.length));
    const [status] = (await closed) as [number];
    return { status, said, bytes };
  }

  const replaceAll = (files: string[]) => {
    cache.db.transaction(() => {
      for (let i = 0; i < files.length; i++) cache.put({ curl: pageOf(i), content: contentOf(i) });
    })();
    for (const file of files) rmSync(file);
  };

  for (const args of [
    ['--format=jsonl', '--content'],
    ['--format=jsonl', '--text'],
    ['--format=xml', '--content'],
    ['--format=tar'],
    ['--format=tar.gz'],
    ['--format=warc'],
    ['--format=fts5-sql'],
    ['--format=swish-e'],
    ['--format=scriptindex'],
    ['--format=ntvml'],
  ])
    longIt(
      `leaves replaced pages to the next run without a word: ${args.join(' ')}`,
      async () => {
        const cursor = join(cache.home, 'cursor');
        const all = [...args, `--cursor=${cursor}`, '--', 'cat'];
        const ran = await slowly(['-v', ...all], 300, replaceAll);
        assert.equal(ran.status, 0, ran.said);
        assert.doesNotMatch(ran.said, /missing|repair/);
        assert.match(
          ran.said,
          /300 records, up to change 300, [1-9]\d* of them replaced meanwhile and left out/,
        );
        const next = lccqSays(cache, ['-v', ...args, `--cursor=${cursor}`]);
        assert.equal(next.status, 0, next.stderr);
        assert.match(next.stderr, /\b300 records, up to change 600$/m);
      },
      OFTEN.includes(args.join(' ')),
    );

  it('does so in a long answer, part of which another thread makes', async () => {
    const ran = await slowly(['-v', '--format=jsonl', '--content'], 3000, replaceAll);
    assert.equal(ran.status, 0, ran.said.slice(0, 500));
    assert.match(ran.said, /of them replaced meanwhile and left out/);
  });

  it('leaves deleted pages out in the same way', async () => {
    const ran = await slowly(['-v', '--format=tar'], 300, files => {
      cache.db.transaction(() => files.forEach((_, i) => cache.remove(pageOf(i))))();
      for (const file of files) rmSync(file);
    });
    assert.equal(ran.status, 0, ran.said);
  });

  it('still reports a page that is missing and was not replaced', async () => {
    const ran = await slowly(['--format=tar'], 300, files => rmSync(files.at(-1) ?? ''));
    assert.equal(ran.status, 1);
    assert.match(ran.said, /page-299\.html: left out: .* is missing; stop lccd and run lccfsck --repair/);
  });
});
