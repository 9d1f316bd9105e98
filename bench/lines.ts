/**
 * Who splits lines: the readers of the content provider's commands, which see millions, against split2, which reads the rest
 * (src/lib/lines.ts). All read the same file of a million lines, in this process.
 */
import { closeSync, createReadStream, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import split2 from 'split2';
import { NameSplitter } from '../src/cp/name-splitter.js';
import { readLinesAt } from '../src/lib/line-sequences.js';
import { readChunks } from '../src/lib/stdio.js';
import { compare, type Contender, type Outcome } from './harness.js';

const LINES = 1_000_000;
const MAX_LENGTH = 64 * 1024;

export async function bench(): Promise<Outcome[]> {
  const file = join(tmpdir(), `lcc-bench-lines-${process.pid}`);
  try {
    return [
      await against(
        file,
        'names of files',
        i => `docs/section-${i % 20}/part-${i % 4000}/page-${i}.html`,
        names,
      ),
      await against(
        file,
        'lines of a statefile',
        i =>
          `<url curl="part-${i % 4000}/page-${i}.html" mimetype="text/html" len="${i}" mtime="2026-11-20T10:13:01Z"/>`,
        state,
      ),
    ];
  } finally {
    rmSync(file, { force: true });
  }
}

function against(
  file: string,
  what: string,
  lineOf: (i: number) => string,
  ours: (file: string) => Contender,
): Promise<Outcome> {
  writeFileSync(file, Array.from({ length: LINES }, (_, i) => `${lineOf(i)}\n`).join(''));
  return compare({
    work: `lines: ${LINES.toLocaleString('en-US')} ${what}`,
    amount: LINES,
    unit: 'lines',
    ours: ours(file),
    peers: [{ contender: bySplit2(file), atLeast: 1.3 }],
  });
}

/** Of file2url. */
function names(file: string): Contender {
  return timed('NameSplitter (cp/name-splitter.ts)', () => {
    const splitter = new NameSplitter('\n');
    const fd = openSync(file, 'r');
    let lines = 0;
    for (const chunk of readChunks(fd)) lines += splitter.push(chunk).length;
    closeSync(fd);
    return lines + (splitter.end() === undefined ? 0 : 1);
  });
}

/** Of lcccpstate and lcccp. */
function state(file: string): Contender {
  return timed('readLinesAt (lib/line-sequences.ts)', () => {
    const fd = openSync(file, 'r');
    let lines = 0;
    for (const _ of readLinesAt(fd, 0, file)) lines++;
    closeSync(fd);
    return lines;
  });
}

function bySplit2(file: string): Contender {
  return timed('split2', async () => {
    let lines = 0;
    await pipeline(
      createReadStream(file),
      split2('\n', { maxLength: MAX_LENGTH }).on('data', () => lines++),
    );
    return lines;
  });
}

function timed(name: string, count: () => number | Promise<number>): Contender {
  return {
    name,
    async run() {
      const startedMs = performance.now();
      const lines = await count();
      if (lines !== LINES) throw new Error(`${name}: ${lines} lines`);
      return { seconds: (performance.now() - startedMs) / 1000 };
    },
  };
}
