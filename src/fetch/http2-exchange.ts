/**
 * One request and its answer on a link that speaks HTTP/2: the same promises as `Exchange`. Node's own HTTP/2 under it,
 * not undici's, which takes a stream that was reset or lost for one that came to its end (docs/design/fetching.md).
 */
import { constants, type ClientHttp2Stream, type IncomingHttpHeaders } from 'node:http2';
import { messageOf } from '../lib/errors.js';
import {
  checkInterim,
  endWith,
  guarded,
  watchIntake,
  type ExchangeLimits,
  type ExchangeOwner,
} from './exchange-owner.js';
import { fail, http2Failure, type FetchFailure } from './failure.js';
import { readHead } from './head.js';
import { isRead, type BodyToSend } from './job.js';
import { readable, type Question } from './question.js';
import type { Link, Links } from './kept-connections.js';

export class Http2Exchange {
  readonly #links: Links;
  readonly #link: Link;
  readonly #owner: ExchangeOwner;
  readonly #limits: ExchangeLimits;
  readonly #bytesBefore: number;
  #stream: ClientHttp2Stream | undefined;
  #interim = 0;
  #answered = false;
  /** The peer said that this was all. */
  #isWhole = false;
  #over = false;
  #hasHead = false;
  #early: Buffer[] = [];
  #isRead = false;
  #reason: Error | undefined;
  #received = 0;

  constructor(links: Links, link: Link, owner: ExchangeOwner, limits: ExchangeLimits) {
    this.#links = links;
    this.#link = link;
    this.#owner = owner;
    this.#limits = limits;
    this.#bytesBefore = link.intake?.bytes ?? 0;
  }

  start({ method, path, headers, body }: Question): void {
    const { session, origin } = this.#link;
    this.#isRead = isRead(method);
    const { protocol, host } = new URL(origin);
    const all: Record<string, string> = {
      ':method': method,
      ':scheme': protocol.slice(0, -1),
      ':authority': host,
      ':path': path,
    };
    for (let i = 0; i + 1 < headers.length; i += 2) {
      const name = headers[i] ?? '';
      all[name === 'host' ? ':authority' : name] = headers[i + 1] ?? '';
    }
    let stream: ClientHttp2Stream;
    try {
      if (session === undefined) throw new Error('there is no session');
      stream = session.request(all, { endStream: body === undefined });
    } catch (error) {
      // The session has been told, or has decided, to take no more requests.
      this.#fail(fail('reset', messageOf(error)));
      return;
    }
    this.#stream = stream;
    watchIntake(this.#link.intake, this, this.#owner);
    this.#watchEnd(stream);
    stream
      .on('headers', (fields: IncomingHttpHeaders) => this.#onInterim(Number(fields[':status'])))
      .on('response', (fields: IncomingHttpHeaders, _flags: number, raw?: string[]) =>
        this.#onResponse(Number(fields[':status']), raw ?? []),
      )
      // From the beginning: what is not read is not told from what was cut off, once the connection closes.
      .on('data', (chunk: Buffer) => this.#onData(chunk))
      .on('end', () => this.#onEnd())
      // The listener stays for good: an error event nobody listens to ends the process.
      .on('error', error => this.#failSoon(error))
      .on('close', () => this.#failSoon());
    session.on('error', this.#onSessionError).ref();
    this.#owner.onSent();
    if (body !== undefined) this.#send(stream, body);
  }

  #send(stream: ClientHttp2Stream, body: BodyToSend): void {
    const source = readable(body, error => {
      endWith(this, this.#owner, { kind: 'source', error });
    });
    if (source instanceof Uint8Array) stream.end(source);
    else {
      source.on('data', () => {
        if (!this.#over) this.#owner.onProgress();
      });
      source.pipe(stream).on('close', () => void source.destroy());
    }
  }

  get wireBytes(): number {
    return this.#over ? this.#received : this.#count();
  }

  /** A stream has an end of its own. */
  get wasReset(): boolean {
    return false;
  }

  cancel(): void {
    if (this.#over) return;
    this.#finish();
    this.#links.discard(this.#link);
  }

  hold(): void {
    this.#stream?.pause();
  }

  release(): void {
    if (!this.#over) this.#stream?.resume();
  }

  /**
   * `end` is emitted too when a stream is reset or its connection lost; which it was shows only in whether the stream is
   * closed already at the moment when the end of its content is put into its buffer.
   */
  #watchEnd(stream: ClientHttp2Stream): void {
    const push = stream.push.bind(stream);
    let ended = false;
    stream.push = (chunk: unknown, encoding?: BufferEncoding) => {
      if (chunk === null && !ended) {
        ended = true;
        this.#isWhole = !stream.closed;
        if (!this.#isWhole) this.#failSoon();
      }
      return push(chunk, encoding);
    };
  }

  readonly #onSessionError = (error: Error): void => this.#failSoon(error);

  /** The same end shows in several events, in any order; not all of them know the reason. */
  #failSoon(reason?: Error): void {
    this.#reason ??= reason;
    setImmediate(() => this.#fail(http2Failure(this.#stream?.rstCode, this.#hasHead, this.#reason)));
  }

  #onInterim(status: number): void {
    this.#answered = true;
    if (!this.#over) checkInterim(this, this.#owner, ++this.#interim, status);
  }

  #onResponse(status: number, fields: readonly string[]): void {
    if (this.#over) return;
    this.#answered = true;
    const raw = fields.map(text => Buffer.from(text, 'latin1'));
    const bytes = raw.reduce((sum, part) => sum + part.length + 2, 0);
    if (bytes > this.#limits.maxHeaderBytes) {
      endWith(
        this,
        this.#owner,
        fail('headers-too-big', `headers larger than ${this.#limits.headerLimitText}`),
      );
      return;
    }
    this.#hasHead = true;
    guarded(this, this.#owner, () => this.#owner.onHead(readHead(status, raw, true)));
    const early = this.#early;
    this.#early = [];
    for (const chunk of early) this.#onData(chunk);
  }

  #onData(chunk: Buffer): void {
    if (this.#over) return;
    // Content in the packet that brought the head comes first: the event of the head comes a moment later.
    if (this.#hasHead) guarded(this, this.#owner, () => this.#owner.onBody(chunk));
    else this.#early.push(chunk);
  }

  #onEnd(): void {
    if (this.#over || !this.#isWhole || !this.#hasHead) return;
    this.#finish();
    this.#links.release(this.#link);
    guarded(this, this.#owner, () => this.#owner.onEnd());
  }

  #fail(reason: FetchFailure): void {
    if (this.#over) return;
    this.#finish();
    const { rstCode } = this.#stream ?? {};
    const wantsHttp1 = rstCode === constants.NGHTTP2_HTTP_1_1_REQUIRED;
    if (wantsHttp1) this.#links.avoidHttp2(this.#link.origin);
    this.#links.discard(this.#link);
    // What was refused or never answered has not been looked at: a connection that was idle may have been closed, and a server
    // that is being restarted may close one that it has just taken.
    const stale =
      !this.#answered && (wantsHttp1 || (reason.kind === 'reset' && (this.#link.reused || this.#isRead)));
    guarded(this, this.#owner, () => this.#owner.onFailure(reason, stale));
  }

  #finish(): void {
    this.#received = this.#count();
    this.#over = true;
    this.#link.session?.off('error', this.#onSessionError).unref();
  }

  #count(): number {
    return (this.#link.intake?.bytes ?? 0) - this.#bytesBefore;
  }
}
