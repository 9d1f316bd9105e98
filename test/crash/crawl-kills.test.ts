/**
 * Crawls of one site, each killed once with kill -9: a daemon when it has just done a durable step, or at any time, alone or with
 * all others, and lccq or lcclinks. Each holds what an undisturbed crawl holds, and asks for no url more than twice.
 */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { CrawlService } from '../support/crawl-service.js';
import { treeOf, writePages } from '../support/crawl-site.js';
import { Lcc } from '../support/lcc.js';
import { noNginx, startSite, type Site } from '../support/nginx.js';
import { BOUND_MS, until } from '../support/until.js';

/** Each of the cases twice in the long set (scripts/test-sets.mjs). */
const KILLS = Number(process.env['LCC_TEST_CRAWL_KILLS'] ?? 5);
const PAGES = 20;
/** Requests of a crawl, so few that more of it is always to come. */
const EARLY_REQUESTS = 12;
/** Of lcc.toml. Slices of a set are so small that a page's links are several. */
const QM_KEYS = '[qm]\npace_ms = 0\nslice_urls = 4\n';
/** What has died stays so until all of it is started again. */
const UNTIL_ALL_KEYS = '[lccd]\nrestart_min_ms = 60000\nrestart_max_ms = 60000\n';
const SYNC_KEYS = '[bot]\nsync_content = true\n';

interface Kill {
  /** `lccd`: the daemon that does the step; at any time: all that runs. */
  victim: 'lccd' | 'lccd-uns' | 'lccd-qm' | 'lccd-bm' | 'lccq' | 'lcclinks';
  /** Otherwise at any time. */
  step?: string;
  /** How often a crawl does the step at least. */
  times?: number;
  /** More of lcc.toml. */
  keys?: string;
}

/** What is killed, and when; one after the other, from the start again after the last. */
const CASES: readonly Kill[] = [
  { victim: 'lccd', step: 'qm.result.committed', times: 4 },
  { victim: 'lccq', step: 'cu.cursor.advanced', times: 4 },
  { victim: 'lcclinks' },
  { victim: 'lccd', step: 'uns.accepted', times: 3 },
  { victim: 'lccd' },
  { victim: 'lccd', step: 'uns.forwarded', times: 3 },
  { victim: 'lccd', step: 'qm.slice.committed', times: 3 },
  { victim: 'lccd', step: 'qm.set.complete', times: 3 },
  { victim: 'lccd', step: 'qm.set.finished', times: 3 },
  { victim: 'lccd', step: 'qm.acked', times: 3 },
  { victim: 'lccd', step: 'fetch.file.synced', times: 20, keys: SYNC_KEYS },
  { victim: 'lccd', step: 'fetch.file.placed', times: 20 },
  { victim: 'lccd', step: 'fetch.file.directory-synced', times: 20, keys: SYNC_KEYS },
  { victim: 'lccq' },
  { victim: 'lccd', step: 'uns.spool.written', times: 3 },
  { victim: 'lccd', step: 'uns.spool.synced', times: 3 },
  { victim: 'lccd', step: 'uns.spool.renamed', times: 3 },
  { victim: 'lccd', step: 'uns.spool.dirsynced', times: 3 },
  { victim: 'lccd', step: 'uns.spool.removed', times: 3 },
  { victim: 'lccd', step: 'bm.names.reserved' },
  // These are of the page that asks not to be kept.
  { victim: 'lccd', step: 'bm.names.noted' },
  { victim: 'lccd', step: 'bm.deletions.acknowledged' },
  { victim: 'lccd', step: 'bm.files.unlinked' },
  { victim: 'lccd', step: 'bm.names.freed' },
  { victim: 'lccd-uns' },
  { victim: 'lccd-qm' },
  { victim: 'lccd-bm' },
];

/** The site but for its tree: a page that asks not to be kept, and one that is elsewhere, both with links that no other has. */
const TOP = 'tree/0/page-0.html';
const TOP_LINKS = '<a href="../../hidden.html">hidden</a><a href="../../moved">moved</a>';
const OTHER_PAGES = {
  'hidden.html': '<meta name="robots" content="noindex"><a href="of-hidden.html">',
  'of-hidden.html': 'of the hidden page',
  'arrived.html': '<a href="of-arrived.html">',
  'of-arrived.html': 'of the page that was moved',
};
const MOVED = 'location ~ ^(/s[0-9]+)/moved$ { return 302 $1/arrived.html; }';

/** The service of a crawl, started again whenever it ends. */
class RestartedService {
  readonly #lcc: Lcc;
  #current: CrawlService | undefined;
  #isStopping = false;
  #running: Promise<void> = Promise.resolve();

  constructor(lcc: Lcc) {
    this.#lcc = lcc;
  }

  start(env: NodeJS.ProcessEnv = {}): void {
    this.#isStopping = false;
    this.#running = this.#run(env);
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#current?.stop('SIGKILL');
    await this.#running;
  }

  /** Kills one of its programs as soon as it runs. */
  async kill(victim: 'lccq' | 'lcclinks'): Promise<void> {
    await until(`${victim} runs and is killed`, () => {
      const pid = victim === 'lccq' ? this.#current?.pid : this.#current?.filterPid;
      return pid !== undefined && process.kill(pid, 'SIGKILL');
    });
  }

  async #run(env: NodeJS.ProcessEnv): Promise<void> {
    while (!this.#isStopping) {
      this.#current = new CrawlService(this.#lcc, ['--assets'], 8, env);
      await this.#current.ended;
    }
  }
}

