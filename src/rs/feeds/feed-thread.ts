/** Has feeds read by a thread, one after the other; one that is lost is replaced. */
import { SECOND } from '../../config/amounts.js';
import type { Clock } from '../../lib/clock.js';
import { LccError } from '../../lib/errors.js';
import { Thread, threadFile } from '../../lib/thread.js';
import type { FeedAnswer, FeedDocument, ReadFeed } from './read-document.js';

/** For which a feed is read. */
const PATIENCE_MS = 30 * SECOND;
/** Several times as much as a feed of the largest size takes. */
const MAX_HEAP_MB = 512;

export class FeedThread {
  readonly #clock: Pick<Clock, 'after'>;
  #thread: Thread<FeedDocument, FeedAnswer> | undefined;
  #heard: ((answer: FeedAnswer) => void) | undefined;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(clock: Pick<Clock, 'after'>) {
    this.#clock = clock;
  }

  /** @throws LccError `data.malformed` for what is no feed, is damaged, or takes too long */
  async read(document: FeedDocument): Promise<ReadFeed> {
    const asked = this.#turn.then(() => this.#ask(document));
    this.#turn = asked;
    const answer = await asked;
    if ('failed' in answer) throw new LccError('data.malformed', answer.failed);
    return answer;
  }

  stop(): void {
    this.#thread?.kill(new LccError('peer.unavailable', 'lccd-rs ends'));
  }

  #ask(document: FeedDocument): Promise<FeedAnswer> {
    if (this.#thread === undefined || this.#thread.isOver)
      this.#thread = new Thread<FeedDocument, FeedAnswer>({
        script: threadFile('feed-worker.cjs'),
        oldMb: MAX_HEAP_MB,
        answered: answer => this.#heard?.(answer),
        lost: error => this.#heard?.({ failed: error.message }),
      });
    const thread = this.#thread;
    return new Promise(resolve => {
      const cancel = this.#clock.after(PATIENCE_MS, () =>
        thread.kill(new LccError('limit', `it takes longer to read than ${PATIENCE_MS / SECOND} s`)),
      );
      this.#heard = answer => {
        cancel();
        this.#heard = undefined;
        resolve(answer);
      };
      thread.ask(document);
    });
  }
}
