/**
 * Pages in pieces from end to end: `lccq --format=chunks` against `--text`, its memory, the table of vectors that
 * examples/vectors keeps of 1,900 pages, how soon an edit is found in it, and how much of two releases is new.
 */
import Database from 'better-sqlite3';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Chunks, DEFAULT_CHUNK_SIZE } from '../src/text/chunks.js';
import { markdownOf } from '../src/text/markdown/page.js';
import { TestCache } from '../test/support/cache.js';
import { compare, shell, timeShell, type Bound, type Outcome } from './harness.js';
import { fill } from './lccq.js';
import { pagesBelow, spread, TREES } from './markdown.js';

const root = join(import.meta.dirname, '../..');
const lccq = join(root, 'bin/lccq');
const PAGES = 1900;
const ROWS = 500_000;
const FEW = 100_000;
const EDITS = 200;
const PATIENCE_MS = 60_000;

export async function bench(): Promise<Outcome[]> {
  const dir = mkdtempSync(join(tmpdir(), 'lcc-bench-pieces-'));
  const cache = new TestCache();
  try {
    const files = TREES.flatMap(tree => spread(pagesBelow(tree), PAGES)).slice(0, PAGES);
    const pages = files.map(file => readFileSync(file, 'utf8'));
    for (const [i, content] of pages.entries()) cache.put({ curl: urlOf(i), content });
    const env = { ...process.env, LCC_HOME: cache.home };
    const run = (args: string) => shell(`lccq ${args}`, `${lccq} ${args} >/dev/null`, { env });
    const outcome = await compare({
      work: `Pieces of ${pages.length} pages of documentation, end to end`,
      amount: pages.length,
      unit: 'pages',
      ours: run('--format=chunks'),
      peers: [{ contender: run('--format=jsonl --text'), atLeast: 1 / 2.5 }],
      rounds: 3,
    });
    const bounds = [memory(dir), ...load(dir, env), await edits(dir, cache, pages)];
    const notes: string[] = [];
    for (const pair of RELEASES) {
      const found = releases(dir, pair);
      if (typeof found === 'string') notes.push(found);
      else bounds.push(found);
    }
    return [{ ...outcome, bounds: [...outcome.bounds, ...bounds], notes }];
  } finally {
    cache.close();
    rmSync(dir, { recursive: true, force: true });
  }
}

function urlOf(i: number): string {
  return `https://docs.example/page${i}.html`;
}

/** Of rows with one small page each. */
function memory(dir: string): Bound {
  const bytes = Buffer.from(`<title>A page</title><h1>Part</h1><p>${'One more sentence. '.repeat(20)}`);
  const md5 = createHash('md5').update(bytes).digest('hex');
  const peak = (rows: number) => {
    const home = join(dir, `rows${rows}`);
    fill(home, rows, file => {
      mkdirSync(dirname(join(home, 'store', file)), { recursive: true });
      writeFileSync(join(home, 'store', file), bytes);
      return md5;
    });
    const env = { ...process.env, LCC_HOME: home };
    return timeShell(`${lccq} --format=chunks >/dev/null`, { env }).maxRssBytes ?? NaN;
  };
  return {
    what: `memory of --format=chunks with ${ROWS / 1000} k rows beyond that with ${FEW / 1000} k`,
    value: -(peak(FEW) - peak(ROWS)) / 1024 ** 2,
    atMost: 24,
    unit: 'MB',
  };
}

const vectors = `node ${join(root, 'examples/vectors/vectors.mjs')}`;

/** All pages into an empty table, and again when nothing has changed. */
function load(dir: string, env: NodeJS.ProcessEnv): Bound[] {
  const keep = `${lccq} --cursor=${dir}/cursor --batch=200 --stay --format=chunks -- ${vectors} ${dir}/v.db`;
  return [
    { what: `first load of ${PAGES} pages with vectors of words`, atMost: 30 },
    { what: 'the same, when nothing has changed', atMost: 1 },
  ].map(bound => ({ ...bound, unit: 's', value: timeShell(keep, { env }).seconds }));
}