describe('crawls that are killed', { skip: noNginx }, () => {
  let dir: string;
  let site: Site;
  let lcc: Lcc;
  let service: RestartedService;
  let undisturbed: string[];

  before(async () => {
    dir = mkdtempSync(join(tmpdir(), 'lcc-crawl-kills-'));
    // The same site below a directory for each crawl.
    const tree = Object.entries(treeOf(PAGES)).map(([path, text]): [string, string] => [
      path,
      text.replaceAll('"/tree/', '"../').replaceAll('"/missing', '"../../missing') +
        (path === TOP ? TOP_LINKS : ''),
    ]);
    for (let n = 0; n <= KILLS; n++)
      writePages(join(dir, 'docs', `s${n}`), { ...Object.fromEntries(tree), ...OTHER_PAGES });
    site = await startSite(join(dir, 'docs'), join(dir, 'nginx'), { server: MOVED });
    lcc = new Lcc(site.url, QM_KEYS);
    await lcc.start();
    service = new RestartedService(lcc);
    service.start();
    await begin(0);
    undisturbed = await crawled(0);
    assert.equal(Math.max(...(await timesAsked(0)).values()), 1);
    assert.equal(undisturbed.filter(row => row.includes('page-')).length, PAGES, undisturbed.join('\n'));
    assert.deepEqual(
      undisturbed.map(row => row.split('\t')[0]).filter(path => !path?.startsWith('tree/')),
      ['arrived.html', 'of-arrived.html', 'of-hidden.html'],
    );
  });
  after(async () => {
    await service.stop();
    await lcc.remove();
    await site.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  const rootOf = (n: number) => `${site.url}s${n}/`;
  const seed = (n: number) =>
    lcc.sh(`echo ${rootOf(n)}${TOP} | lcclinks --seeds --deliver`).then(({ status }) => status);
  const begin = async (n: number) => {
    await lcc.run(
      `lccpidb add --pid=${100 + n} --root=${rootOf(n)} --spider=yes --pace=0 --priority=1 --parallel=4`,
    );
    return seed(n);
  };
  /** What is held of a crawl after its end, by paths of its site. */
  const crawled = async (n: number) => {
    await lcc.run(`lccstat --until-idle=${(4 * BOUND_MS) / 1000} --cursor=links.cursor`);
    return (await lcc.run(`lccq --format=tsv --fields=furl,mimetype,md5 --no-deleted`))
      .split('\n')
      .filter(row => row.startsWith(rootOf(n)))
      .map(row => row.slice(rootOf(n).length))
      .sort();
  };
  const timesAsked = async (n: number) => {
    const times = new Map<string, number>();
    for (const line of await site.requests()) {
      const [, path = ''] = line.split(' ');
      if (path.startsWith(`/s${n}/`)) times.set(path, (times.get(path) ?? 0) + 1);
    }
    return times;
  };
  const killAll = async () => {
    await service.stop();
    await lcc.killAll();
    await lcc.start();
    service.start();
  };
  /** One that lccd brings back. */
  const killDaemon = (name: string) => {
    const [last] = [...lcc.log.matchAll(/"daemon":"([^"]*)","event":"ready","process_id":(\d+)/g)]
      .filter(([, daemon]) => daemon === name)
      .slice(-1);
    process.kill(Number(last?.[2]), 'SIGKILL');
  };
  const killNow = async (victim: Kill['victim']) => {
    if (victim === 'lccd') await killAll();
    else if (victim === 'lccq' || victim === 'lcclinks') await service.kill(victim);
    else killDaemon(victim);
  };

  for (let n = 1; n <= KILLS; n++) {
    const { victim, step, times = 1, keys = '' } = CASES[(n - 1) % CASES.length] ?? assert.fail();
    const isAlone = step !== undefined && Math.floor((n - 1) / CASES.length) % 2 === 1;
    it(`crawl ${n}: ${victim}${isAlone ? ' alone' : ''} is killed at ${step ?? 'any time'}`, async t => {
      const died = join(dir, `died-${n}`);
      const at = `${step}:${1 + Math.floor(Math.random() * times)}`;
      const env: NodeJS.ProcessEnv = step === undefined ? {} : { LCC_CRASH_AT: at, LCC_CRASH_ONCE: died };
      if (victim === 'lccq') {
        await service.stop();
        service.start(env);
      } else if (victim !== 'lcclinks') {
        await lcc.stop();
        lcc.configure(QM_KEYS + keys + (victim === 'lccd' && !isAlone ? UNTIL_ALL_KEYS : ''));
        await lcc.start(env);
      }
      const status = await begin(n);
      if (step === undefined) {
        const requests = 1 + Math.floor(Math.random() * EARLY_REQUESTS);
        t.diagnostic(`after ${requests} requests`);
        await until('pages are asked for', async () => (await timesAsked(n)).size >= requests);
        await killNow(victim);
      } else {
        t.diagnostic(at);
        await until(`${victim} dies`, () => existsSync(died));
        if (victim === 'lccd' && !isAlone) await killAll();
      }
      // One that lccd brings back is not there at once.
      if (status !== 0) await until('the seed is delivered again', async () => (await seed(n)) === 0);
      assert.deepEqual(await crawled(n), undisturbed);
      const often = [...(await timesAsked(n))].filter(([, asked]) => asked > 2);
      assert.deepEqual(often, []);
    });
  }

  it('leave nothing amiss but content of killed robots', async () => {
    await service.stop();
    await lcc.stop();
    const found = (await lcc.sh('lccfsck -q')).stdout;
    const amiss = found.split('\n').filter(line => line !== '' && !/^(?:orphan|leftover)\b/.test(line));
    assert.deepEqual(amiss, []);
  });
});
