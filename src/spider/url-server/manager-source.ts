/**
 * Urls that a Bot Manager asks for, as it asks a robot (wire/bm-bot.ts): spiders fetch them, and what the store server has of them
 * then is the answer. There are as many slots as spiders have asked for and are busy with.
 *
 *     a request  waiting in its lane ──its turn──▶ at the URL server ──DONE──▶ being stored ──▶ answered
 *                     ╰──recalled: answered at once      ╰── failed, given up: answered
 *
 * Requests of a lane have their turn one after the other. What a spider has cannot be called back: the lane stays shut until its
 * fetch has ended, so that no site is asked twice at a time.
 */
import type { Duplex } from 'node:stream';
import type { Clock } from '../../lib/clock.js';
import { messageOf, type LccError } from '../../lib/errors.js';
import { Fifo } from '../../lib/fifo.js';
import type { Log } from '../../lib/log.js';
import { ManagerPeer } from '../../wire/bm-bot.js';
import { codeText } from '../../wire/codes.js';
import type { FetchFailed, RobotRequest, RobotResult } from '../../wire/fetch.js';
import type { ChannelLimits } from '../../wire/messages.js';
import { hostNameOf, isHostName } from '../../wire/spider-lines.js';
import type { FetchVerdict } from './fetch-verdict.js';
import { parseUrl } from './list-line.js';
import type { SpiderUrl, UrlFailure, UrlTerms } from './spider-url.js';
import type { UrlSource } from './url-source.js';

export interface ManagerSourceOptions {
  channel: ChannelLimits;
  clock: Clock;
  log: Log;
  /** Requests that wait at which no more are read. */
  maxWaiting: number;
  /** The numbers of urls. */
  idsOf(urls: readonly string[]): number[];
  /** What the store server has of a document, put where the request says. Rejects for a bug only. */
  collect(docId: number, request: RobotRequest): Promise<RobotResult>;
  /** How many urls spiders have asked for and are busy with. */
  slots(): number;
  fail(error: unknown): void;
}

interface Session {
  readonly peer: ManagerPeer;
  readonly lanes: Map<string, Lane>;
  isOver: boolean;
}

interface Lane {
  readonly waiting: Fifo<RobotRequest>;
  active: Asked | undefined;
}

/** A request whose turn has come. */
interface Asked {
  readonly session: Session;
  readonly request: RobotRequest;
  readonly lane: Lane;
  /** Nobody waits for its answer any more. */
  isGivenUp: boolean;
  /** Known once it has been taken over by the URL server. */
  url: SpiderUrl | undefined;
}

/** Slots that come and go are told together. */
const OFFER_DELAY_MS = 500;
/** Requests without a lane stand alone. */
const ALONE = '';

const FAILURES: Record<UrlFailure, readonly [code: number, what: string]> = {
  'silent spiders': [603, 'spiders were silent'],
  'lost connections': [605, 'connections to spiders were lost'],
  'forbidden by robots.txt': [610, 'excluded by robots.txt'],
  'robots.txt cannot be read': [610, 'robots.txt cannot be read'],
  'given up': [605, 'given up'],
};

export class ManagerSource implements UrlSource {
  readonly #options: ManagerSourceOptions;
  readonly #sessions = new Set<Session>();
  readonly #asked = new Map<number, Asked>();
  /** Of these, those that the URL server has not taken yet. */
  #coming: [number: number, Asked][] = [];
  #awaited: (() => void) | undefined;
  #numbers = 0;
  #waiting = 0;
  #isHeld = false;
  #offered = 0;
  #cancelOffer: (() => void) | undefined;
  /** Answers being made. */
  readonly #collecting = new Set<Promise<void>>();
  #isOver = false;

  constructor(options: ManagerSourceOptions) {
    this.#options = options;
  }

