/**
 * The whole line: notification → spool → queue → fetch → row in lccurl, durable at every step, against programs that
 * only fetch the same list. What is timed begins with the first byte a CP sends and ends when the last row is committed.
 *
 * An LCC runs for months, so the one compared has fetched WARM_URLS other urls before: V8 compiles the code of four
 * processes during their first ten thousands of urls, which takes nearly as long as fetching them. How fast an LCC is that
 * was started a moment ago is shown beside it. Both have a new home in every round.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startSite, type Site } from '../test/support/nginx.js';
import { compare, removeAtEnd, requireProgram, shell, type Contender, type Outcome } from './harness.js';
import { piecesOf, startLcc, type BenchLcc, type Piece } from './lcc.js';

const FILES = Number(process.env['LCC_BENCH_URLS'] ?? 20_000);
const BYTES = 4096;
const PROVIDERS = [16, 1000];
/**
 * The provider alone: every file several times, under urls of their own. Accepting, spooling and absorbing a set
 * takes some tenths of a second before the first fetch, and for its first ten thousand urls a daemon runs code that is
 * not compiled yet; with 5000 urls that was measured, and not how fast one url follows the other.
 */
const ALONE_TIMES = 3;
const CPS_AT_A_TIME = 64;
/** Urls fetched before the clock starts, so that the LCC is like one that has been running. */
const WARM_URLS = 20_000;

export async function bench(): Promise<Outcome[]> {
  requireProgram('nginx', 'nginx-light');
  requireProgram('curl', 'curl');
  requireProgram('wget2', 'wget2');
  const scratch = mkdtempSync(join(tmpdir(), 'lcc-bench-line-'));
  const docroot = join(scratch, 'docs');
  const site = await startSite(docroot, join(scratch, 'nginx'));
  try {
    const outcomes: Outcome[] = [];
    for (const providers of PROVIDERS)
      outcomes.push(await endToEnd(scratch, site, makeFiles(docroot, providers), providers));
    outcomes.push(await oneProvider(scratch, site, makeFiles(docroot, 1)));
    return outcomes;
  } finally {
    await site.stop();
    removeAtEnd(scratch);
  }
}

/** Names of FILES files, spread over `folders`. */
function makeFiles(docroot: string, folders: number): string[] {
  const top = `of-${folders}`;
  for (let p = 0; p < folders; p++) mkdirSync(join(docroot, top, `p${p}`), { recursive: true });
  return Array.from({ length: FILES }, (_, i) => {
    const name = `${top}/p${i % folders}/${String(i).padStart(5, '0')}.html`;
    const text = `<html><title>${i}</title>${`word${i} `.repeat(BYTES)}`.slice(0, BYTES);
    writeFileSync(join(docroot, name), text);
    return name;
  });
}

async function endToEnd(scratch: string, site: Site, names: string[], providers: number): Promise<Outcome> {
  const urls = names.map(name => site.url + name);
  const list = join(scratch, 'curl.cfg');
  const urlFile = join(scratch, 'urls.txt');
  writeFileSync(list, urls.map((url, i) => `url = "${url}"\noutput = "c/${i}.html"\n`).join(''));
  writeFileSync(urlFile, urls.join('\n'));
  const setsOf = (all: string[]) =>
    Array.from({ length: providers }, (_, p) => [...piecesOf(all.filter((_name, i) => i % providers === p))]);
  const sets = setsOf(names);
  const outcome = await compare({
    work: `End to end: ${FILES} notifications of ${BYTES} bytes, ${providers} providers, durable`,
    amount: FILES,
    unit: 'urls',
    rounds: 3,
    ours: lccContender('lcc', scratch, site, sets, setsOf(warmUp(names))),
    peers: [
      { contender: lccContender(JUST_STARTED, scratch, site, sets) },
      {
        contender: emptied(
          shell('curl -Z', `curl -sS -Z --parallel-max 64 --create-dirs -K ${list}`, { cwd: scratch }),
          scratch,
          'c',
        ),
        atLeast: 0.5,
      },
      {
        contender: emptied(
          shell('wget2', `wget2 -q --max-threads=16 -P w -x -i ${urlFile}`, { cwd: scratch }),
          scratch,
          'w',
        ),
        atLeast: 0.8,
      },
      // It takes a minute, and does not know of providers: once is enough.
      ...(providers === PROVIDERS[0] ? scrapy(scratch, urlFile) : []),
    ],
  });
  return withJustStarted(outcome);
}

