/** The real lccd-bm and its robots, with a store of their own, between a source and a site that a test plays. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FetchOk } from '../../src/wire/fetch.js';
import { Daemons, type Daemon } from './daemon.js';
import { TestSite } from './site.js';
import { TestSource } from './source.js';
import { until } from './until.js';

export const contentOf = (path: string) => `content of ${path}\n`.repeat(50);
export const md5 = (text: string) => createHash('md5').update(text).digest('hex');

export class BotManagerHome {
  readonly home: string;
  /** What it is connected to. */
  readonly source: TestSource;
  readonly site: TestSite;
  readonly #daemons = new Daemons();
  readonly #nameBlock: number;

  private constructor(home: string, source: TestSource, site: TestSite, nameBlock: number) {
    this.home = home;
    this.source = source;
    this.site = site;
    this.#nameBlock = nameBlock;
  }

  /** Nothing runs yet; the site serves `contentOf` each path. @param nameBlock names that are reserved at a time */
  static async make(nameBlock = 3): Promise<BotManagerHome> {
    const home = mkdtempSync(join(tmpdir(), 'lcc-bm-cmd-'));
    const source = await TestSource.listen(join(home, 'qm.sock'));
    const site = await TestSite.listen((request, response) => response.end(contentOf(request.url ?? '')));
    const made = new BotManagerHome(home, source, site, nameBlock);
    made.configure();
    return made;
  }

  /** For the next start: more of lcc.toml. What waits for a robot waits for it however long that takes to start. */
  configure(more = ''): void {
    writeFileSync(
      join(this.home, 'lcc.toml'),
      `[bm]\ngrace_ms = 0\nname_block = ${this.#nameBlock}\nmin_free_disk_percent = 0\nrobot_wait_ms = "5m"\n${more}`,
    );
  }

  /** @param more further options */
  startManager(env: NodeJS.ProcessEnv = {}, more: readonly string[] = []): Daemon {
    const args = [
      `--source=unix:${this.home}/qm.sock`,
      `--listen=unix:${this.home}/bm.sock`,
      '--machineid=m1',
      ...more,
    ];
    return this.start('lccd-bm', args, env);
  }

  startRobot(name: string, slots: number, env: NodeJS.ProcessEnv = {}): Daemon {
    const listening = `--bm=unix:${this.home}/bm.sock`;
    const args = [listening, `--slots=${slots}`, '--allow-address=127.0.0.0/8', `--name=${name}`];
    return this.start('lccbot', args, env);
  }

  /** Any other daemon, on the same home unless another is named. */
  start(name: string, args: readonly string[], env: NodeJS.ProcessEnv = {}, home = this.home): Daemon {
    return this.#daemons.start(name, home, args, env);
  }

  async fetchOk(path: string, lane = path): Promise<FetchOk> {
    const result = await this.source.fetch({ lane, url: this.site.urlOf(path) });
    assert.equal(result?.status, 'ok', JSON.stringify(result));
    return result;
  }

  fileOf(result: FetchOk): string {
    return join(this.home, 'store', result.fileId);
  }

  /** Names of the content in its store. */
  files(): string[] {
    return readdirSync(join(this.home, 'store'), { recursive: true })
      .map(String)
      .filter(name => /^[0-9a-f]{2}\/[0-9a-f]{2}\/[0-9a-f]{8}\.\d+$/.test(name));
  }

  /** Waits until the store holds no more than this: the sweep has no event that can be seen. */
  async swept(atMost: number): Promise<void> {
    await until(`${atMost} files are left in the store`, () => this.files().length <= atMost);
  }

  async remove(): Promise<void> {
    await this.#daemons.end();
    this.source.close();
    this.site.close();
    rmSync(this.home, { recursive: true, force: true });
  }
}
