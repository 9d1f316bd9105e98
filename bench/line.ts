/**
 * The whole line: notification → spool → queue → fetch → row in lccurl, durable at every step, against programs that
 * only fetch the same list. One LCC, warm, its own home for each round; what is timed begins with the first byte a CP
 * sends and ends when the last row is committed.
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
 * Of the provider alone: every file several times, under urls of their own. Accepting, spooling and absorbing a set
 * takes some tenths of a second before the first fetch, and for its first ten thousand urls a daemon runs code that is
 * not compiled yet; with 5000 urls that was measured, and not how fast one url follows the other.
 */
const ALONE_TIMES = 3;
const CPS_AT_A_TIME = 64;

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

/** Names of FILES files, spread over so many folders. */
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
  const sets = Array.from({ length: providers }, (_, p) => [
    ...piecesOf(names.filter((_name, i) => i % providers === p)),
  ]);
  return compare({
    work: `End to end: ${FILES} notifications of ${BYTES} bytes, ${providers} providers, durable`,
    amount: FILES,
    unit: 'urls',
    rounds: 3,
    ours: lccContender('lcc', scratch, site, sets),
    peers: [
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
}

async function oneProvider(scratch: string, site: Site, names: string[]): Promise<Outcome> {
  const all = Array.from({ length: ALONE_TIMES }, (_, time) =>
    names.map(name => (time === 0 ? name : `${name}?${time}`)),
  ).flat();
  const list = join(scratch, 'serial.cfg');
  writeFileSync(list, all.map((name, i) => `url = "${site.url}${name}"\noutput = "s/${i}.html"\n`).join(''));
  return compare({
    work: `One provider alone: ${all.length} notifications, one fetch at a time`,
    amount: all.length,
    unit: 'urls',
    rounds: 3,
    ours: lccContender('lcc, one provider', scratch, site, [[...piecesOf(all)]]),
    peers: [
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
 * An LCC that is running before the clock starts; `sets[p]` is what the CP of provider p+1 sends: made before, as the
 * lists are that the others read.
 */
function lccContender(name: string, scratch: string, site: Site, sets: Piece[][]): Contender {
  let lcc: BenchLcc | undefined;
  let round = 0;
  return {
    name,
    async prepare() {
      lcc = await startLcc(join(scratch, `home-${sets.length}-${round++}`), sets.length, site.url);
    },
    async run() {
      if (lcc === undefined) throw new Error('prepare comes first');
      const running = lcc;
      const start = performance.now();
      const turn = sets.entries();
      // All take from the same iterator.
      const cps = Array.from({ length: CPS_AT_A_TIME }, async () => {
        for (const [p, set] of turn) await running.notify(p + 1, set);
      });
      await Promise.all(cps);
      const seconds = ((await lcc.untilIdle()) - start) / 1000;
      const rssBytesOf = await lcc.rssBytes();
      const wanted = sets.flat().reduce((sum, { urls }) => sum + urls, 0);
      if (lcc.held() !== wanted) throw new Error(`${lcc.held()} of ${wanted} held`);
      await lcc.stop();
      return { seconds, maxRssBytes: Math.max(...Object.values(rssBytesOf)), rssBytesOf };
    },
  };
}
