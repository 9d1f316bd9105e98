/**
 * Reading XML, element by element of the kinds that matter: the reader against `xmllint --stream` and against itself
 * without the fast path; and what a UNS does to each url of a set, reading, record and check. CPU time, not wall clock.
 */
import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { XmlReader } from '../src/lib/xml/reader.js';
import type { XmlEvents } from '../src/lib/xml/types.js';
import { createUrlChecker } from '../src/wire/url-check.js';
import { recordOf } from '../src/wire/url-read.js';
import { UrlStreamReader } from '../src/wire/url-stream.js';
import { compare, requireProgram, type Contender, type Outcome } from './harness.js';

const LIMITS = { maxTokenBytes: 65_536, maxDepth: 8, maxAttributes: 32, maxNameBytes: 256 };
const OPTIONS = { where: 'bench' };
const ELEMENTS = 200_000;
const CHUNK_BYTES = 65_536;
const URLPREFIX = 'http://www.example.org/docs/';
const MD5 = '0123456789abcdef0123456789abcdef';
const MTIME = '2026-11-20T10:13:01Z';

type Line = (i: number) => string;

const asFile2url: Line = i =>
  `<url curl="guide/chapter${i % 977}/page-${i}.html" mimetype="text/html" len="${(i * 7919) % 100_000}" mtime="${MTIME}"/>`;
const withReferences: Line = i =>
  `<url curl="q?id=${i}${i % 10 < 3 ? '&amp;lang=en' : ''}" mimetype="text/html" md5="${MD5}" len="${i}" mtime="${MTIME}"/>`;
const notAscii: Line = i =>
  i % 2 === 0
    ? `<url curl="bücher/日本-${i}.html" mimetype="text/html" len="${i}"/>`
    : `<url curl="bücher/seite-${i}.html" mimetype="text/plain" op="delete"/>`;
const asMessages: Line = i =>
  `<fetched id="${i}" status="ok" http="200" md5="${MD5}" len="5123" mimetype="text/html" time="0.012">fine</fetched>`;

interface Sink {
  write(chunk: Uint8Array): void;
  end(): void;
}

const nothing: XmlEvents = { open: () => {}, close: () => {} };

const reader = 'XmlReader';
const SINKS: Record<string, () => Sink> = {
  [reader]: () => new XmlReader(nothing, LIMITS, OPTIONS),
  'saxes behind the same interface': () => new XmlReader(nothing, LIMITS, { ...OPTIONS, fastPath: false }),
  'XmlReader, record, check': () => {
    const check = createUrlChecker({
      mimes: ['text/*'],
      roots: [URLPREFIX],
      urlprefix: URLPREFIX,
      maxUrlBytes: 8192,
    });
    const open: XmlEvents['open'] = (name, attributes) => {
      if (name === 'url') check(recordOf(attributes));
    };
    return new XmlReader({ ...nothing, open }, LIMITS, OPTIONS);
  },
  UrlStreamReader: () => new UrlStreamReader({ url: () => {} }, LIMITS, OPTIONS),
};

export async function bench(): Promise<Outcome[]> {
  requireProgram('xmllint', 'libxml2-utils');
  const dir = mkdtempSync(join(tmpdir(), 'lcc-bench-xml-'));
  const file = join(dir, 'input.xml');
  const measure = async (
    kind: string,
    line: Line,
    ours: string,
    floors: [string, number?][],
  ): Promise<Outcome> => {
    writeFileSync(file, `<set>\n${Array.from({ length: ELEMENTS }, (_, i) => line(i)).join('\n')}\n</set>\n`);
    return await compare({
      work: `${ours}: ${ELEMENTS} elements ${kind}`,
      amount: statSync(file).size / 1e6,
      unit: 'MB',
      ours: contender(ours, file),
      peers: floors.map(([name, atLeast]) => ({
        contender: contender(name, file),
        ...(atLeast === undefined ? {} : { atLeast }),
      })),
    });
  };
  const all: [string, number?][] = [['xmllint --stream', 1], ['saxes behind the same interface']];
  try {
    return [
      await measure('as file2url writes them', asFile2url, reader, all),
      await measure('of which 3 in 10 hold references', withReferences, reader, all),
      await measure('that are not ASCII, in two layouts', notAscii, reader, all),
      await measure('with text, as messages have', asMessages, reader, all),
      await measure('as file2url writes them', asFile2url, 'XmlReader, record, check', [
        ['xmllint --stream', 0.65],
      ]),
      await measure('as file2url writes them', asFile2url, 'UrlStreamReader', [['xmllint --stream', 0.65]]),
    ];
  } finally {
    rmSync(dir, { recursive: true });
  }
}

function contender(name: string, file: string): Contender {
  const sink = SINKS[name];
  return {
    name,
    run: () => ({ seconds: sink === undefined ? lint(file) : feed(file, sink()) }),
  };
}

/** CPU seconds: in one process beside many, the wall clock measures the neighbours. */
function lint(file: string): number {
  const args = ['-f', '%U %S', 'xmllint', '--stream', '--noout', file];
  const { status, stderr } = spawnSync('/usr/bin/time', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`xmllint: ${stderr}`);
  const [user = NaN, system = NaN] = stderr.trim().split(' ').map(Number);
  return user + system;
}

/** Reads in pieces, as from a socket: a whole file in memory would measure the garbage collector. */
function feed(file: string, sink: Sink): number {
  const fd = openSync(file, 'r');
  const chunk = Buffer.alloc(CHUNK_BYTES);
  const before = process.cpuUsage();
  for (;;) {
    const length = readSync(fd, chunk);
    if (length === 0) break;
    sink.write(chunk.subarray(0, length));
  }
  sink.end();
  const { user, system } = process.cpuUsage(before);
  closeSync(fd);
  return (user + system) / 1e6;
}
