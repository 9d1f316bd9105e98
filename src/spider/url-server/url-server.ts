/**
 * The URL server as a whole: urls come from a list as far as there is room for them, go to spiders, and come
 * to their end.
 *
 *     reading ──the list has no more──▶ ending ──every url has ended──▶ over
 *        ╰──────── told to stop ──────────▶ stopping ──nothing is under way, or the grace is over──▶ over
 */
import type { Places } from '../../daemon/places.js';
import type { Connection } from '../../daemon/types.js';
import type { Clock } from '../../lib/clock.js';
import { LccError } from '../../lib/errors.js';
import { FairShare } from '../../lib/fair-share.js';
import type { Log } from '../../lib/log.js';
import { transitions, type StateOf } from '../../lib/states.js';
import type { UrldStatus } from './figures.js';
import type { UrlServerOptions } from './options.js';
import { SpiderUrl, type UrlFailure } from './spider-url.js';
import { Scheduler, type ConnectedSpider, type Judgement } from './scheduler.js';
import { SpiderSession } from './spider-session.js';
import type { UrlList } from './url-list.js';

interface UrlServerParts {
  options: UrlServerOptions;
  list: UrlList;
  places: Places;
  clock: Clock;
  log: Log;
  /** Asked before a url is sent; left out: all go. */
  judge?: ((url: SpiderUrl) => Judgement) | undefined;
  /** A bug, or a list that cannot be read. */
  fail: (error: unknown) => void;
}

const serverBecomes = transitions('URL server', {
  reading: ['ending', 'stopping', 'over'],
  ending: ['stopping', 'over'],
  stopping: ['over'],
  over: [],
});

type ServerState = StateOf<typeof serverBecomes>;

export class UrlServer {
  readonly #parts: UrlServerParts;
  readonly #scheduler: Scheduler;
  readonly #sessions = new Map<SpiderSession, Promise<void>>();
  readonly #share = new FairShare();
  readonly #counts = { done: 0, failed: 0, again: 0, unknown_transactions: 0, bad_lines: 0 };
  #state: ServerState = 'reading';
  /** Number of held urls that have not ended. */
  #heldUrls = 0;
  #heldBytes = 0;
  #hasStirred = false;
  #cancelWake: (() => void) | undefined;
  #wakeMs = Infinity;
  #room: (() => void) | undefined;
  #over: () => void = () => undefined;
  /** Resolves when every url has ended and no more will come, or it was stopped. */
  readonly over = new Promise<void>(resolve => (this.#over = resolve));

  constructor(parts: UrlServerParts) {
    this.#parts = parts;
    this.#scheduler = new Scheduler(parts.options.schedule, {
      judge: parts.judge,
      ended: (url, failure) => this.#ended(url, failure),
      again: (url, why) => {
        this.#counts.again++;
        parts.log.debug('url waits again', { url: url.url, reason: why });
      },
    });
  }

  /** Reads the list. */
  start(): void {
    this.#pump().catch(this.#parts.fail);
  }

