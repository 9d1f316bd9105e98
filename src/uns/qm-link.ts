/**
 * The UNS's end of the connection to the Queue Manager: questions with one answer, bytes with backpressure.
 */
import type { Socket } from 'node:net';
import type { Clock } from '../lib/clock.js';
import { Conversation } from '../lib/conversation.js';
import { LccError, messageOf } from '../lib/errors.js';
import type { XmlLimits } from '../lib/xml/types.js';
import { createAnswerReader, type QmAnswer } from '../wire/uns-qm.js';

export class QmLink {
  readonly #talk: Conversation;
  readonly #timeoutMs: number;
  /** An answer that has come and was not waited for yet: to a set that is refused at its head, before all of
   * it was sent. */
  #answer: QmAnswer | undefined;
  #isAsking = false;

  constructor(socket: Socket, options: { xml: XmlLimits; timeoutMs: number; clock: Clock }) {
    this.#timeoutMs = options.timeoutMs;
    const where = 'Queue Manager';
    this.#talk = new Conversation(socket, where, options.clock);
    const reader = createAnswerReader(answer => this.#hear(answer), { where, xml: options.xml });
    this.#talk.listen(
      chunk => reader.write(chunk),
      error => new LccError('peer.unavailable', error === undefined ? 'connection closed' : messageOf(error)),
    );
  }

  /**
   * Sends bytes; resolves when they have left, so that their memory may be used again.
   * @throws LccError when the connection is broken, or does not take them in time
   */
  send(bytes: string | Uint8Array): Promise<void> {
    return this.#talk.write(bytes, this.#timeoutMs, () => tooLate('takes no more'));
  }

  /** Sends a question and waits for its answer, which must be one of `kinds`. @throws LccError */
  async ask(question: string | Uint8Array, ...kinds: QmAnswer['kind'][]): Promise<QmAnswer> {
    this.#isAsking = true;
    const sent = this.#talk.write(question);
    sent.catch(() => undefined);
    await this.#talk.until(
      () => this.#answer !== undefined,
      this.#timeoutMs,
      () => tooLate('no answer in time'),
    );
    const answer = this.#answer;
    this.#answer = undefined;
    this.#isAsking = false;
    if (answer !== undefined && kinds.includes(answer.kind)) return answer;
    throw answer?.kind === 'busy'
      ? new LccError('peer.busy', 'busy')
      : new LccError('peer.protocol', `<${answer?.kind}> is no answer to this`);
  }

  /** Waits for `event`, or throws the end of the connection. */
  async unlessClosed(event: Promise<void>): Promise<void> {
    let hasCome = false;
    void event.then(() => {
      hasCome = true;
      this.#talk.stir();
    });
    await this.#talk.until(() => hasCome);
  }

  #hear(answer: QmAnswer): void {
    if (answer.kind === 'busy' && !this.#isAsking) throw new LccError('peer.busy', 'busy');
    if (this.#answer !== undefined || (!this.#isAsking && answer.kind !== 'refused'))
      throw new LccError('peer.protocol', `<${answer.kind}> was not asked for`);
    this.#answer = answer;
  }
}

function tooLate(what: string): LccError {
  return new LccError('peer.unavailable', `${what} (uns.qm_timeout_ms)`);
}
