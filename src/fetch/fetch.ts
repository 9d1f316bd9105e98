/**
 * One fetch: redirects, conditions, checks, one deadline over everything, exactly one result.
 *
 *     place ──▶ connect ──▶ headers ──▶ body ──▶ decode ──▶ save ──▶ over
 *       ▲                      │  └──────▶ drain ──┬──────────────────▲
 *       └──────────────────────┴──── redirect ◀────┘                  │
 *     any of them but save: failure, deadline, cancel ──────╯
 *
 * `place`: its host has as many fetches as it may have. `drain`: the outcome is known; see drain.ts.
 * An answer that is no HTTP/1.1 leads from `headers` or `body` back to `place`, once for each url.
 */
import { allowanceBytes, flood } from './allowance.js';
import { type EndedContent, completenessOf, contradiction, demandedMd5, enforced } from './announced.js';
import { Body } from './body.js';
import { Drain, isWorthReading } from './drain.js';
import { Exchange } from './exchange.js';
import { fail, failedStatus, type FetchFailure } from './failure.js';
import { isBodiless, isContent, isRedirect, retryAfterMs, type ResponseHead } from './head.js';
import type { HostPlace } from './host-places.js';
import { isRead, type FetchContext, type FetchEvents, type FetchJob, type Method } from './job.js';
import { LenientExchange } from './lenient-exchange.js';
import type { Completeness } from '../wire/fetch.js';
import { asksForPatience } from '../wire/left-alone.js';
import { failedOf, fetchedOf, unchangedOf, type Cost, type FetchOutcome } from './outcome.js';
import { Speed, type SpeedState } from './speed.js';
import { Redirects } from './redirects.js';
import { requestHeaders } from './request-headers.js';
import type { Sink } from './sink.js';
import { takenAs } from './taking.js';
import { timedOut, type Phase } from './timeouts.js';
import { parseUrl, targetOf, targetOfUrl, type Target } from './target.js';

type AnyExchange = Exchange | LenientExchange;

/** A server that is being restarted may close a connection or two that it has just taken. */
const MOST_STALE = 2;

export class Fetch {
  readonly #context: FetchContext;
  readonly #job: FetchJob;
  readonly #sink: Sink;
  readonly #events: FetchEvents;
  readonly #method: Method;
  readonly #startMs: number;
  readonly #deadlineMs: number;
  readonly #maxBytes: number;
  #phase: Phase = 'connect';
  /** When the phase began, or the last byte of the body came. */
  #sinceMs: number;
  #url: Target | undefined;
  /** Where the login is for. */
  #origin = '';
  #redirects: Redirects | undefined;
  #exchange: AnyExchange | undefined;
  #place: HostPlace | undefined;
  #wireBytesBefore = 0;
  /** Connections in a row on which this url was not answered. */
  #stale = 0;
  #head: ResponseHead | undefined;
  /** The last that came, of any answer; 0: none did. */
  #status = 0;
  /** Why the answer of this url is no HTTP/1.1: it is asked for once more, in a lenient way. */
  #malformed: FetchFailure | undefined;
  #body: Body | undefined;
  #drain: Drain | undefined;
  readonly #speed: Speed;
  #isSlow = false;
  #isCut = false;

  constructor(context: FetchContext, job: FetchJob, sink: Sink, nowMs: number, events: FetchEvents) {
    const { limits } = context;
    this.#context = context;
    this.#job = job;
    this.#sink = sink;
    this.#events = events;
    this.#method = job.method ?? 'GET';
    this.#startMs = nowMs;
    this.#sinceMs = nowMs;
    this.#speed = new Speed(limits, nowMs, 0);
    this.#deadlineMs = nowMs + Math.min(limits.totalTimeoutMs, job.timeoutMs ?? Infinity);
    this.#maxBytes = Math.min(limits.maxContentBytes, job.maxBytes ?? Infinity, job.inline ?? Infinity);
  }