  /** A spider has connected. */
  accept(connection: Connection): void {
    const { places, options, clock } = this.#parts;
    const place =
      this.#state === 'over' || this.#state === 'stopping'
        ? places.turnAway(connection, new LccError('try.later', 'no more urls'))
        : places.admit(connection, why => session.dismiss(why));
    if (place === undefined) return;
    const session: SpiderSession = new SpiderSession(
      connection,
      {
        get: count => {
          place.known();
          this.#scheduler.get(spider, count);
          this.#stir();
        },
        working: id => this.#known(this.#scheduler.working(spider, id, clock.monotonicMs())),
        done: id => {
          this.#known(this.#scheduler.done(spider, id, clock.monotonicMs()));
          this.#stir();
        },
        remark: text => this.#parts.log.debug('spider remarks', { peer: connection.peer, text }),
        bad: () => void this.#counts.bad_lines++,
        heard: () => void (this.#scheduler.heard(spider) && this.#stir()),
        drained: () => {
          this.#scheduler.drained(spider);
          this.#stir();
        },
      },
      options.session,
      clock,
      this.#share,
    );
    const spider = this.#scheduler.join(session);
    this.#parts.log.info('spider connected', { peer: connection.peer });
    const served = this.#serve(session, spider);
    this.#sessions.set(session, served);
    served.catch(this.#parts.fail);
  }

  /** robots.txt of a host is known. */
  robotsHeard(hostName: string): void {
    this.#scheduler.robotsHeard(hostName, this.#parts.clock.monotonicMs());
    this.#stir();
  }

  status(): Omit<UrldStatus, 'listens'> {
    const scheduler = this.#scheduler;
    return {
      idle: this.#heldUrls === 0,
      spiders: scheduler.spiders,
      waiting: scheduler.waiting,
      fetching: scheduler.out,
      credit: scheduler.credit,
      hosts: scheduler.hosts,
      sent: scheduler.sent,
      ...this.#counts,
    };
  }

  /** Sends nothing more, and waits for what is under way as long as the grace lasts. */
  async stop(): Promise<void> {
    const { clock, options, list } = this.#parts;
    if (this.#state !== 'over') {
      this.#state = serverBecomes(this.#state, 'stopping');
      this.#room?.();
      const cancel = clock.after(options.graceMs, () => this.#end());
      this.#settle();
      await this.over;
      cancel();
    }
    await Promise.allSettled(this.#sessions.values());
    await list.close();
  }

  async #pump(): Promise<void> {
    const { list, clock, options } = this.#parts;
    for await (const batch of list.batches()) {
      if (this.#state !== 'reading') return;
      for (const terms of batch) {
        const url = new SpiderUrl(terms);
        this.#heldUrls++;
        this.#heldBytes += url.url.length;
        this.#scheduler.add(url, clock.monotonicMs());
      }
      if (batch.length > 0) this.#stir();
      while (this.#heldUrls >= options.windowUrls || this.#heldBytes >= options.windowBytes) {
        await new Promise<void>(resolve => (this.#room = resolve));
        if (this.#state !== 'reading') return;
      }
    }
    if (this.#state !== 'reading') return;
    this.#state = serverBecomes(this.#state, 'ending');
    this.#settle();
  }

  async #serve(session: SpiderSession, spider: ConnectedSpider): Promise<void> {
    const { clock, log } = this.#parts;
    const why = await session.run();
    const fetching = this.#scheduler.outOf(spider);
    this.#scheduler.leave(spider, clock.monotonicMs());
    const reason = why?.message;
    log[why === undefined ? 'info' : 'warn']('spider gone', { peer: session.peer, fetching, reason });
    this.#stir();
    await session.part(why);
    this.#sessions.delete(session);
  }

  #ended(url: SpiderUrl, failure: UrlFailure | undefined): void {
    const { list, log, options } = this.#parts;
    this.#heldUrls--;
    this.#heldBytes -= url.url.length;
    if (failure === undefined) this.#counts.done++;
    else {
      this.#counts.failed++;
      log.debug('url failed', { url: url.url, reason: failure });
    }
    list.ended(url, failure);
    // A quarter of the window at a time, so that it is not read a line at a time.
    if (this.#heldUrls <= options.windowUrls * 0.75 && this.#heldBytes <= options.windowBytes * 0.75) {
      this.#room?.();
      this.#room = undefined;
    }
  }

  #known(isKnown: boolean): void {
    if (!isKnown) this.#counts.unknown_transactions++;
  }

  /** Has the scheduler look at what may go, once all that came in this turn has been met. */
  #stir(): void {
    if (this.#hasStirred) return;
    this.#hasStirred = true;
    setImmediate(() => {
      this.#hasStirred = false;
      this.#pass();
    });
  }

  #pass(): void {
    if (this.#state === 'over') return;
    const nowMs = this.#parts.clock.monotonicMs();
    if (this.#state === 'stopping') return this.#settle();
    this.#scheduler.pass(nowMs);
    this.#settle();
    this.#wake(this.#scheduler.nextMs, nowMs);
  }

  #wake(atMs: number | undefined, nowMs: number): void {
    if (atMs === undefined || (this.#cancelWake !== undefined && this.#wakeMs <= atMs)) return;
    this.#cancelWake?.();
    this.#wakeMs = atMs;
    // Timers may be early by a fraction.
    this.#cancelWake = this.#parts.clock.after(Math.max(1, Math.ceil(atMs - nowMs)), () => {
      this.#cancelWake = undefined;
      this.#pass();
    });
  }

  #settle(): void {
    const isDone =
      (this.#state === 'ending' && this.#heldUrls === 0) ||
      (this.#state === 'stopping' && this.#scheduler.out === 0);
    if (isDone) this.#end();
  }

  #end(): void {
    if (this.#state === 'over') return;
    this.#state = serverBecomes(this.#state, 'over');
    this.#cancelWake?.();
    for (const session of this.#sessions.keys()) session.dismiss();
    this.#over();
  }
}
