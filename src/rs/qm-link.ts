/** One connection to the Queue Manager: a line, its answer, one at a time. */
import type { Conversation } from '../lib/conversation.js';
import { LccError } from '../lib/errors.js';
import { Lines } from '../lib/lines.js';
import { MAX_RS_ANSWER_LENGTH, readRsAnswer, type RsAnswer } from '../wire/qm-rs.js';

export class QmRsLink {
  readonly #talk: Conversation;
  readonly #timeoutMs: number;
  readonly #answers: RsAnswer[] = [];
  #turn: Promise<unknown> = Promise.resolve();

  constructor(talk: Conversation, timeoutMs: number) {
    this.#talk = talk;
    this.#timeoutMs = timeoutMs;
    const lines = new Lines(
      MAX_RS_ANSWER_LENGTH,
      () => new LccError('peer.protocol', 'the Queue Manager: a line that is too long'),
    );
    talk.listen(
      chunk => {
        for (const line of lines.read(chunk)) this.#answers.push(readRsAnswer(line));
      },
      () => {
        // The end of the other side alone does not close ours, and a new connection waits for that.
        this.close();
        return new LccError('peer.unavailable', 'the Queue Manager: connection closed');
      },
    );
  }

  /**
   * @param isWanted asked when its turn comes: what nobody waits for any more is not sent
   * @throws LccError when the connection is broken, or there is no answer in time
   */
  ask(line: string, isWanted: () => boolean = () => true): Promise<RsAnswer> {
    const answer = this.#turn.then(() => {
      if (!isWanted()) throw new LccError('try.later', 'the Queue Manager: nobody waits for this any more');
      return this.#ask(line);
    });
    this.#turn = answer.catch(() => undefined);
    return answer;
  }

  close(): void {
    this.#talk.destroy();
  }

  async #ask(line: string): Promise<RsAnswer> {
    const late = () => new LccError('peer.unavailable', 'the Queue Manager: no answer in time');
    try {
      await this.#talk.write(line, this.#timeoutMs, late);
      await this.#talk.until(() => this.#answers.length > 0, this.#timeoutMs, late);
    } catch (error) {
      // A late answer would be taken for that of the next question, and a connection that is broken answers
      // none.
      this.close();
      throw error;
    }
    const answer = this.#answers.shift();
    if (answer === undefined) throw new LccError('bug', 'an answer that was there is gone');
    return answer;
  }
}
