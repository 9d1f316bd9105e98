/**
 * Crawls of one site, each killed once with kill -9: all daemons when one of them has just done a durable step, or at any time, and
 * lccq or lcclinks. Each holds what an undisturbed crawl holds, and asks for no url more than twice.
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

/** Fifty in the long set (scripts/test-sets.mjs). */
const KILLS = Number(process.env['LCC_TEST_CRAWL_KILLS'] ?? 5);
const PAGES = 20;
/** Requests of a crawl, so few that more of it is always to come. */
const EARLY_REQUESTS = 12;

/** What is killed, and when; one after the other, from the start again after the last. */
const CASES: readonly { victim: 'lccd' | 'lccq' | 'lcclinks'; step?: string }[] = [
  { victim: 'lccd', step: 'qm.result.committed' },
  { victim: 'lccq', step: 'cu.cursor.advanced' },
  { victim: 'lcclinks' },
  { victim: 'lccd', step: 'uns.accepted' },
  { victim: 'lccd' },
  { victim: 'lccd', step: 'uns.forwarded' },
  { victim: 'lccd', step: 'qm.slice.committed' },
  { victim: 'lccd', step: 'qm.set.complete' },
  { victim: 'lccd', step: 'qm.set.finished' },
  { victim: 'lccd', step: 'qm.acked' },
  { victim: 'lccd', step: 'fetch.file.synced' },
  { victim: 'lccd', step: 'fetch.file.renamed' },
  { victim: 'lccd', step: 'fetch.file.directory-synced' },
  { victim: 'lccq' },
];

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
    const pages = Object.entries(treeOf(PAGES)).map(([path, text]) => [
      path,
      text.replaceAll('"/tree/', '"../').replaceAll('"/missing', '"../../missing'),
    ]);
    for (let n = 0; n <= KILLS; n++)
      writePages(join(dir, 'docs', `s${n}`), Object.fromEntries(pages) as Record<string, string>);
    site = await startSite(join(dir, 'docs'), join(dir, 'nginx'));
    // What has died stays so until all of it is started again.
    const held = '[lccd]\nrestart_min_ms = 60000\nrestart_max_ms = 60000\n';
    lcc = new Lcc(site.url, `[qm]\npace_ms = 0\n\n${held}`);
    await lcc.start();
    service = new RestartedService(lcc);
    service.start();
    await begin(0);
    undisturbed = await crawled(0);
    assert.equal(Math.max(...(await timesAsked(0)).values()), 1);
    assert.ok(undisturbed.filter(row => row.includes('page-')).length === PAGES, undisturbed.join('\n'));
  });
  after(async () => {
    await service.stop();
    await lcc.remove();
    await site.stop();
    rmSync(dir, { recursive: true, force: true });
  });

  const rootOf = (n: number) => `${site.url}s${n}/`;
  const seed = (n: number) =>
    lcc.sh(`echo ${rootOf(n)}tree/0/page-0.html | lcclinks --seeds --deliver`).then(({ status }) => status);
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

  for (let n = 1; n <= KILLS; n++) {
    const { victim, step } = CASES[(n - 1) % CASES.length] ?? assert.fail();
    it(`crawl ${n}: ${victim} is killed at ${step ?? 'any time'}`, async t => {
      if (step === undefined) {
        await begin(n);
        const requests = 1 + Math.floor(Math.random() * EARLY_REQUESTS);
        t.diagnostic(`after ${requests} requests`);
        await until('pages are asked for', async () => (await timesAsked(n)).size >= requests);
        await (victim === 'lccd' ? killAll() : service.kill(victim));
      } else {
        const died = join(dir, `died-${n}`);
        const env = { LCC_CRASH_AT: `${step}:${1 + Math.floor(Math.random() * 2)}`, LCC_CRASH_ONCE: died };
        t.diagnostic(env.LCC_CRASH_AT);
        if (victim === 'lccq') {
          await service.stop();
          service.start(env);
        } else {
          await lcc.stop();
          await lcc.start(env);
        }
        const status = await begin(n);
        await until(`${victim} dies`, () => existsSync(died));
        if (victim === 'lccd') await killAll();
        if (status !== 0) assert.equal(await seed(n), 0, 'the seed is delivered again');
      }
      assert.deepEqual(await crawled(n), undisturbed);
      const often = [...(await timesAsked(n))].filter(([, times]) => times > 2);
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
