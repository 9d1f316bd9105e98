/** Pages of a provider over the tables and the operations of a Queue Manager; only the wire between them is left out. */
import { randomUUID } from 'node:crypto';
import type { Bench } from '../qm/support.js';
import type { Ground } from '../web/support.js';
import { AccountScene, PASSWORD } from './account-scene.js';
import { formTokenIn, PagesScene, type Page } from './pages-support.js';

export { PASSWORD } from './account-scene.js';
export const PID = 100_000;
/** As `Bench` has it; a root besides the one that was registered. */
export const ROOT = 'http://127.0.0.1/';

export class MeScene {
  readonly accounts: AccountScene;
  pages!: PagesScene;
  cookie = '';
  /** Questions of the pages to the Queue Manager, by name. */
  readonly asked: string[] = [];

  private constructor(accounts: AccountScene) {
    this.accounts = accounts;
  }

  static async start(
    on: Pick<Ground, 'services' | 'limits'>,
    overrides?: Parameters<typeof AccountScene.start>[0],
  ): Promise<MeScene> {
    const accounts = await AccountScene.start(overrides);
    const scene = new MeScene(accounts);
    await accounts.register('/docs/');
    const change = { op: 'root-add', pid: PID, roots: [ROOT] } as const;
    accounts.operations.answer({ id: randomUUID(), change });
    const ask: (typeof accounts.rs)['ask'] = question => accounts.rs.ask(question);
    const view = {
      door: accounts.door,
      ask: (question: Parameters<typeof ask>[0]) => {
        scene.asked.push(question.op);
        return Promise.resolve(ask(question));
      },
    };
    scene.pages = await PagesScene.start(accounts.rs, on, view, accounts.account);
    await scene.login();
    return scene;
  }

  get qm(): Bench {
    return this.accounts.qm;
  }

  /** @returns the answer to the form */
  async login(password = PASSWORD): Promise<Page> {
    const answer = await this.pages.ask('/base/login', { number: String(PID), password, next: '' });
    this.cookie = answer.cookie;
    return answer;
  }

  get(path: string): Promise<Page> {
    return this.pages.ask(`/base${path}`, undefined, { cookie: this.cookie });
  }

  /** Sends a form of the page that has the path; what is answered sets the cookie. */
  async post(path: string, fields: Record<string, string>, formPath = path): Promise<Page> {
    const form_token = formTokenIn(await this.get(formPath));
    const answer = await this.pages.ask(`/base${path}`, { form_token, ...fields }, { cookie: this.cookie });
    if (answer.cookie !== '') this.cookie = answer.cookie;
    return answer;
  }

  /** Follows where a form has led to. */
  async follow({ location }: Page): Promise<Page> {
    return this.get(location.replace(/^\/base/, ''));
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
    this.accounts.close();
  }
}
