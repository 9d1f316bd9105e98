/**
 * Checks that a rail does what it is asked, and only for those who may ask: a file of ours is put there,
 * read, and removed, and the same is tried without a login. Caches, which hold no files, are only asked to
 * clear a page that they do not have.
 */
import { randomBytes } from 'node:crypto';
import { isIP } from 'node:net';
import type { RailSetup } from '../db/clear/rails.js';
import type { FetchEngine } from '../fetch/engine.js';
import { familyOf } from '../fetch/failure.js';
import type { FetchJob } from '../fetch/job.js';
import type { FetchOutcome } from '../fetch/outcome.js';
import { CallbackSink } from '../fetch/sink.js';
import type { Clock } from '../lib/clock.js';
import { LccError } from '../lib/errors.js';
import { driverOf } from './drivers/index.js';
import type { Way } from './drivers/types.js';
import type { SenderLimits } from './options.js';
import { outcomeOf } from './outcomes.js';
import { railEngine, railJob, requireSafeUrl, secretFor } from './rails/rail-requests.js';
import type { Secret, Secrets } from './rails/secrets.js';

/** `open`: anybody may do it. `away`: the rail did not answer. */
export interface ProbeFinding {
  what: string;
  result: 'ok' | 'failed' | 'open' | 'away';
  text: string;
}

interface Reply {
  /** Undefined when there was none. */
  status: number | undefined;
  text: string;
  outcome: FetchOutcome;
}

const CONTENT = 'lccrail check\n';
/** Statuses for those who may not. */
const REFUSED = [401, 403, 405];
/** Words of caches for an answer that they had. */
const FROM_CACHE = /^(?:HIT|STALE|UPDATING|REVALIDATED)/i;

/**
 * @param folder of the rail in which the file is put, such as `/news/`
 * @throws LccError `usage` or `config` for a rail that cannot be asked as it is set up
 */
export async function probeRail(
  rail: RailSetup,
  folder: string,
  secrets: Secrets,
  limits: SenderLimits,
  clock: Clock,
): Promise<ProbeFinding[]> {
  requireSafeUrl(rail, limits.allowPlain);
  const secret = secretFor(rail, secrets);
  const engine = railEngine(rail, secret, limits, clock);
  const url = `${folder}.lccprobe-${clock.nowMs()}-${randomBytes(4).toString('hex')}.txt`;
  try {
    const probe = new RailProbe(rail, folder, url, secret, engine);
    return await (driverOf(rail).renew === 'put' ? probe.ofFiles() : probe.ofCache());
  } finally {
    engine.close();
  }
}

class RailProbe {
  readonly #rail: RailSetup;
  readonly #folder: string;
  readonly #url: string;
  readonly #secret: Secret | undefined;
  readonly #engine: FetchEngine;
  readonly #findings: ProbeFinding[] = [];

  constructor(rail: RailSetup, folder: string, url: string, secret: Secret | undefined, engine: FetchEngine) {
    this.#rail = rail;
    this.#folder = folder;
    this.#url = url;
    this.#secret = secret;
    this.#engine = engine;
  }

  async ofFiles(): Promise<ProbeFinding[]> {
    const body = { bytes: Buffer.from(CONTENT) };
    const stranger = await this.#send({ method: 'PUT', body }, false);
    this.#judgeStranger('PUT without a login', stranger);
    if (stranger.status === undefined) return this.#findings;
    if (this.#rail.authRef === null) {
      if (isDone(stranger)) await this.#send({ method: 'DELETE' }, false);
      else this.#find('login', 'failed', 'none is set up, so no page can be cleared (lccrail set --auth)');
      return this.#findings;
    }
    const put = await this.#send({ method: 'PUT', body }, true);
    this.#judge('PUT', put, isDone(put));
    const got = await this.#send({ method: 'GET' }, true);
    this.#judge('GET of what was put', got, got.status === 200 && got.text === CONTENT);
    const removed = await this.#send({ method: 'DELETE' }, false);
    this.#judgeStranger('DELETE without a login', removed);
    const cleared = await this.#send({ method: 'DELETE' }, true);
    this.#judge('DELETE', cleared, isDone(cleared) || cleared.status === 404);
    const gone = await this.#send({ method: 'GET' }, true);
    this.#judge('GET of what was removed', gone, isMissing(gone));
    const missing = await this.#send({ method: 'DELETE' }, true);
    this.#judge('DELETE of a page that is not there', missing, isDone(missing) || isMissing(missing));
    return this.#findings;
  }

