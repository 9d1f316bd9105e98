/** One spider's conversation. Whatever it says costs its own connection at most. */
import type { Connection } from '../../daemon/types.js';
import type { Clock } from '../../lib/clock.js';
import { Conversation } from '../../lib/conversation.js';
import { LccError } from '../../lib/errors.js';
import type { FairShare, PeerReading } from '../../lib/fair-share.js';
import { formatErr, formatUrl, SpiderLineReader, type SpiderLine } from '../../wire/spider-lines.js';
import type { UrlServerOptions } from './options.js';
import type { SpiderUrl } from './spider-url.js';
import type { SpiderLink } from './scheduler.js';

interface SessionHandlers {
  /** The spider has room for more urls. */
  get(count: number): void;
  working(transId: string): void;
  done(transId: string): void;
  /** Text of the spider, for a person to read. */
  remark(text: string): void;
  bad(): void;
  /** Any line. */
  heard(): void;
  /** The spider takes bytes again. */
  drained(): void;
}

/** Bytes that a spider may still send after our last word. */
const PARTING_BYTES = 128 * 1024;
const PARTING_MS = 1000;

export class SpiderSession implements SpiderLink {
  readonly peer: string;
  readonly #talk: Conversation;
  readonly #reading: PeerReading;
  readonly #handlers: SessionHandlers;
  readonly #limits: UrlServerOptions['session'];
  /** To be sent at the end of this turn. */
  #unsent = '';
  #bad = 0;
  #isLeaving = false;

  constructor(
    { socket, peer }: Connection,
    handlers: SessionHandlers,
    limits: UrlServerOptions['session'],
    clock: Clock,
    share: FairShare,
  ) {
    this.peer = peer;
    this.#talk = new Conversation(socket, peer, clock);
    this.#reading = share.join();
    this.#handlers = handlers;
    this.#limits = limits;
  }

  get isFull(): boolean {
    return this.#talk.waitingBytes + this.#unsent.length > this.#limits.maxWaitingBytes;
  }

  send(transId: string, { docId, hostName, url }: SpiderUrl): void {
    this.#say(formatUrl({ transId, docId, hostIp: undefined, hostName, url }));
  }

  /** Holds the conversation until the spider or we have left. @returns why, where that is somebody's fault;
   * never rejects but for a bug */
  async run(): Promise<LccError | undefined> {
    const lines = new SpiderLineReader();
    try {
      for await (const slice of this.#talk.slices(this.#reading))
        for (const line of lines.read(slice)) this.#meet(line);
      return undefined;
    } catch (error) {
      if (!(error instanceof LccError)) throw error;
      return this.#isLeaving || error.code === 'peer.unavailable' ? undefined : error;
    }
  }

  /** Ends the conversation once what was said is read. @param why said last */
  async part(why?: LccError): Promise<void> {
    this.#talk.calm();
    if (why !== undefined) this.#unsent += formatErr(why.message);
    this.#flush();
    await this.#talk.part(PARTING_MS, { reading: this.#reading, maxBytes: PARTING_BYTES });
  }

  /** Makes `run` return: there are no more urls, or its place is another's. @param why said last */
  dismiss(why?: LccError): void {
    this.#isLeaving = why === undefined;
    this.#talk.interrupt(why ?? new LccError('peer.unavailable', 'no more urls'));
  }

  #meet(line: SpiderLine): void {
    const handlers = this.#handlers;
    handlers.heard();
    switch (line.kind) {
      case 'get':
        this.#reading.known();
        return handlers.get(line.count);
      case 'working':
        return handlers.working(line.transId);
      case 'done':
        return handlers.done(line.transId);
      case 'err':
        return handlers.remark(line.text);
      case 'bad':
        handlers.bad();
        if (++this.#bad > this.#limits.maxBadLines)
          throw new LccError(
            'peer.protocol',
            `too many bad lines: the limit is ${this.#limits.badLinesText}`,
          );
        return this.#say(formatErr(line.why));
    }
  }

  #say(text: string): void {
    if (this.#unsent === '') queueMicrotask(() => this.#flush());
    this.#unsent += text;
  }

  #flush(): void {
    const text = this.#unsent;
    this.#unsent = '';
    if (text === '' || this.#talk.isOver) return;
    const { stallTimeoutMs, stallText } = this.#limits;
    const late = () =>
      new LccError('peer.protocol', `takes nothing of what it is sent: the limit is ${stallText}`);
    this.#talk.write(text, stallTimeoutMs, late).then(
      () => this.#handlers.drained(),
      // The conversation is over, as `run` learns.
      () => undefined,
    );
  }
}
