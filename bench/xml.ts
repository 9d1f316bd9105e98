/**
 * Reading XML: MB/s of the reader with and without its fast path, of what a UNS does with each url, and of
 * `xmllint --stream` (libxml2-utils) on the same input. Medians of interleaved runs.
 *
 *     node dist/bench/xml.js [URLS]
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { XmlReader } from '../src/lib/xml/reader.js';
import { createUrlChecker } from '../src/wire/url-check.js';
import { recordOf } from '../src/wire/url-read.js';
import { UrlStreamReader } from '../src/wire/url-stream.js';

const LIMITS = { maxTokenBytes: 65_536, maxDepth: 8, maxAttributes: 32, maxNameBytes: 256 };
const CHUNK_BYTES = 65_536;
const RUNS = 5;
const URLPREFIX = 'http://www.example.org/docs/';

type Input = { name: string; line: (i: number) => string };

const INPUTS: Input[] = [
  {
    name: 'file2url',
    line: i =>
      `<url curl="guide/chapter${i % 977}/page-${i}.html" mimetype="text/html" len="${(i * 7919) % 100_000}" mtime="2026-11-20T10:${String(i % 60).padStart(2, '0')}:01Z"/>`,
  },
  {
    name: 'with md5, 3 in 10 escaped',
    line: i =>
      `<url curl="q?id=${i}${i % 10 < 3 ? '&amp;lang=en' : ''}" mimetype="text/html" md5="0123456789abcdef0123456789abcdef" len="${i}" mtime="2026-11-20T10:13:01Z"/>`,
  },
  {
    name: 'not ASCII, 2 layouts',
    line: i =>
      i % 2 === 0
        ? `<url curl="bücher/日本-${i}.html" mimetype="text/html" len="${i}"/>`
        : `<url curl="bücher/seite-${i}.html" mimetype="text/plain" op="delete"/>`,
  },
  {
    name: 'messages',
    line: i =>
      `<fetched id="${i}" status="ok" http="200" md5="0123456789abcdef0123456789abcdef" len="5123" mimetype="text/html" time="0.012">fine</fetched>`,
  },
];

function document(input: Input, urls: number): Buffer {
  const lines = Array.from({ length: urls }, (_, i) => input.line(i));
  return Buffer.from(`<set>\n${lines.join('\n')}\n</set>\n`);
}

type Sink = { write(chunk: Uint8Array): void; end(): void };
type Contender = { name: string; run: (bytes: Buffer, file: string) => void };

function feed(bytes: Buffer, sink: Sink): void {
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) sink.write(bytes.subarray(at, at + CHUNK_BYTES));
  sink.end();
}

const nothing = { open: () => {}, close: () => {} };

const CONTENDERS: Contender[] = [
  { name: 'xmllint --stream', run: (_, file) => void spawnSync('xmllint', ['--stream', '--noout', file]) },
  {
    name: 'saxes alone',
    run: bytes => feed(bytes, new XmlReader(nothing, LIMITS, { where: 'bench', fastPath: false })),
  },
  { name: 'reader', run: bytes => feed(bytes, new XmlReader(nothing, LIMITS, { where: 'bench' })) },
  {
    name: 'reader + record + check',
    run: bytes => {
      const check = createUrlChecker({
        mimes: ['text/*'],
        roots: [URLPREFIX],
        urlprefix: URLPREFIX,
        maxUrlBytes: 8192,
      });
      const open = (name: string, attributes: Record<string, string>): void => {
        if (name === 'url') check(recordOf(attributes));
      };
      feed(bytes, new XmlReader({ ...nothing, open }, LIMITS, { where: 'bench' }));
    },
  },
  {
    name: 'filter stream',
    run: bytes => {
      if (bytes.includes('<fetched')) return;
      feed(bytes, new UrlStreamReader({ url: () => {} }, LIMITS, { where: 'bench' }));
    },
  },
];

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

function bench(urls: number): void {
  const folder = mkdtempSync(join(tmpdir(), 'lcc-bench-'));
  try {
    for (const input of INPUTS) {
      const bytes = document(input, urls);
      const file = join(folder, 'input.xml');
      writeFileSync(file, bytes);
      const seconds = new Map<string, number[]>(CONTENDERS.map(c => [c.name, []]));
      for (let run = 0; run < RUNS; run++) {
        for (const contender of CONTENDERS) {
          const start = process.hrtime.bigint();
          contender.run(readFileSync(file), file);
          seconds.get(contender.name)?.push(Number(process.hrtime.bigint() - start) / 1e9);
        }
      }
      console.log(`\n${input.name}: ${urls} elements, ${(bytes.length / urls).toFixed(0)} bytes each`);
      const peer = median(seconds.get('xmllint --stream') ?? []);
      for (const contender of CONTENDERS) {
        const time = median(seconds.get(contender.name) ?? []);
        const rate = `${(bytes.length / 1e6 / time).toFixed(0)} MB/s`.padStart(10);
        const each = `${((time / urls) * 1e6).toFixed(2)} µs each`.padStart(14);
        console.log(`  ${contender.name.padEnd(24)}${rate}${each}   ${(peer / time).toFixed(2)} of xmllint`);
      }
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}

bench(Number(process.argv[2] ?? 200_000));
