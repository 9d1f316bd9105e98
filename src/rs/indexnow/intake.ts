/** The way of a request of IndexNow: whose pages it names, whether that is too much, whether its key is good.
 * Its urls are in rs.db when it is answered 200. */
import { DAY, MINUTE } from '../../config/amounts.js';
import { amount } from '../../config/words.js';
import type { RsDatabase } from '../../db/rs/database.js';
import type { Clock } from '../../lib/clock.js';
import { step } from '../../lib/steps.js';
import type { PushRefusals } from '../push/refusals.js';
import { Rate } from '../push/rates.js';
import type { PushTarget, PushTargets } from '../push/targets.js';
import { busy, RsRequestRefused, tooOften } from '../refusal.js';
import type { SiteRules } from '../site.js';
import { keyProblem } from './key-file.js';
import type { Keys } from './key-standing.js';
import type { IndexNowRequest } from './request.js';

const REQUESTS_PER_MINUTE = 60;
const URLS_PER_MINUTE = 10_000;
/** Urls of a provider in a day: at least, and times what is held. */
const LEAST_PER_DAY = 20_000;
const HELD_PER_DAY = 2;

export interface IntakeParts {
  db: Pick<RsDatabase, 'push' | 'pushKeys' | 'write'>;
  clock: Clock;
  targets: Pick<PushTargets, 'around'>;
  keys: Pick<Keys, 'verdict' | 'hold'>;
  refusals: Pick<PushRefusals, 'add'>;
  site: SiteRules;
  /** @throws RsRequestRefused where rs.db has no room */
  demandRoom: () => void;
  /** Where sites register. */
  registerUrl: string;
  stir: () => void;
}

export interface IndexNowTaken {
  /** 202: the key is not decided. */
  status: 200 | 202;
  accepted: number;
  refused: number;
}

export class IndexNowIntake {
  readonly #parts: IntakeParts;
  readonly #requests: Rate;
  readonly #urls: Rate;

  constructor(parts: IntakeParts) {
    this.#parts = parts;
    this.#requests = new Rate(parts.clock, REQUESTS_PER_MINUTE, MINUTE);
    this.#urls = new Rate(parts.clock, URLS_PER_MINUTE, MINUTE);
  }

  /** @param network of the sender @throws RsRequestRefused; as RsDatabase.write */
  async take(request: IndexNowRequest, network: string): Promise<IndexNowTaken> {
    let targets: readonly PushTarget[] = [];
    try {
      targets = await this.#targetsOf(request);
      return await this.#takeFor(targets, request, network);
    } catch (error) {
      if (error instanceof RsRequestRefused)
        for (const { pid } of targets) this.#refuse(pid, request, reasonOf(error), request.sent);
      throw error;
    }
  }

