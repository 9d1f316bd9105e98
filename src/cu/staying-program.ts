/**
 * A program that stays (`lccq --stay`): it gets one stream after the other on its standard input, and answers
 * each with the line `ok` on its standard output when it has what it was sent.
 *
 *   none ──a stream begins──▶ taking ──its last byte is written, `ok`──▶ idle ──the next begins──▶ taking
 *
 * It goes on until its input ends: one that ends before, or closes its standard output, has failed, also
 * while it is idle.
 */
import { systemClock } from '../lib/clock.js';
import { EXIT, LccError, messageOf } from '../lib/errors.js';
import { Lines } from '../lib/lines.js';
import {
  ConsumerGone,
  startConsumer,
  type Consumer,
  type ConsumerCall,
  type ConsumerEnd,
  type ConsumerProgram,
  type StartedConsumer,
} from './consumer.js';

const OK = 'ok';
/** Characters of a line that it writes. */
const MAX_LINE = 200;
/** Between the end of its output and its own. */
const END_MS = 1000;
const ENDED_EARLY = 'ended before its input did';
const TOO_LONG = `wrote a line of more than ${MAX_LINE} characters, where ${OK} is the only one`;

export class StayingProgram implements ConsumerProgram {
  readonly name: string;
  readonly #call: ConsumerCall;
  readonly #streamEnd: string;
  readonly #gone = new AbortController();
  readonly #lines = new Lines(MAX_LINE, () => new LccError('peer.protocol', TOO_LONG));
  #consumer: StartedConsumer | undefined;
  /** The last stream: idle, from the answer to the last byte of one to the first of the next. */
  #hasAnswered = false;
  /** An action of the program that no program does that stays. */
  #wrong: string | undefined;
  #isOver = false;
  /** A stream was not answered, and its reader knows why. */
  #isFailureTold = false;
  #stir = (): void => undefined;

  /** @param streamEnd what is written after a stream whose format has no end of its own */
  constructor(call: ConsumerCall, streamEnd: string) {
    this.name = call.name;
    this.#call = call;
    this.#streamEnd = streamEnd;
  }

  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  start(): Consumer {
    const consumer = (this.#consumer ??= this.#started());
    this.#hasAnswered = false;
    return {
      write: chunk => this.#write(consumer, chunk),
      finish: async () => {
        const end = await this.#answered(consumer);
        this.#isFailureTold = end.status !== 0;
        return end;
      },
      kill: signal => consumer.kill(signal),
    };
  }

  /** True once the program has done something wrong, and was told to end. */
  get isStopped(): boolean {
    return this.#wrong !== undefined;
  }

  /**
   * Ends its input and waits for its end, unless it has done what is wrong.
   * @returns how it ended, or what it did; undefined where it did not run, or the reader of a stream knows
   */
  async end(): Promise<ConsumerEnd | undefined> {
    if (this.#isFailureTold || this.#consumer === undefined) return undefined;
    if (this.#wrong !== undefined) return misbehaved(this.#wrong);
    const isEarly = this.#isOver;
    const end = await this.#consumer.finish();
    // The output of the program since its input ended.
    if (this.isStopped) return misbehaved(this.#wrong);
    return isEarly && end.status === 0 ? { ...end, status: EXIT.protocol, what: ENDED_EARLY } : end;
  }

  /** Ends its input and waits for its end, whatever it has done. */
  async over(): Promise<void> {
    await this.#consumer?.finish();
  }

  #started(): StartedConsumer {
    const consumer = startConsumer(this.#call, {
      said: chunk => this.#said(chunk),
      ended: () => void systemClock.after(END_MS, () => this.#fellSilent()),
    });
    void consumer.over.then(() => {
      this.#isOver = true;
      this.#gone.abort();
    });
    return consumer;
  }

  async #write(consumer: StartedConsumer, chunk: string | Uint8Array): Promise<void> {
    if (this.#hasAnswered) this.#goWrong(`wrote ${OK} before the end of what it was sent`);
    if (this.#wrong !== undefined) throw new ConsumerGone();
    await consumer.write(chunk);
  }

  /** Waits for its answer to the stream. */
  async #answered(consumer: StartedConsumer): Promise<ConsumerEnd> {
    try {
      if (this.#streamEnd !== '') await this.#write(consumer, this.#streamEnd);
    } catch (error) {
      if (!(error instanceof ConsumerGone)) throw error;
    }
    const answer = new Promise<void>(resolve => (this.#stir = resolve));
    if (!this.#hasAnswered && this.#wrong === undefined) await Promise.race([answer, consumer.over]);
    if (this.#wrong !== undefined) return misbehaved(this.#wrong);
    if (this.#hasAnswered) return { tookAll: true, status: 0, what: `wrote ${OK}` };
    const { status, what } = await consumer.over;
    return status === 0
      ? { tookAll: false, status: EXIT.protocol, what: `${ENDED_EARLY}, without the line ${OK}` }
      : { tookAll: false, status, what };
  }

  /** The first of what it did is told. */
  #goWrong(what: string): void {
    this.#wrong ??= what;
    this.#consumer?.giveUp();
    this.#stir();
    this.#gone.abort();
  }

  /** The output of the program has ended a while ago. */
  #fellSilent(): void {
    if (!this.#isOver) this.#goWrong(`closed its standard output, where ${OK} is awaited`);
  }

  #said(chunk: Buffer): void {
    try {
      for (const line of this.#lines.read(chunk)) this.#answer(line);
    } catch (error) {
      this.#goWrong(messageOf(error));
    }
    if (this.#hasAnswered) this.#stir();
  }

  #answer(line: string): void {
    const what = line === '' ? 'an empty line' : JSON.stringify(line);
    if (line !== OK) this.#goWrong(`wrote ${what} to its standard output, where ${OK} is the only line`);
    else if (this.#hasAnswered)
      this.#goWrong(`wrote ${OK} once too often, so the batch before may not have been taken`);
    this.#hasAnswered = true;
  }
}

function misbehaved(what = ''): ConsumerEnd {
  return { tookAll: false, status: EXIT.protocol, what };
}
