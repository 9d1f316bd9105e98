/**
 * Cache clearing against what it takes the place of. Hard: pages deleted from three rails of nginx by lccd-hard, by a bare
 * undici pool, by curl in parallel and by one curl a url; each starts as a process of its own and has as many connections.
 * Soft: pages put on them by lccd-soft, which runs, as a daemon does, and also generates them and removes their generated
 * names, and by curl -T. And what it costs to queue, to wait, and to have a rail that is slow or down.
 */
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { idsOf, pagesOf } from '../test/support/clear.js';
import { ROOT } from '../test/support/tree.js';
import {
  amountOf,
  countPages,
  CURL,
  endHomes,
  newHome,
  QUIET,
  RAILS,
  timeDaemon,
  WORKERS,
} from './clear/homes.js';
import { soft } from './clear/soft.js';
import { besideSlow, idle, memory } from './clear/waits.js';
import { compare, requireProgram, timeShell, type Contender, type Outcome, type Sample } from './harness.js';

const HARD_IDS = amountOf(10_000);
/** Urls that have a curl each. */
const SAMPLE_URLS = amountOf(900);
const REQUESTS = amountOf(200_000);
const peers = join(dirname(fileURLToPath(import.meta.url)), 'peers');

export async function bench(): Promise<Outcome[]> {
  requireProgram('nginx', 'nginx-light');
  requireProgram('curl', 'curl');
  try {
    return [await hard(), await queueing(), await soft(), await idle(), await besideSlow(), await memory()];
  } finally {
    await endHomes();
  }
}

async function hard(): Promise<Outcome> {
  const home = newHome();
  const rails = await home.addRails(RAILS, { workers: WORKERS }, QUIET);
  const ids = idsOf(HARD_IDS);
  const pages = pagesOf(ids);
  // As the daemon sends them: a page to all rails, then the next.
  const urls = pages.flatMap(page => rails.map(rail => rail.url + page.slice(1)));
  const files = Object.fromEntries(
    Object.entries({
      urls: urls.map(url => `${url}\n`),
      curl: urls.map(url => `url=${url}\n`),
      sample: urls.slice(0, SAMPLE_URLS).map(url => `${url}\n`),
    }).map(([name, lines]) => {
      const file = join(home.dir, `hard.${name}`);
      writeFileSync(file, lines.join(''));
      return [name, file];
    }),
  );
  const contender = (name: string, run: () => Sample | Promise<Sample>, left = 0): Contender => ({
    name,
    prepare() {
      for (const rail of rails) rail.write(pages);
    },
    async run() {
      const sample = await run();
      const found = rails.reduce((sum, rail) => sum + countPages(rail), 0);
      if (found !== left) throw new Error(`${name}: ${found} pages are left, not ${left}`);
      return sample;
    },
  });
  const ours = contender('lccd-hard', () => timeDaemon(home.startHard(), () => home.db.queue.count(1) === 0));
  const { prepare } = ours;
  return compare({
    work: `clear: ${HARD_IDS.toLocaleString('en-US')} pages deleted from 3 rails`,
    amount: urls.length,
    unit: 'deletes',
    ours: {
      ...ours,
      async prepare() {
        await prepare?.();
        home.request(ids);
      },
    },
    peers: [
      {
        contender: contender('undici pools', () =>
          timeShell(`${process.execPath} ${join(peers, 'undici-pool.js')} ${files['urls']} ${WORKERS}`),
        ),
        atLeast: 1 / 1.4,
      },
      {
        contender: contender('curl -Z', () => timeShell(`${CURL} -X DELETE -K ${files['curl']}`)),
        atLeast: 1 / 1.2,
      },
      {
        contender: {
          ...contender(
            `one curl a url (as ${SAMPLE_URLS} took)`,
            () => {
              const { seconds } = timeShell(
                `while read -r url; do curl -s -X DELETE "$url"; done <${files['sample']}`,
              );
              return { seconds: (seconds * urls.length) / SAMPLE_URLS };
            },
            urls.length - SAMPLE_URLS,
          ),
          once: true,
        },
        atLeast: 30,
      },
    ],
    rounds: 3,
  });
}

async function queueing(): Promise<Outcome> {
  let home = newHome();
  const file = join(home.dir, 'requests.tsv');
  writeFileSync(
    file,
    idsOf(REQUESTS)
      .map(id => `${id}\tpage\twww\n`)
      .join(''),
  );
  const contender = (name: string, commandOf: () => string): Contender => ({
    name,
    prepare() {
      home = newHome();
    },
    run() {
      const sample = timeShell(commandOf(), { env: { ...process.env, LCC_HOME: home.dir } });
      const queued = home.db.queue.count(REQUESTS + 1);
      if (queued !== REQUESTS) throw new Error(`${name}: ${queued} requests are queued, not ${REQUESTS}`);
      return sample;
    },
  });
  const insert = join(peers, 'bare-insert.js');
  return compare({
    work: `clear: ${REQUESTS.toLocaleString('en-US')} requests queued`,
    amount: REQUESTS,
    unit: 'requests',
    ours: contender('lccclear', () => `${join(ROOT, 'bin/lccclear')} --stdin=tsv <${file}`),
    peers: [
      {
        contender: contender(
          'better-sqlite3, in one transaction',
          () => `${process.execPath} ${insert} ${home.dir}/clear/clear.db ${file}`,
        ),
        atLeast: 0.5,
      },
    ],
    rounds: 3,
  });
}
