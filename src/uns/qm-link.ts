/** The UNS's end of the connection to the Queue Manager: questions with one answer, bytes with backpressure. */
import type { Socket } from 'node:net';
import type { Clock } from '../lib/clock.js';
import { LccError, messageOf } from '../lib/errors.js';
import type { XmlLimits } from '../lib/xml/types.js';
import { createAnswerReader, type QmAnswer } from '../wire/uns-qm.js';

export class QmLink {
  readonly #socket: Socket;
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  #failure: LccError | undefined;
  #pending: { resolve(answer: QmAnswer): void; reject(error: unknown): void } | undefined;
  /** An answer that came before its question was complete: a set refused at its head. */
  #early: QmAnswer | undefined;
  /** Those waiting for room to write, or for anything else that the end of the connection must break. */
  readonly #waiting = new Set<() => void>();

  constructor(socket: Socket, options: { xml: XmlLimits; timeoutMs: number; clock: Clock }) {
    this.#socket = socket;
    this.#clock = options.clock;
    this.#timeoutMs = options.timeoutMs;
    const reader = createAnswerReader(answer => this.#hear(answer), {
      where: 'Queue Manager',
      xml: options.xml,
    });
    socket.on('data', (chunk: Buffer) => {
      try {
        reader.write(chunk);
      } catch (error) {
        this.#fail(
          error instanceof LccError ? error : new LccError('bug', messageOf(error), { cause: error }),
        );
      }
    });
    socket.on('error', error => this.#fail(new LccError('peer.unavailable', messageOf(error))));
    socket.on('close', () => this.#fail(new LccError('peer.unavailable', 'connection closed')));
  }

  /**
   * Sends bytes; resolves when they have left, so that their memory may be used again.
   * @throws LccError when the connection is broken, or does not take them in time
   */
  async send(bytes: string | Uint8Array): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    const cancel = this.#unlessInTime('takes no more');
    const left = new Promise<void>(resolve => void this.#socket.write(bytes, () => resolve()));
    try {
      await this.unlessClosed(left);
    } finally {
      cancel();
    }
  }

  /** Sends a question and waits for its answer, which must be one of `kinds`. @throws LccError */
  async ask(question: string | Uint8Array, ...kinds: QmAnswer['kind'][]): Promise<QmAnswer> {
    const answered = new Promise<QmAnswer>((resolve, reject) => (this.#pending = { resolve, reject }));
    answered.catch(() => undefined);
    if (this.#early !== undefined) this.#hear(this.#early);
    this.#early = undefined;
    const cancel = this.#unlessInTime('no answer in time');
    try {
      if (this.#failure !== undefined) throw this.#failure;
      this.#socket.write(question);
      const answer = await answered;
      if (kinds.includes(answer.kind)) return answer;
      throw answer.kind === 'busy'
        ? new LccError('peer.busy', 'busy')
        : new LccError('peer.protocol', `<${answer.kind}> is no answer to this`);
    } finally {
      cancel();
      this.#pending = undefined;
    }
  }

  /** Waits for `event`, or throws the end of the connection. */
  async unlessClosed(event: Promise<void>): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    await new Promise<void>(resolve => {
      this.#waiting.add(resolve);
      void event.then(() => {
        this.#waiting.delete(resolve);
        resolve();
      });
    });
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** The connection is given up, unless what is returned is called in time. */
  #unlessInTime(what: string): () => void {
    return this.#clock.after(this.#timeoutMs, () =>
      this.#fail(new LccError('peer.unavailable', `${what} (uns.qm_timeout_ms)`)),
    );
  }

  #hear(answer: QmAnswer): void {
    const pending = this.#pending;
    this.#pending = undefined;
    if (pending !== undefined) pending.resolve(answer);
    else if (answer.kind === 'refused' && this.#early === undefined) this.#early = answer;
    else if (answer.kind === 'busy') this.#fail(new LccError('peer.busy', 'busy'));
    else this.#fail(new LccError('peer.protocol', `<${answer.kind}> was not asked for`));
  }

  #fail(error: LccError): void {
    this.#failure ??= error;
    this.#pending?.reject(this.#failure);
    this.#pending = undefined;
    this.#socket.destroy();
    this.#stir();
  }

  #stir(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}
