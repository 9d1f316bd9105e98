/** A push that was answered is fetched, whatever is killed: lccd-rs, lccd-uns and lccd-qm at each of their steps. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { freePort } from '../support/free-port.js';
import { lifeWithKill, type KillEnv } from '../support/kills.js';
import { Lcc } from '../support/lcc.js';
import { isLong, longIt } from '../support/long.js';
import { TestSite } from '../support/site.js';
import { until } from '../support/until.js';

const KEY = 'a1b2c3d4e5f6';
const REQUESTS = 4;
const URLS = 5;

/** Steps of a push whose key is known, and of one whose site is slow to show it. */
const STEPS = [
  'rs.push.committed',
  'rs.push.delivered',
  'rs.push.committed-sent',
  'uns.accepted',
  'uns.forwarded',
  'qm.set.complete',
  'qm.result.committed',
];
const SLOW_STEPS = ['rs.push.held', 'rs.push.decided'];
const IN_GATE = ['rs.push.delivered'];
const KILLS = 100;
const KILLED = ['lccd-rs', 'lccd-uns', 'lccd-qm'];

/** A site, and an LCC that it pushes to. */
class Scene {
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
  static async start(env: KillEnv, isSlow: boolean): Promise<Scene> {
    const scene = new Scene(await TestSite.listen(), await freePort(), isSlow);
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

async function life(env: KillEnv, isSlow: boolean): Promise<void> {
  const scene = await Scene.start(env, isSlow);
  try {
    await scene.push(0);
    scene.showKey();
    for (let round = 1; round < REQUESTS; round++) await scene.push(round);
    await scene.areHeld(REQUESTS * URLS);
  } finally {
    await scene.end();
  }
}

describe('a push that was answered is fetched', () => {
  for (const [steps, isSlow] of [
    [STEPS, false],
    [SLOW_STEPS, true],
  ] as const)
    for (const step of steps.filter(name => isLong || IN_GATE.includes(name)))
      it(`after a kill at ${step}`, () => lifeWithKill(step, env => life(env, isSlow)));

  longIt(`whatever is killed ${KILLS} times, each time at another moment`, async () => {
    const scene = await Scene.start({}, false);
    try {
      for (let round = 0; round < KILLS; round++) {
        const name = KILLED[round % KILLED.length] ?? '';
        const pid = await until(`${name} answers`, async () =>
          Number((await scene.lcc.daemons())[name]?.['pid']),
        );
        const pushed = scene.push(round);
        for (let turns = round % 20; turns > 0; turns--) await new Promise(resolve => setImmediate(resolve));
        process.kill(pid, 'SIGKILL');
        await pushed;
      }
      await scene.areHeld(KILLS * URLS);
    } finally {
      await scene.end();
    }
  });
});