async function oneProvider(scratch: string, site: Site, names: string[]): Promise<Outcome> {
  const all = Array.from({ length: ALONE_TIMES }, (_, time) =>
    names.map(name => (time === 0 ? name : `${name}?${time}`)),
  ).flat();
  const list = join(scratch, 'serial.cfg');
  writeFileSync(list, all.map((name, i) => `url = "${site.url}${name}"\noutput = "s/${i}.html"\n`).join(''));
  const sets = [[...piecesOf(all)]];
  const outcome = await compare({
    work: `One provider alone: ${all.length} notifications, one fetch at a time`,
    amount: all.length,
    unit: 'urls',
    rounds: 3,
    ours: lccContender('lcc, one provider', scratch, site, sets, [[...piecesOf(warmUp(names))]]),
    peers: [
      { contender: lccContender(JUST_STARTED, scratch, site, sets) },
      {
        contender: emptied(
          shell('curl, serial', `curl -sS --create-dirs -K ${list}`, { cwd: scratch }),
          scratch,
          's',
        ),
        atLeast: 1.5,
      },
    ],
  });
  return withJustStarted(outcome);
}

const JUST_STARTED = 'lcc, just started';

/** The outcome, and in words how an LCC that was just started compares with the others. */
function withJustStarted(outcome: Outcome): Outcome {
  const [, started, ...others] = outcome.lines;
  const ratios = others.map(
    ({ name, ratePerSecond }) => `${((started?.ratePerSecond ?? NaN) / ratePerSecond).toFixed(2)} of ${name}`,
  );
  const notes = [
    `the LCC has fetched ${WARM_URLS.toLocaleString('en-US')} other urls before; just started: ${ratios.join(', ')}`,
  ];
  return { ...outcome, notes };
}

/** WARM_URLS names of urls that nobody else fetches, of the same files. */
function warmUp(names: string[]): string[] {
  return Array.from({ length: WARM_URLS }, (_, i) => `${names[i % names.length]}?warm=${i}`);
}

let emptiedSoFar = 0;

function emptied(contender: Contender, scratch: string, dir: string): Contender {
  // Renamed away, not deleted: deleting a tree just before making it again slows the making on ext4.
  return {
    ...contender,
    prepare: () => void spawnSync('mv', [join(scratch, dir), join(scratch, `${dir}.${emptiedSoFar++}`)]),
  };
}

function scrapy(scratch: string, urlFile: string): { contender: Contender; atLeast: number }[] {
  requireProgram('scrapy', 'python3-scrapy');
  const spider = join(scratch, 'spider.py');
  writeFileSync(
    spider,
    `import scrapy, hashlib
class S(scrapy.Spider):
    name = 's'
    custom_settings = {'CONCURRENT_REQUESTS': 64, 'CONCURRENT_REQUESTS_PER_DOMAIN': 64, 'LOG_LEVEL': 'ERROR', 'TELNETCONSOLE_ENABLED': False}
    start_urls = open(${JSON.stringify(urlFile)}).read().split()
    def parse(self, r):
        open('y/%s' % hashlib.md5(r.body).hexdigest(), 'wb').write(r.body)
`,
  );
  const run = shell('scrapy', `mkdir -p y && scrapy runspider ${spider}`, { cwd: scratch });
  return [{ contender: { ...emptied(run, scratch, 'y'), once: true }, atLeast: 12 }];
}

/**
 * An LCC that is running before the clock starts and has carried out `before`; `sets[p]` is what the CP of provider p+1
 * sends: made before, as the lists are that the others read.
 */
function lccContender(
  name: string,
  scratch: string,
  site: Site,
  sets: Piece[][],
  before: Piece[][] = [],
): Contender {
  let lcc: BenchLcc | undefined;
  let held = 0;
  return {
    name,
    async prepare() {
      const home = join(scratch, `home-${++homes}`);
      lcc = await startLcc(home, sets.length, site.url);
      held = countOf(before);
      await notifyAll(lcc, before);
      await lcc.untilIdle();
    },
    async run() {
      if (lcc === undefined) throw new Error('prepare comes first');
      const start = performance.now();
      await notifyAll(lcc, sets);
      const seconds = ((await lcc.untilIdle()) - start) / 1000;
      const rssBytesOf = await lcc.rssBytes();
      const wanted = held + countOf(sets);
      if (lcc.held() !== wanted) throw new Error(`${lcc.held()} of ${wanted} held`);
      await lcc.stop();
      return { seconds, maxRssBytes: Math.max(...Object.values(rssBytesOf)), rssBytesOf };
    },
  };
}

let homes = 0;

/** Sends the sets of all providers, CPS_AT_A_TIME at a time. */
async function notifyAll(lcc: BenchLcc, sets: Piece[][]): Promise<void> {
  const turn = sets.entries();
  // All take from the same iterator.
  const cps = Array.from({ length: CPS_AT_A_TIME }, async () => {
    for (const [p, set] of turn) await lcc.notify(p + 1, set);
  });
  await Promise.all(cps);
}

function countOf(sets: Piece[][]): number {
  return sets.flat().reduce((sum, { urls }) => sum + urls, 0);
}
