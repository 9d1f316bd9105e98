/**
 * One fetch: redirects, conditions, checks, one deadline over everything, exactly one result.
 *
 *     place ──▶ connect ──▶ headers ──▶ body ──▶ decode ──▶ save ──▶ over
 *       ▲                      │  └──────▶ drain ──┬──────────────────▲
 *       └──────────────────────┴──── redirect ◀────┘                  │
 *     any of them but save: failure, deadline, cancel ──────╯
 *
 * `place`: its host has as many fetches as it may have. `drain`: the outcome is known (an error status, a redirect) and a
 * short rest of the answer is read only to keep the connection. A cut or a deadline there changes nothing about the outcome.
 */
import { Body } from './body.js';
import { contentOf, placeOf, type Content } from './sink.js';
import { codingOf } from './decode.js';
import { Exchange } from './exchange.js';
import { failure, statusFailure, storeFailure, type Failure } from './failure.js';
import { Http2Exchange } from './http2-exchange.js';
import { essenceOf, isBodiless, retryAfterMs, type ResponseHead } from './head.js';
import type { Place } from './host-places.js';
import type { FetchAhead, FetchContext, FetchJob, FetchOutcome } from './job.js';
import type { Link } from './links.js';
import { contradicts } from './mimetype.js';
import { okOutcome, unchangedOutcome, type Cost } from './outcome.js';
import { Pace, type PaceState } from './pace.js';
import { Redirects } from './redirects.js';
import { requestHeaders } from './request-headers.js';
import { targetOf, targetOfUrl, type Target } from './target.js';

/** What may come beside twice the content: headers, redirects, codings that make small things larger. */
const OVERHEAD_BYTES = 64 * 1024;
/** Rest of an answer that is read to keep its connection. */
const DRAINED_BYTES = 64 * 1024;

type Phase = 'place' | 'connect' | 'headers' | 'body' | 'drain' | 'decode' | 'save' | 'over';

export class Fetch {
  readonly #context: FetchContext;
  readonly #job: FetchJob;
  readonly #done: (outcome: FetchOutcome) => void;
  readonly #ahead: FetchAhead | undefined;
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
  #exchange: Exchange | Http2Exchange | undefined;
  #place: Place | undefined;
  #wireBytesBefore = 0;
  #head: ResponseHead | undefined;
  #content: Content | undefined;
  #body: Body | undefined;
  /** What happens once the answer is drained. */
  #next: (() => void) | undefined;
  #drained = 0;
  readonly #pace: Pace;
  #isSlow = false;

  constructor(
    context: FetchContext,
    job: FetchJob,
    nowMs: number,
    done: (outcome: FetchOutcome) => void,
    ahead: FetchAhead | undefined,
  ) {
    const { limits } = context;
    this.#context = context;
    this.#job = job;
    this.#done = done;
    this.#ahead = ahead;
    this.#startMs = nowMs;
    this.#sinceMs = nowMs;
    this.#pace = new Pace(limits, nowMs, 0);
    this.#deadlineMs = nowMs + Math.min(limits.totalTimeoutMs, job.timeoutMs ?? Infinity);
    this.#maxBytes = Math.min(limits.maxContentBytes, job.maxBytes ?? Infinity);
  }

