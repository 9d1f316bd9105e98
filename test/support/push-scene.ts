/** A site that pushes, and an LCC that it pushes to, whatever is killed there. */
import assert from 'node:assert/strict';
import { freePort } from './free-port.js';
import type { KillEnv } from './kills.js';
import { Lcc } from './lcc.js';
import { TestSite } from './site.js';
import { until } from './until.js';

const KEY = 'a1b2c3d4e5f6';
/** In a push. */
export const URLS = 5;

export class PushScene {
  readonly site: TestSite;
  readonly lcc: Lcc;
  readonly #port: number;
  #isShown: boolean;
  #waiting: (() => void)[] = [];

  private constructor(site: TestSite, port: number, isSlow: boolean) {
    this.site = site;
    this.#port = port;
    this.#isShown = !isSlow;
    const listen = `listen = ["127.0.0.1:${port}"]\nurl = "http://127.0.0.1:${port}/"`;
    this.lcc = new Lcc(`${site.url}/`, `[rs]\n${listen}\nports = ["${new URL(site.url).port}"]\n`);
    site.answer = (request, response) => {
      const path = request.url ?? '';
      const isKey = path.endsWith('.txt');
      const answer = () => {
        response.writeHead(200, { 'content-type': isKey ? 'text/plain' : 'text/html' });
        response.end(isKey ? KEY : path);
      };
      if (isKey && !this.#isShown) this.#waiting.push(answer);
      else answer();
    };
  }

  /** @param isSlow its key file comes when it is told to */
  static async start(env: KillEnv, isSlow: boolean): Promise<PushScene> {
    const scene = new PushScene(await TestSite.listen(), await freePort(), isSlow);
    await scene.lcc.addProvider();
    await scene.lcc.start(env);
    return scene;
  }

  showKey(): void {
    this.#isShown = true;
    for (const answer of this.#waiting) answer();
  }

  /** Pushes some pages, again and again until that is answered. */
  async push(round: number): Promise<void> {
    const urlList = Array.from({ length: URLS }, (_, i) => this.site.urlOf(`/p${round}-${i}`));
    const body = JSON.stringify({ host: new URL(this.site.url).host, key: KEY, urlList });
    await until('the push is taken', async () => {
      try {
        const { status } = await fetch(`http://127.0.0.1:${this.#port}/indexnow`, { method: 'POST', body });
        assert.ok([200, 202, 429, 503].includes(status), String(status));
        return status < 300;
      } catch (error) {
        if (error instanceof assert.AssertionError) throw error;
        return false;
      }
    });
  }

  async areHeld(pages: number): Promise<void> {
    await until(`${pages} pages are held`, async () => (await this.lcc.holdings()).rows.length === pages);
  }

  async end(): Promise<void> {
    await this.lcc.remove();
    this.site.close();
  }
}