/** From the commit of a changed page until the table has its new words. */
async function edits(dir: string, cache: TestCache, pages: readonly string[]): Promise<Bound> {
  const args = [`--cursor=${dir}/cursor`, '--follow', '--stay', '--format=chunks', '--'];
  const follower = spawn(lccq, [...args, ...vectors.split(' '), `${dir}/v.db`], {
    env: { ...process.env, LCC_HOME: cache.home },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = new Promise(resolve => follower.once('exit', resolve));
  const table = new Database(join(dir, 'v.db'), { readonly: true });
  const isThere = table.prepare('SELECT 1 FROM chunks WHERE text LIKE ? LIMIT 1');
  const waits: number[] = [];
  try {
    // The first is not counted: the programs start.
    for (let i = 0; i <= EDITS; i++) {
      const word = `edited${i}word`;
      const page = pages[i % pages.length] ?? '';
      cache.put({
        curl: urlOf(i % pages.length),
        content: page.replace('</body>', `<p>${word}</p></body>`) + word,
      });
      const from = performance.now();
      while (isThere.get(`%${word}%`) === undefined) {
        if (performance.now() - from > PATIENCE_MS)
          throw new Error(`an edit is not found after ${PATIENCE_MS} ms`);
        await new Promise(resolve => void setTimeout(resolve, 5));
      }
      if (i > 0) waits.push(performance.now() - from);
    }
  } finally {
    table.close();
    follower.kill('SIGTERM');
    await ended;
  }
  waits.sort((a, b) => a - b);
  return {
    what: `from commit to the table of vectors, p99 of ${EDITS} edits`,
    value: waits[Math.floor(waits.length * 0.99)] ?? NaN,
    atMost: 1000,
    unit: 'ms',
  };
}

interface Pair {
  old: string;
  now: string;
  /** Below the root of the package. */
  trees: readonly [old: string, now: string];
  atMost?: number;
}

/** What apt has of two releases; the newest against the oldest. */
const RELEASES: readonly Pair[] = [
  {
    old: 'postgresql-doc-15',
    now: 'postgresql-doc-15',
    trees: ['postgresql-doc-15/html', 'postgresql-doc-15/html'],
    atMost: 8,
  },
  { old: 'rust-doc', now: 'rust-web-doc', trees: ['rust-doc/html/book', 'rust-web-doc/html/book'] },
];

/** How many of the pieces of a release are not those of the one before; in words where there is no bound, or only one. */
function releases(dir: string, { old, now, trees, atMost }: Pair): Bound | string {
  const [from, to] = [unpacked(dir, old, trees[0], 'old'), unpacked(dir, now, trees[1], 'now')];
  if (from === undefined || to === undefined || from.version === to.version)
    return `two releases of ${old}: apt has one of them at most`;
  const hashesOf = (file: string) => {
    const page = markdownOf(readFileSync(file), { mimetype: 'text/html', url: 'https://docs.example/' });
    return page === undefined ? [] : [...new Chunks(page, DEFAULT_CHUNK_SIZE).all()].map(({ hash }) => hash);
  };
  const known = new Set(pagesBelow(join(from.root, trees[0])).flatMap(hashesOf));
  const files = pagesBelow(join(to.root, trees[1]));
  const pieces = files.flatMap(hashesOf);
  const value = (100 * pieces.filter(hash => !known.has(hash)).length) / pieces.length;
  const what = `new pieces from ${old} ${from.version} to ${now} ${to.version}: ${files.length} pages, ${pieces.length} pieces`;
  return atMost === undefined ? `${what}: ${value.toFixed(1)} %` : { what, value, atMost, unit: '%' };
}

/** @returns where a package has its documentation, and which version that is; undefined where apt has none */
function unpacked(
  dir: string,
  name: string,
  tree: string,
  which: 'old' | 'now',
): { root: string; version: string } | undefined {
  const { stdout } = spawnSync('apt-cache', ['madison', name], { encoding: 'utf8' });
  const versions = [...stdout.matchAll(/^\s*\S+ \| (\S+) \|/gm)].map(([, version = '']) => version);
  const version = versions.at(which === 'now' ? 0 : -1);
  const into = join(dir, `${name}-${which}`);
  mkdirSync(into);
  if (
    version === undefined ||
    spawnSync('apt-get', ['download', `${name}=${version}`], { cwd: into }).status !== 0
  )
    return undefined;
  execFileSync('sh', ['-c', `dpkg-deb --fsys-tarfile *.deb | tar -x ./usr/share/doc/${tree}`], { cwd: into });
  return { root: join(into, 'usr/share/doc'), version };
}