  start(): void {
    const url = targetOf(this.#job.url);
    if (url === undefined) this.#fail(failure(611, `${this.#job.url} is not an http or https url`, 'real'));
    else {
      this.#origin = url.origin;
      this.#request(url, false);
    }
  }

  /** Gives up; the result is an error of the url. */
  cancel(): void {
    if (this.#phase !== 'save') this.#fail(failure(605, 'cancelled'));
  }

  /** Ends what has taken too long. */
  checkDeadlines(nowMs: number): void {
    const { limits } = this.#context;
    const waitedMs = nowMs - this.#sinceMs;
    const late = nowMs >= this.#deadlineMs;
    switch (this.#phase) {
      case 'place':
        if (late) this.#fail(failure(603, 'waiting for others at its host'));
        break;
      case 'connect':
        if (late || waitedMs >= limits.connectTimeoutMs) this.#fail(failure(603, 'connecting', 'provider'));
        break;
      case 'headers':
        if (late || waitedMs >= limits.headersTimeoutMs) this.#fail(failure(603, 'waiting for the answer'));
        else this.#lookAtPace(nowMs);
        break;
      case 'body':
        if (late || waitedMs >= limits.idleTimeoutMs) this.#fail(failure(603, 'receiving the content'));
        else if (this.#lookAtPace(nowMs) === 'too-slow')
          this.#fail(failure(603, `receiving the content: slower than ${limits.minRateText}`));
        break;
      case 'drain':
        if (late || waitedMs >= limits.drainTimeoutMs) this.#endDraining();
        break;
      case 'decode':
        if (late) this.#fail(failure(603, 'decoding the content'));
        break;
      case 'save':
      case 'over':
    }
  }

  #lookAtPace(nowMs: number): PaceState {
    const state = this.#pace.look(nowMs, this);
    if (state !== 'fine' && !this.#isSlow) {
      this.#isSlow = true;
      this.#ahead?.slow();
    }
    return state;
  }

  #request(url: Target, fresh: boolean): void {
    this.#url = url;
    this.#phase = 'place';
    this.#head = undefined;
    this.#place = this.#context.places.enter(url.origin, () => this.#connect(url, fresh));
    if (this.#place.isFree) this.#connect(url, fresh);
  }

  #connect(url: Target, fresh: boolean): void {
    const { links, limits, clock } = this.#context;
    this.#phase = 'connect';
    this.#sinceMs = clock.monotonicMs();
    this.#pace.restart(this.#sinceMs, this.wireBytes);
    // A process that was stopped meanwhile must not ask once more: its time, and its work, is another's.
    if (this.#sinceMs >= this.#deadlineMs) return this.#fail(failure(603, 'before it was asked'));
    const link = links.take(url.origin, fresh);
    this.#ask(url, link.session === undefined ? new Exchange(links, link, this, limits) : this.#http2(link));
  }

  #ask(url: Target, exchange: Exchange | Http2Exchange): void {
    this.#exchange = exchange;
    exchange.start(url.path, requestHeaders(this.#job, url.origin, this.#origin, this.#context.userAgent));
  }

  #http2(link: Link): Http2Exchange {
    return new Http2Exchange(this.#context.links, link, this, this.#context.limits);
  }

  // What the exchange asks and reports.

  get allowance(): number {
    return 2 * this.#maxBytes + OVERHEAD_BYTES - this.#wireBytesBefore;
  }

  tooMuch(): Failure {
    return failure(606, `twice ${this.#limitText} and 64 KB have come, and there is no end`);
  }

  onHttp2(link: Link): void {
    if (this.#url !== undefined) this.#ask(this.#url, this.#http2(link));
  }

  onSent(): void {
    this.#phase = 'headers';
    this.#sinceMs = this.#context.clock.monotonicMs();
  }

  onHead(head: ResponseHead): void {
    this.#head = head;
    const { status } = head;
    if (status === 200 || status === 203 || status === 204 || status === 205) this.#receive(head);
    else if (status === 304 && (this.#job.lastModified ?? this.#job.etag) !== undefined)
      this.#drain(head, () => this.#settle(unchangedOutcome(head, this.#cost())));
    else if (status >= 301 && status <= 308 && status !== 304 && status !== 305 && status !== 306)
      this.#drain(head, () => this.#redirect(head));
    else if (status >= 400 && status <= 599) {
      const waitMs = retryAfterMs(head.retryAfter, this.#context.clock.nowMs());
      this.#drain(head, () => this.#fail(statusFailure(status, waitMs)));
    } else this.#drain(head, () => this.#fail(failure(611, `unexpected status ${status}`)));
  }

  onBody(chunk: Buffer): void {
    if (this.#phase === 'body') {
      this.#sinceMs = this.#context.clock.monotonicMs();
      this.#body?.write(chunk);
    } else if (this.#phase === 'drain') {
      this.#drained += chunk.length;
      if (this.#drained > DRAINED_BYTES) this.#endDraining();
    }
  }

  onEnd(): void {
    if (this.#phase === 'drain') this.#endDraining();
    else if (this.#phase === 'body') {
      this.#phase = 'decode';
      this.#place?.leave();
      this.#body?.end();
    }
  }

  onFailure(reason: Failure, stale = false): void {
    if (this.#phase === 'drain') this.#endDraining();
    else if (stale && this.#url !== undefined) {
      this.#leaveExchange();
      this.#request(this.#url, true);
    } else this.#fail(reason);
  }

  // What the body reports; its failures come to onFailure too.

  onFull(): void {
    this.#exchange?.hold();
  }

  onReady(): void {
    this.#sinceMs = this.#context.clock.monotonicMs();
    this.#pace.restart(this.#sinceMs, this.wireBytes);
    this.#exchange?.release();
  }

  onWhole(): void {
    const { enforce, md5, len } = this.#job;
    const { writer, syncContent } = this.#context;
    const content = this.#content;
    const head = this.#head;
    if (content === undefined || head === undefined) return;
    if (enforce === true && len !== undefined && len !== content.length) {
      this.#fail(failure(612, `${len} bytes were announced, ${content.length} came`));
      return;
    }
    // A thread is worth its two messages only when there is other work meanwhile.
    const isBusy = this.#context.isBusy() || this.#ahead?.busy() === true;
    const isAside = !syncContent && isBusy && this.#ahead?.isAwaited() !== true && writer.isReady;
    const whole = isAside ? content.takeWhole() : undefined;
    const expected = enforce === true ? md5?.toLowerCase() : undefined;
    if (whole !== undefined) {
      this.#phase = 'save';
      writer.write(whole, expected, (error, found) => this.#saved(content, head, found, error));
      // What waits for the disk is bounded by those who wait with it.
      if (!writer.crowded) this.#ahead?.received();
      return;
    }
    const found = content.md5();
    if (expected !== undefined && expected !== found) this.#saved(content, head, found, undefined);
    else this.#save(content, head, found);
  }

  #receive(head: ResponseHead): void {
    const coding = codingOf(head.contentCoding);
    const essence = essenceOf(head.contentType);
    const announced = essenceOf(this.#job.mimetype);
    if (head.transferCoding !== undefined && head.transferCoding !== 'chunked')
      this.#fail(failure(611, `transfer coding ${head.transferCoding} was not asked for`));
    else if (coding === undefined)
      this.#fail(failure(611, `content coding ${head.contentCoding} was not asked for`));
    else if (announced !== undefined && essence !== undefined && contradicts(announced, essence))
      this.#fail(failure(607, `${announced} was announced, ${essence} is served`));
    else if (coding === 'identity' && (head.contentLength ?? 0) > this.#maxBytes && !isBodiless(head))
      this.#fail(failure(606, `${head.contentLength} bytes, more than ${this.#limitText}`));
    else {
      const content = contentOf(this.#job, this.#context.nextAttempt());
      this.#content = content;
      if (isBodiless(head)) this.#drain(head, () => this.onWhole());
      else {
        this.#phase = 'body';
        this.#pace.restart(this.#context.clock.monotonicMs(), this.wireBytes);
        this.#body = new Body(
          {
            coding,
            content,
            place: placeOf(this.#job),
            maxBytes: this.#maxBytes,
            limitText: this.#limitText,
          },
          this,
        );
      }
    }
  }

  #drain(head: ResponseHead, next: () => void): void {
    this.#phase = 'drain';
    this.#sinceMs = this.#context.clock.monotonicMs();
    this.#next = next;
    this.#drained = 0;
    const bodiless = head.status === 204 || head.status === 304;
    if (!bodiless && (head.endsByClose || (head.contentLength ?? 0) > DRAINED_BYTES)) this.#endDraining();
  }

  #endDraining(): void {
    const next = this.#next;
    this.#next = undefined;
    this.#leaveExchange();
    next?.();
  }

  #redirect(head: ResponseHead): void {
    const from = this.#url;
    if (from === undefined) return;
    this.#redirects ??= new Redirects(from, this.#job.roots, this.#context.limits.maxRedirects);
    const to = this.#redirects.next(head, from);
    if (to instanceof URL) this.#request(targetOfUrl(to), false);
    else this.#fail(to);
  }

  #save(content: Content, head: ResponseHead, md5: string): void {
    this.#phase = 'save';
    if (this.#context.syncContent) {
      content.commitDurably(error => this.#saved(content, head, md5, error ?? undefined));
      return;
    }
    let problem: unknown;
    try {
      content.commit();
    } catch (error) {
      problem = error;
    }
    this.#saved(content, head, md5, problem);
  }

  /** The content is in its place, or never will be. */
  #saved(content: Content, head: ResponseHead, found: string, error: unknown): void {
    const { enforce, md5, len } = this.#job;
    const md5Equal = md5 !== undefined && md5.toLowerCase() === found;
    if (error !== undefined) this.#fail(storeFailure(error, placeOf(this.#job)));
    else if (enforce === true && md5 !== undefined && !md5Equal)
      this.#fail(failure(612, `md5 ${md5} was announced, ${found} came`));
    else {
      const framed = !head.endsByClose || isBodiless(head);
      this.#ok(content, head, found, framed || md5Equal || len === content.length);
    }
  }

  #ok(content: Content, head: ResponseHead, md5: string, verified: boolean): void {
    const outcome = okOutcome(head, { md5, len: content.length, verified, ...this.#cost() });
    if (this.#redirects !== undefined && this.#url !== undefined) outcome.finalUrl = this.#url.href;
    this.#settle(outcome);
  }

  #fail(reason: Failure): void {
    if (this.#phase === 'over') return;
    this.#leaveExchange();
    this.#body?.destroy();
    try {
      this.#content?.discard();
    } catch {
      // The failure that led here is the one to report.
    }
    this.#settle({ status: 'error', ...reason, ...this.#cost() });
  }

  #settle(outcome: FetchOutcome): void {
    if (this.#phase === 'over') return;
    this.#phase = 'over';
    this.#place?.leave();
    this.#context.ended(this);
    this.#done(outcome);
  }

  get #limitText(): string {
    const { maxContentBytes, contentLimitText } = this.#context.limits;
    return this.#maxBytes < maxContentBytes ? `${this.#maxBytes} bytes` : contentLimitText;
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