  start(): void {
    const url = targetOf(this.#job.url);
    if (url === undefined) this.#fail(fail('bad-url', `${this.#job.url} is not an http or https url`));
    else {
      this.#origin = url.origin;
      this.#request(url, false);
    }
  }

  /** Gives up; the result is an error of the url. */
  cancel(): void {
    if (this.#phase !== 'save') this.#fail(fail('cancelled', 'cancelled'));
  }

  /** Ends what has taken too long. */
  checkDeadlines(nowMs: number): void {
    const { limits } = this.#context;
    const waitedMs = nowMs - this.#sinceMs;
    const found = timedOut(this.#phase, waitedMs, nowMs >= this.#deadlineMs, limits);
    if (found === 'drained') this.#endDraining();
    else if (found !== undefined) this.#fail(found);
    else if (this.#phase === 'headers') this.#lookAtSpeed(nowMs);
    else if (this.#phase === 'body' && this.#lookAtSpeed(nowMs) === 'too-slow')
      this.#fail(fail('too-slow', `receiving the content: slower than ${limits.minRateText}`));
  }

  #lookAtSpeed(nowMs: number): SpeedState {
    const state = this.#speed.look(nowMs, this);
    if (state !== 'fine' && !this.#isSlow) {
      this.#isSlow = true;
      this.#events.slow?.();
    }
    return state;
  }

  #request(url: Target, fresh: boolean): void {
    if (!fresh) this.#stale = 0;
    this.#url = url;
    this.#phase = 'place';
    this.#head = undefined;
    this.#place = this.#context.places.enter(url.origin, () => this.#connect(url, fresh));
    if (this.#place.isFree) this.#connect(url, fresh);
  }

  #connect(url: Target, fresh: boolean): void {
    const { links, limits, manners, clock } = this.#context;
    this.#phase = 'connect';
    this.#sinceMs = clock.monotonicMs();
    this.#speed.restart(this.#sinceMs, this.wireBytes);
    // A process that was stopped meanwhile must not ask once more: its time, and its work, is another's.
    if (this.#sinceMs >= this.#deadlineMs) return this.#fail(fail('total-timeout', 'before it was asked'));
    const address = this.#redirects === undefined ? this.#job.address : undefined;
    if (this.#malformed !== undefined)
      return this.#ask(
        url,
        new LenientExchange(links.connect, url.origin, address, this, { ...limits, ...manners }),
      );
    const link = links.take(url.origin, fresh, address);
    this.#ask(url, new Exchange(links, link, this, limits));
  }

  #ask(url: Target, exchange: AnyExchange): void {
    this.#exchange = exchange;
    const headers = requestHeaders(
      this.#job,
      url.origin,
      this.#origin,
      this.#context.wording,
      this.#redirects?.cookieFor(url.origin),
    );
    exchange.start({ method: this.#method, path: url.path, headers, body: this.#job.body });
  }

  // Questions and reports of the exchange.

  get allowance(): number {
    return allowanceBytes(this.#maxBytes) - this.#wireBytesBefore;
  }

  tooMuch(): FetchFailure {
    return flood(this.#limitText, this.#head !== undefined);
  }

  onSent(): void {
    this.#phase = 'headers';
    this.#sinceMs = this.#context.clock.monotonicMs();
  }

  onProgress(): void {
    if (this.#phase === 'headers') this.#sinceMs = this.#context.clock.monotonicMs();
  }

  onInterim(status: number): void {
    this.#status = status;
  }

  onHead(head: ResponseHead): void {
    this.#head = head;
    const { status } = head;
    this.#status = status;
    const isEmptyTaken = this.#job.inline !== undefined || this.#job.isRaw === true;
    const isTaken = this.#isRead
      ? isContent(status) || (isBodiless(head) && isEmptyTaken)
      : status >= 200 && status <= 299;
    if (isTaken) this.#receive(head);
    else if (status === 304 && this.#isConditional())
      this.#afterDraining(head, () => this.#settle(unchangedOf(head, this.#cost())));
    else if (this.#isRead && isRedirect(status)) this.#afterDraining(head, () => this.#redirect(head));
    else if ((status >= 400 && status <= 599) || (status >= 300 && !this.#isRead)) {
      const waitMs = asksForPatience(status)
        ? retryAfterMs(head.retryAfter, this.#context.clock.nowMs())
        : undefined;
      const to = isRedirect(status) && head.location ? parseUrl(head.location, this.#url?.href) : undefined;
      this.#afterDraining(head, () => this.#fail(failedStatus(status, waitMs, to?.href)));
    } else
      this.#afterDraining(head, () => this.#fail(fail('unexpected-status', `unexpected status ${status}`)));
  }

  onBody(chunk: Buffer): void {
    if (this.#phase === 'body') {
      this.#sinceMs = this.#context.clock.monotonicMs();
      this.#body?.write(chunk);
    } else if (this.#phase === 'drain') {
      if (this.#drain?.isTooMuch(chunk.length) === true) this.#endDraining();
    }
  }

  onEnd(): void {
    if (this.#phase === 'drain') this.#endDraining();
    else if (this.#phase === 'body') {
      if (this.#isTorn) return this.#fail(fail('cut', 'the connection was reset'));
      this.#phase = 'decode';
      this.#place?.leave();
      this.#body?.end();
    }
  }

  onFailure(reason: FetchFailure, stale = false): void {
    if (this.#phase === 'drain') this.#endDraining();
    else if (stale && this.#url !== undefined && this.#stale < MOST_STALE) {
      this.#stale++;
      this.#leaveExchange();
      this.#request(this.#url, true);
    } else if (this.#url !== undefined && this.#isAskedLeniently(reason)) {
      this.#leaveExchange();
      this.#body?.destroy();
      this.#malformed = reason;
      this.#request(this.#url, true);
    } else this.#fail(this.#malformed !== undefined && reason.kind === 'reset' ? this.#malformed : reason);
  }

  /** A request that was misunderstood may have been carried out: the caller would repeat it, as all that
   * fail. */
  #isAskedLeniently({ kind }: FetchFailure): boolean {
    return kind === 'malformed' && this.#malformed === undefined && this.#sink.restart();
  }

  // Reports of the body; its failures come to onFailure too.

  onFull(): void {
    this.#exchange?.hold();
  }

  onReady(): void {
    this.#sinceMs = this.#context.clock.monotonicMs();
    this.#speed.restart(this.#sinceMs, this.wireBytes);
    this.#exchange?.release();
  }

  onCut(): void {
    this.#isCut = true;
    this.#leaveExchange();
    this.onWhole();
  }

  onWhole(): void {
    const head = this.#head;
    if (head === undefined) return;
    if (this.#method === 'HEAD') {
      this.#fetched(head, '', 'whole');
      return;
    }
    const arrived = this.#arrived(head);
    const other = contradiction(this.#job, arrived) ?? enforced(this.#job, arrived);
    if (other !== undefined) return this.#fail(other);
    this.#phase = 'save';
    this.#sink.finish(demandedMd5(this.#job, arrived), (error, found) => this.#saved(head, found, error));
  }

  #receive(head: ResponseHead): void {
    const coding = takenAs(head, this.#job, this.#context.manners);
    const isCut = this.#context.manners.cutsContent || this.#job.inline !== undefined;
    const isBodiless = this.#isBodiless(head);
    if (typeof coding !== 'string') this.#fail(coding);
    else if (isBodiless) this.#afterDraining(head, () => this.onWhole());
    else if (coding === 'identity' && (head.contentLength ?? 0) > this.#maxBytes && !isCut)
      this.#fail(fail('too-large', `${head.contentLength} bytes, more than ${this.#limitText}`));
    else {
      this.#phase = 'body';
      this.#speed.restart(this.#context.clock.monotonicMs(), this.wireBytes);
      const bounds = { maxBytes: this.#maxBytes, limitText: this.#limitText, isCut };
      this.#body = new Body({ coding, sink: this.#sink, endsByClose: head.endsByClose, ...bounds }, this);
    }
  }

  /** Goes on when the rest of the answer is read, or is not worth reading. */
  #afterDraining(head: ResponseHead, next: () => void): void {
    this.#phase = 'drain';
    this.#sinceMs = this.#context.clock.monotonicMs();
    this.#drain = new Drain(next);
    const isKept = this.#context.links.areKept && isWorthReading(head, this.#method);
    if (!isKept) this.#endDraining();
  }

  #endDraining(): void {
    const drain = this.#drain;
    this.#drain = undefined;
    this.#leaveExchange();
    drain?.next();
  }

  #redirect(head: ResponseHead): void {
    const from = this.#url;
    if (from === undefined) return;
    const { limits, manners } = this.#context;
    this.#redirects ??= new Redirects(from, this.#job, limits, manners);
    this.#malformed = undefined;
    const to = this.#redirects.next(head, from);
    if (to instanceof URL) this.#request(targetOfUrl(to), false);
    else this.#fail(to);
  }

  /** The content is in its place, or never will be. */
  #saved(head: ResponseHead, found: string, error: unknown): void {
    const arrived = { ...this.#arrived(head), md5: found };
    const other = contradiction(this.#job, arrived) ?? enforced(this.#job, arrived);
    if (error !== undefined) this.#fail({ kind: 'sink', error });
    else if (other !== undefined) this.#fail(other);
    else this.#fetched(head, found, completenessOf(this.#job, arrived));
  }

  #arrived(head: ResponseHead): EndedContent {
    return { length: this.#sink.length, isOpen: head.endsByClose && !this.#isBodiless(head) };
  }

  #fetched(head: ResponseHead, md5: string, completeness: Completeness): void {
    const outcome = fetchedOf(head, { md5, len: this.#sink.length, completeness, ...this.#cost() });
    const url = this.#url?.href;
    if (this.#redirects !== undefined && url !== undefined && url !== this.#job.url) outcome.finalUrl = url;
    if (this.#redirects?.moved !== undefined) outcome.movedTo = this.#redirects.moved;
    if (this.#isCut) outcome.isCut = true;
    if (this.#method === 'HEAD' && head.contentLength !== undefined)
      outcome.contentLength = head.contentLength;
    this.#settle(outcome);
  }

  #fail(reason: FetchFailure): void {
    if (this.#phase === 'over') return;
    this.#leaveExchange();
    this.#body?.destroy();
    try {
      this.#sink.discard();
    } catch {
      // The failure that led here is the one to report.
    }
    this.#settle(failedOf(reason, this.#cost(), this.#status, this.#redirects));
  }

  #settle(outcome: FetchOutcome): void {
    if (this.#phase === 'over') return;
    this.#phase = 'over';
    this.#place?.leave();
    this.#context.ended(this);
    this.#events.done(outcome);
  }

  get #limitText(): string {
    const { maxContentBytes, contentLimitText } = this.#context.limits;
    return this.#maxBytes < maxContentBytes ? `${this.#maxBytes} bytes` : contentLimitText;
  }

  /** The body ended with its connection, and that broke. */
  get #isTorn(): boolean {
    return this.#head?.endsByClose === true && this.#exchange?.wasReset === true;
  }

  #isBodiless(head: ResponseHead): boolean {
    return isBodiless(head) || this.#method === 'HEAD';
  }

  get #isRead(): boolean {
    return isRead(this.#method);
  }

  #isConditional(): boolean {
    return this.#isRead && (this.#job.lastModified !== undefined || this.#job.etag !== undefined);
  }

  /** Counts what the exchange received and is done with it. */
  #leaveExchange(): void {
    this.#exchange?.cancel();
    this.#wireBytesBefore = this.wireBytes;
    this.#exchange = undefined;
    this.#place?.leave();
  }

  /** Bytes received so far. */
  get wireBytes(): number {
    return this.#wireBytesBefore + (this.#exchange?.wireBytes ?? 0);
  }

  #cost(): Cost {
    const elapsedMs = Math.round(this.#context.clock.monotonicMs() - this.#startMs);
    return { wireBytes: this.wireBytes, elapsedMs };
  }
}
