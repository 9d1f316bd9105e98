/** Questions of a Registration Server to the Queue Manager. Nothing is changed, and there are no secrets in
 * answers. */
import { announcersOf, crawlersOf } from '../db/providers/crawlers.js';
import { PushableStore } from '../db/providers/pushable.js';
import { RegisteredStore } from '../db/providers/registered.js';
import { UrlStandings } from '../db/queue/url-standings.js';
import type { Db } from '../db/sqlite/open.js';
import type { Clock } from '../lib/clock.js';
import { MAX_RS_ROWS, type RsAnswer, type RsQuestion } from '../wire/qm-rs.js';
import { createRootCheck, rootsAround } from '../wire/roots.js';
import type { UrlLife } from '../wire/url-life.js';

export class RsQuestions {
  readonly #db: Db;
  readonly #registered: RegisteredStore;
  readonly #standings: UrlStandings;
  readonly #pushable: PushableStore;

  readonly #clock: Pick<Clock, 'nowMs'>;

  readonly #livesOf: (pid: number, url: string) => readonly UrlLife[];

  constructor(
    db: Db,
    clock: Pick<Clock, 'nowMs'>,
    livesOf: (pid: number, url: string) => readonly UrlLife[] = () => [],
  ) {
    this.#livesOf = livesOf;
    this.#db = db;
    this.#clock = clock;
    this.#registered = new RegisteredStore(db);
    this.#standings = new UrlStandings(db, MAX_RS_ROWS);
    this.#pushable = new PushableStore(db);
  }

  answer(question: RsQuestion): RsAnswer {
    switch (question.op) {
      case 'find':
        return { ok: { pids: this.#around(question.url), ...this.#others(question.url) } };
      case 'show':
        return {
          ok: {
            provider: this.#registered.show(question.pid, Math.floor(this.#clock.nowMs() / 1000)) ?? null,
          },
        };
      case 'status':
        return { ok: { providers: this.#registered.count } };
      case 'life':
        return { ok: { lives: this.#livesOf(question.pid, question.url) } };
      case 'push': {
        const { pid, host } = question;
        return { ok: { targets: pid === 0 ? this.#pushable.at(host) : this.#pushable.of(pid) } };
      }
      case 'urls': {
        const { pid, urls } = question;
        return { ok: { urls: urls.map(url => this.#standings.of(pid, url)) } };
      }
      case 'errors': {
        const { op: _op, pid, ...wanted } = question;
        return { ok: { errors: this.#standings.errors(pid, wanted) } };
      }
    }
  }

  /** Providers with a root around a url. */
  #around(url: string): number[] {
    return this.#registered
      .withRoots(rootsAround(url))
      .filter(pid => createRootCheck(this.#registered.rootsOf(pid))(url));
  }

  /** Those that crawl a directory, or something below it; and those that announce such, if there are any. */
  #others(url: string): { crawlers: number[]; announcers?: number[] } {
    if (!url.endsWith('/')) return { crawlers: [] };
    const announcers = announcersOf(this.#db, url);
    return { crawlers: crawlersOf(this.#db, url), ...(announcers.length > 0 && { announcers }) };
  }
}
