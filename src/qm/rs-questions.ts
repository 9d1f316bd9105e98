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

/** @param livesOf all that is known of a url */
export function rsQuestions(
  db: Db,
  clock: Pick<Clock, 'nowMs'>,
  livesOf: (pid: number, url: string) => readonly UrlLife[] = () => [],
): (question: RsQuestion) => RsAnswer {
  const registered = new RegisteredStore(db);
  const standings = new UrlStandings(db, MAX_RS_ROWS);
  const pushable = new PushableStore(db);
  /** Providers with a root around a url. */
  const around = (url: string): number[] =>
    registered.withRoots(rootsAround(url)).filter(pid => createRootCheck(registered.rootsOf(pid))(url));
  return question => {
    switch (question.op) {
      case 'find':
        return { ok: { pids: around(question.url), ...others(db, question.url) } };
      case 'show': {
        const nowS = Math.floor(clock.nowMs() / 1000);
        return { ok: { provider: registered.show(question.pid, nowS) ?? null } };
      }
      case 'status':
        return { ok: { providers: registered.count } };
      case 'life':
        return { ok: { lives: livesOf(question.pid, question.url) } };
      case 'push': {
        const { pid, host } = question;
        return { ok: { targets: pid === 0 ? pushable.at(host) : pushable.of(pid) } };
      }
      case 'urls': {
        const { pid, urls } = question;
        return { ok: { urls: urls.map(url => standings.of(pid, url)) } };
      }
      case 'errors': {
        const { op: _op, pid, ...wanted } = question;
        return { ok: { errors: standings.errors(pid, wanted) } };
      }
    }
  };
}

/** Those that crawl a directory, or something below it; and those that announce such, if there are any. */
function others(db: Db, url: string): { crawlers: number[]; announcers?: number[] } {
  if (!url.endsWith('/')) return { crawlers: [] };
  const announcers = announcersOf(db, url);
  return { crawlers: crawlersOf(db, url), ...(announcers.length > 0 && { announcers }) };
}
