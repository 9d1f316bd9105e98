/** Pages of a provider over the tables and the operations of a Queue Manager; only the wire between them is left out. */
import { randomUUID } from 'node:crypto';
import { loadConfig } from '../../src/config/load.js';
import { hashPassword } from '../../src/lib/password.js';
import { silentLog } from '../../src/lib/log.js';
import { RsOperations, rsBoundsOf } from '../../src/qm/rs-operations.js';
import { RsRequestRefused } from '../../src/rs/refusal.js';
import type { ProviderViewOptions } from '../../src/rs/me.js';
import { Bench } from '../qm/support.js';
import type { Ground } from '../web/support.js';
import { PagesScene, type Page } from './pages-support.js';
import { RsScene } from './support.js';

export const PID = 100_000;
export const PASSWORD = 'right-password';
/** As `Bench` has it. */
export const ROOT = 'http://127.0.0.1/';

export class MeScene {
  readonly qm = new Bench({ errorsKept: 1_000_000 });
  readonly operations: RsOperations;
  readonly rs: RsScene;
  pages!: PagesScene;
  cookie = '';

  private constructor(rs: RsScene) {
    this.rs = rs;
    const { db, store, dir } = this.qm;
    db.pragma('synchronous = OFF');
    const none = () => undefined;
    this.operations = new RsOperations({
      db,
      store,
      clock: rs.clock,
      log: silentLog,
      bounds: rsBoundsOf(loadConfig({ env: { LCC_HOME: dir } })),
      changed: none,
      flushed: none,
      controls: { pause: none, resume: none, flush: none, 'want-full': none },
    });
    const change = { op: 'register', pid: PID, password: hashPassword(PASSWORD), roots: [ROOT] } as const;
    this.operations.answer({ id: randomUUID(), change });
  }

  static async start(on: Pick<Ground, 'services' | 'limits'>): Promise<MeScene> {
    const scene = new MeScene(await RsScene.start());
    scene.pages = await PagesScene.start(scene.rs, on, scene.view());
    const { cookie } = await scene.pages.ask('/base/login', {
      number: String(PID),
      password: PASSWORD,
      next: '',
    });
    scene.cookie = cookie;
    return scene;
  }

  get(path: string): Promise<Page> {
    return this.pages.ask(`/base${path}`, undefined, { cookie: this.cookie });
  }

  /** Errors of fetches, one code after the other. */
  fail(count: number, codes: readonly number[], text = 'Not Found'): void {
    const { db } = this.qm;
    const insert = db.prepare('INSERT INTO pierr(pid, code, text, attrs) VALUES (?, ?, ?, ?)');
    db.transaction(() => {
      for (let i = 0; i < count; i++)
        insert.run(
          PID,
          codes[i % codes.length],
          text,
          ` curl="${ROOT}d${i % 10}/p${i}.html" mimetype="text/html"`,
        );
      db.prepare('UPDATE pidb SET nurlerrs = (SELECT count(*) FROM pierr) WHERE pid = ?').run(PID);
    })();
  }

  async close(): Promise<void> {
    await this.pages.server.close();
    this.rs.close();
    this.qm.close();
  }

  private view(): ProviderViewOptions {
    return {
      door: {
        look: (_pid, password) =>
          password === PASSWORD
            ? Promise.resolve({ report: {} as never, errors: [] })
            : Promise.reject(new RsRequestRefused(401, 'login', 'wrong', 'check')),
      },
      ask: question => {
        const answer = this.operations.answer({ id: undefined, question });
        return Promise.resolve('ok' in answer ? answer.ok : undefined);
      },
    };
  }
}