  async ofCache(): Promise<ProbeFinding[]> {
    const { clear, renew, isByHost } = driverOf(this.#rail);
    await this.#ofWay(clear, '');
    const isAway = this.#findings.some(({ result }) => result === 'away');
    if (isAway) return this.#findings;
    if (typeof renew === 'object') await this.#ofWay(renew, ' to replace softly');
    if (isByHost === true) this.#ofHost();
    await this.#ofBypass(clear);
    return this.#findings;
  }

  /** Readers ask for a name; what a cache stores for an address is not what they get. */
  #ofHost(): void {
    const { name, url, host } = this.#rail;
    const { hostname, host: asked } = new URL(url);
    if (host === null && (isIP(hostname.replace(/[[\]]/g, '')) > 0 || hostname === 'localhost'))
      this.#find(
        'Host',
        'failed',
        `pages of ${asked} are cleared: lccrail set ${name} --host=NAME, as readers ask for them`,
      );
  }

  /** A page that is fetched again must not come from the cache itself, where that says so. */
  async #ofBypass(clear: Way): Promise<void> {
    const { path, headers, verb } = clear.ask([{ url: this.#folder, contentId: '' }]);
    if (verb !== 'refresh') return;
    await this.#send({ method: 'GET', path, headers: headers.slice(0, -2) }, true);
    const { outcome } = await this.#send({ method: 'GET', path, headers }, true);
    const cache = outcome.status === 'ok' ? outcome.cache : undefined;
    if (cache !== undefined && FROM_CACHE.test(cache))
      this.#find(
        `GET of ${path} past the cache`,
        'failed',
        `X-Cache: ${cache}: it must not answer ${headers.at(-2)} itself (proxy_cache_bypass)`,
      );
  }

  /** @param purpose what it is sent for, in the name of the finding */
  async #ofWay(way: Way, purpose: string): Promise<void> {
    const page = { url: this.#url, contentId: this.#url.slice(1) };
    const { method, path, headers, body, verb, done } = way.ask([page]);
    const job = { method, path, headers, ...(body !== undefined && { body }) };
    const isCleared = (reply: Reply) => {
      // A page that the site does not have cannot be refreshed.
      if (verb === 'refresh' && reply.status === 404) return true;
      return outcomeOf(reply.outcome, verb, done).kind === 'done';
    };
    const own = await this.#send(job, true);
    this.#judge(method + purpose, own, isCleared(own));
    if (this.#rail.authRef === null || own.status === undefined) return;
    const stranger = await this.#send(job, false);
    const what = `${method}${purpose} without a login`;
    // Some servers refuse with a 404; where the login has that answer, too, nothing says that strangers are
    // refused.
    const isRefused = !isCleared(stranger) || (isMissing(stranger) && !isMissing(own));
    if (isRefused) this.#find(what, 'ok', textOf(stranger));
    else this.#find(what, 'open', `${textOf(stranger)}${isMissing(stranger) ? ', as with the login' : ''}`);
  }

  #judge(what: string, reply: Reply, isOk: boolean): void {
    this.#find(what, reply.status === undefined ? 'away' : isOk ? 'ok' : 'failed', textOf(reply));
  }

  #judgeStranger(what: string, reply: Reply): void {
    const { status } = reply;
    if (status === undefined) return this.#find(what, 'away', textOf(reply));
    this.#find(what, isDone(reply) ? 'open' : REFUSED.includes(status) ? 'ok' : 'failed', textOf(reply));
  }

  #find(what: string, result: ProbeFinding['result'], text: string): void {
    this.#findings.push({ what, result, text });
  }

  #send(
    { path = this.#url, ...job }: Omit<FetchJob, 'url' | 'roots' | 'login'> & { path?: string },
    withLogin: boolean,
  ): Promise<Reply> {
    let text = '';
    return new Promise(resolve => {
      this.#engine.fetch(
        railJob(this.#rail, withLogin ? this.#secret : undefined, { ...job, path }),
        new CallbackSink(piece => {
          if (text.length <= CONTENT.length) text += Buffer.from(piece).toString('latin1');
        }),
        {
          done: outcome => {
            resolve({ status: statusOf(outcome), text, outcome });
          },
        },
      );
    });
  }
}

/** The status counts of an answer that broke off, too: it is in its head. */
function statusOf(outcome: FetchOutcome): number | undefined {
  if (outcome.status !== 'error') return outcome.status === 'ok' ? outcome.http : undefined;
  const { failure, http = 0 } = outcome;
  if (failure.kind === 'status') return failure.status;
  return familyOf(failure.kind) === 'broken' && http >= 200 ? http : undefined;
}

function isDone({ status }: Reply): boolean {
  return status !== undefined && status >= 200 && status < 300;
}

/** The page is not there, or is said not to be. */
function isMissing({ status }: Reply): boolean {
  return status === 404 || status === 410;
}

function textOf({ status, outcome }: Reply): string {
  if (status !== undefined) return `status ${status}`;
  return outcome.status === 'error' && 'detail' in outcome.failure ? outcome.failure.detail : 'no answer';
}

/**
 * Refuses a rail whose pages anybody may change when it is set up; says that one fails, or does not answer.
 * @param findings of trying the rail
 * @throws LccError `config` for an unprotected rail, unless that is forced
 */
export function refuseUnprotected(
  rail: string,
  findings: readonly ProbeFinding[],
  isForced: boolean,
  complain: (message: string) => void,
): void {
  const away = findings.find(({ result }) => result === 'away');
  if (away !== undefined)
    complain(
      `rail ${rail} is set up, but does not answer (${away.text}): whether anybody may change its pages is not known; lccrail check ${rail} when it does`,
    );
  const failed = findings.find(({ result }) => result === 'failed');
  if (failed !== undefined)
    complain(
      `rail ${rail} is set up, but its pages cannot be cleared: ${failed.what}: ${failed.text}; mend that, then lccrail check ${rail}`,
    );
  const open = findings.find(({ result }) => result === 'open');
  if (open === undefined) return;
  const what = `rail ${rail}: ${open.what} succeeds (${open.text}): anybody may change its pages`;
  if (!isForced) throw new LccError('config', `${what}; have the server ask for a login, or give --force`);
  complain(what);
}