  async #takeFor(
    targets: readonly PushTarget[],
    request: IndexNowRequest,
    network: string,
  ): Promise<IndexNowTaken> {
    const { keys, site, stir } = this.#parts;
    const { name, urls, sent } = request;
    const placed = placedIn(targets, urls);
    const inside = new Set([...placed.values()].flat()).size;
    if (inside === 0)
      throw new RsRequestRefused(
        422,
        'InvalidUrls',
        `no url lies below a directory that is registered here for ${name.host}`,
        'nothing was taken',
      );
    const demand = (isHeld: boolean) => {
      for (const target of targets) this.#demand(target, placed.get(target.pid)?.length ?? 0, isHeld);
    };
    demand(false);
    this.#parts.demandRoom();
    const problem = keyProblem(name, site);
    if (problem !== undefined)
      throw new RsRequestRefused(
        403,
        'InvalidKey',
        `the key file is not asked for: ${problem.what}`,
        problem.do,
      );
    const verdict = await keys.verdict(name, network);
    if (verdict === 'bad')
      throw new RsRequestRefused(
        403,
        'InvalidKey',
        `the key file of ${name.host} is missing, or has another key`,
        'it holds nothing but the key',
      );
    // Other requests may have been taken while this one waited for the look.
    demand(verdict === 'unknown');
    if (verdict === 'good') this.#commit(placed);
    else keys.hold(name, placed);
    for (const [pid, some] of placed) {
      this.#requests.count(String(pid));
      this.#urls.count(String(pid), some.length);
    }
    const refused = urls.length - inside;
    if (refused > 0) this.#refuse(targets[0]?.pid, request, 'outside of the roots', refused);
    if (verdict === 'good') stir();
    return { status: verdict === 'good' ? 200 : 202, accepted: sent - refused, refused };
  }

  /** Providers that the host is of. @throws RsRequestRefused 403, 503 */
  async #targetsOf(request: IndexNowRequest): Promise<readonly PushTarget[]> {
    const { targets, registerUrl } = this.#parts;
    const { name, hostname } = request;
    const around = await targets.around(hostname);
    if (around === undefined) throw busy();
    const at = around.filter(({ roots }) =>
      roots.some(root => new URL(root).host === hostOf(root, name.host)),
    );
    const open = at.filter(({ doors }) => doors.has('indexnow'));
    const [first] = open;
    if (first !== undefined) return open;
    const [what, advice] =
      at.length === 0
        ? [`nobody has registered ${name.host} here`, `register it: ${registerUrl}`]
        : [`the provider of ${name.host} takes no urls by IndexNow`, 'ask the operator of this LCC'];
    this.#refuse(at[0]?.pid, request, what, request.sent);
    throw new RsRequestRefused(403, 'UnknownHost', what, advice);
  }

  #commit(placed: ReadonlyMap<number, readonly string[]>): void {
    const { db, clock } = this.#parts;
    const nowMs = clock.nowMs();
    db.write(() => {
      for (const [pid, urls] of placed) db.push.offer(pid, 'indexnow', urls, nowMs);
    });
    step('rs.push.committed');
  }

  /**
   * @param isHeld the key is not decided: urls that wait for such keys count as well
   * @throws RsRequestRefused 429
   */
  #demand({ pid, held }: PushTarget, urls: number, isHeld: boolean): void {
    if (urls === 0) return;
    const { db, clock } = this.#parts;
    const waitMs = this.#requests.waitMs(String(pid));
    if (waitMs > 0) throw tooMuch(`requests of this site: ${REQUESTS_PER_MINUTE} a minute`, waitMs);
    const urlsMs = this.#urls.waitMs(String(pid), urls);
    if (urlsMs > 0) throw tooMuch(`urls of this site: ${URLS_PER_MINUTE} a minute`, urlsMs);
    const most = Math.max(LEAST_PER_DAY, HELD_PER_DAY * held);
    const nowMs = clock.nowMs();
    const before = db.push.sentOn(pid, nowMs) + (isHeld ? db.pushKeys.pendingOf(pid) : 0);
    if (before + urls > most)
      throw tooMuch(`urls of this site: ${amount(most, 'url')} a day`, DAY - (nowMs % DAY));
  }

  #refuse(pid: number | undefined, { urls, name }: IndexNowRequest, reason: string, n: number): void {
    this.#parts.refusals.add(pid, 'indexnow', { url: urls[0] ?? name.host, reason }, n);
  }
}

/** Urls by provider, of those that have any. */
function placedIn(targets: readonly PushTarget[], urls: readonly string[]): Map<number, string[]> {
  const placed = new Map<number, string[]>();
  for (const { pid, isInside } of targets) {
    const inside = urls.filter(url => isInside(url));
    if (inside.length > 0) placed.set(pid, inside);
  }
  return placed;
}

/** The host that a sender names, as a URL of the scheme of a root has it: without its default port. */
function hostOf(root: string, host: string): string {
  return new URL(`${new URL(root).protocol}//${host}`).host;
}

function tooMuch(what: string, waitMs: number): RsRequestRefused {
  return tooOften('too-often', `too many ${what}`, waitMs);
}

/** Equal ones are counted together: without the time when to come again. */
function reasonOf({ status, what, message }: RsRequestRefused): string {
  return status === 429 ? what : message;
}