  /** Requests that wait for their turn. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Serves a connection to a Bot Manager. */
  serve(stream: Duplex, where: string): void {
    const { channel, clock, log } = this.#options;
    const session: Session = {
      peer: new ManagerPeer(
        stream,
        {
          fetch: request => this.#accept(session, request),
          recall: (lane, begun) => this.#recall(session, lane, begun),
          closed: reason => this.#closed(session, where, reason),
        },
        { ...channel, clock, where },
      ),
      lanes: new Map(),
      isOver: false,
    };
    this.#sessions.add(session);
    log.debug('manager connected', { peer: where });
    session.peer.hello(this.#offered, { isPinged: true });
    session.peer.hold(this.#isHeld);
  }

  /** Says how many slots there are, when that has changed: fewer after a moment, for a spider that is done soon asks for more. */
  offer(): void {
    const slots = this.#slots();
    if (slots > this.#offered) return this.#say(slots);
    if (slots === this.#offered) return;
    this.#cancelOffer ??= this.#options.clock.after(OFFER_DELAY_MS, () => {
      this.#cancelOffer = undefined;
      if (this.#slots() !== this.#offered) this.#say(this.#slots());
    });
  }

  #slots(): number {
    return this.#isOver ? 0 : this.#options.slots();
  }

  #say(slots: number): void {
    this.#offered = slots;
    for (const { peer } of this.#sessions) peer.hello(slots, { isPinged: true });
  }

  async *batches(): AsyncGenerator<UrlTerms[], void> {
    while (!this.#isOver) {
      if (this.#coming.length === 0) await new Promise<void>(resolve => (this.#awaited = resolve));
      const coming = this.#coming;
      this.#coming = [];
      const ids = this.#options.idsOf(coming.map(([, { request }]) => request.url));
      yield coming.flatMap(([number, { request }], i) => {
        const docId = ids[i];
        const hostName = hostOf(request.url);
        return docId === undefined || hostName === undefined
          ? []
          : [{ number, docId, url: request.url, hostName }];
      });
    }
  }

  /** A url of a request that nobody waits for is not begun. */
  isGivenUp(url: SpiderUrl): boolean {
    const asked = this.#asked.get(url.number);
    if (asked !== undefined) asked.url = url;
    return asked?.isGivenUp !== false;
  }

  ended(url: SpiderUrl, failure: UrlFailure | undefined): void {
    const asked = this.#asked.get(url.number);
    if (asked === undefined) return;
    if (failure !== undefined)
      return this.#end(url.number, asked, failed(asked.request.id, ...FAILURES[failure]));
    if (asked.isGivenUp) return this.#end(url.number, asked, undefined);
    const collecting = this.#options
      .collect(url.docId, asked.request)
      .then(result => this.#end(url.number, asked, result))
      .catch((error: unknown) => this.#options.fail(error))
      .finally(() => void this.#collecting.delete(collecting));
    this.#collecting.add(collecting);
  }

  async close(): Promise<void> {
    this.#isOver = true;
    this.#awaited?.();
    this.#cancelOffer?.();
    await Promise.allSettled(this.#collecting);
    for (const { peer } of this.#sessions) peer.channel.end();
  }

  /** No more is begun: what waits goes back. */
  drain(): void {
    this.#isOver = true;
    this.#say(0);
    for (const session of this.#sessions) {
      for (const lane of session.lanes.values()) this.#handBack(session, lane);
    }
  }

  #accept(session: Session, request: RobotRequest): void {
    if (this.#isOver) return session.peer.fetched({ id: request.id, status: 'recalled' });
    const name = request.lane ?? ALONE;
    const known = name === ALONE ? undefined : session.lanes.get(name);
    const lane: Lane = known ?? { waiting: new Fifo(), active: undefined };
    if (name !== ALONE) session.lanes.set(name, lane);
    lane.waiting.push(request);
    this.#waiting++;
    this.#next(session, lane);
    this.#balance();
  }

  /** The next request of a lane has its turn, if none has it. */
  #next(session: Session, lane: Lane): void {
    if (lane.active !== undefined || session.isOver) return;
    const request = lane.waiting.shift();
    if (request === undefined) return;
    this.#waiting--;
    if (hostOf(request.url) === undefined) {
      session.peer.fetched(failed(request.id, 611, 'not a url that spiders fetch', 'real'));
      return this.#next(session, lane);
    }
    lane.active = { session, request, lane, isGivenUp: false, url: undefined };
    const number = ++this.#numbers;
    this.#asked.set(number, lane.active);
    this.#coming.push([number, lane.active]);
    this.#awaited?.();
  }

  #recall(session: Session, name: string, begun: boolean): void {
    const lane = session.lanes.get(name);
    if (lane === undefined) return;
    this.#handBack(session, lane);
    const { active } = lane;
    if (active === undefined || active.isGivenUp) return;
    const isOut = active.url?.state === 'out';
    if (isOut && !begun) return;
    active.isGivenUp = true;
    const { id } = active.request;
    session.peer.fetched(isOut ? failed(id, 605, 'given up') : { id, status: 'recalled' });
  }

  #handBack(session: Session, { waiting }: Lane): void {
    for (const { id } of waiting.toArray()) session.peer.fetched({ id, status: 'recalled' });
    this.#waiting -= waiting.length;
    waiting.retain(() => false);
    this.#balance();
  }

  /** A request is over. @param result left out: nobody waits for it */
  #end(number: number, asked: Asked, result: RobotResult | undefined): void {
    const { session, request, lane } = asked;
    this.#asked.delete(number);
    lane.active = undefined;
    if (result !== undefined && !asked.isGivenUp && !session.isOver) session.peer.fetched(result);
    this.#next(session, lane);
    if (lane.active === undefined && request.lane !== undefined) session.lanes.delete(request.lane);
    this.#balance();
  }

  #closed(session: Session, where: string, reason: LccError | undefined): void {
    session.isOver = true;
    this.#sessions.delete(session);
    for (const { waiting, active } of session.lanes.values()) {
      this.#waiting -= waiting.length;
      if (active !== undefined) active.isGivenUp = true;
    }
    for (const asked of this.#asked.values()) if (asked.session === session) asked.isGivenUp = true;
    if (reason !== undefined)
      this.#options.log.warn('manager gone', { peer: where, reason: messageOf(reason) });
    this.#balance();
  }

  #balance(): void {
    const isHeld = this.#waiting >= this.#options.maxWaiting;
    if (isHeld === this.#isHeld || (this.#isHeld && this.#waiting > this.#options.maxWaiting / 2)) return;
    this.#isHeld = isHeld;
    for (const { peer } of this.#sessions) peer.hold(isHeld);
  }
}

/** The host of a url that a spider can be sent; undefined: it cannot. */
function hostOf(url: string): string | undefined {
  const parsed = /^https?:\/\/[\x21-\x7e]+$/i.test(url) ? parseUrl(url) : undefined;
  const host = parsed === undefined ? '' : hostNameOf(parsed);
  return isHostName(host) ? host : undefined;
}

export function failed(
  id: number,
  code: number,
  what: string,
  reach: FetchVerdict['reach'] = 'url',
): FetchFailed {
  return {
    id,
    status: 'error',
    code,
    reach,
    message: `${codeText(code)}: ${what}`,
    wireBytes: 0,
    elapsedMs: 0,
  };
}
