/** A whole LCC that crawls: its daemons, and the service that follows them and sends the links. */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { consumerLook } from '../../src/cu/consumer-look.js';
import { CrawlService } from '../../test/support/crawl-service.js';
import { ROOT } from '../../test/support/tree.js';
import { startLcc, type BenchLcc } from '../lcc.js';

const POLL_MS = 25;
/** As the manual has it. */
const BATCH = 10_000;

export class Crawler {
  readonly lcc: BenchLcc;
  readonly #env: NodeJS.ProcessEnv;
  readonly #service: CrawlService;
  readonly #taken: () => number | undefined;

  private constructor(lcc: BenchLcc, env: NodeJS.ProcessEnv, service: CrawlService) {
    this.lcc = lcc;
    this.#env = env;
    this.#service = service;
    this.#taken = consumerLook(join(lcc.home, 'lcc.db'), join(lcc.home, 'links.cursor'));
  }

  /** @param options of lcclinks */
  static async start(home: string, options: readonly string[]): Promise<Crawler> {
    const lcc = await startLcc(home, 0, '');
    const path = [join(ROOT, 'bin'), process.env['PATH']].join(delimiter);
    const env = { ...process.env, LCC_HOME: home, LCC_CONFIG: '', PATH: path };
    return new Crawler(lcc, env, new CrawlService({ dir: home, env }, options, BATCH));
  }

  /** Runs a command line with this LCC. @returns its standard output @throws Error when it fails */
  run(line: string): string {
    const { status, stdout, stderr } = spawnSync('bash', ['-c', line], {
      cwd: this.lcc.home,
      env: this.#env,
      encoding: 'utf8',
      maxBuffer: 1 << 30,
    });
    if (status !== 0) throw new Error(`${line}: ${status} ${stderr}`);
    return stdout;
  }

  /** Begins with these urls, and waits until nothing comes of it any more. @returns seconds */
  async crawl(urls: readonly string[]): Promise<number> {
    writeFileSync(join(this.lcc.home, 'seeds'), urls.map(url => `${url}\n`).join(''));
    const start = performance.now();
    this.run('lcclinks -q --seeds --deliver <seeds');
    for (;;) {
      // Links are accepted before the cursor moves: all was looked at, and then nothing is being done.
      let seq: number | undefined;
      while ((seq = this.#taken()) === undefined) await pause(POLL_MS);
      const takenAt = performance.now();
      const idleSince = await this.lcc.untilIdle();
      if (this.#taken() === seq) return (Math.max(takenAt, idleSince) - start) / 1000;
    }
  }

  async stop(): Promise<void> {
    await this.#service.stop();
    await this.lcc.stop();
  }
}
