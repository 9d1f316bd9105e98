/**
 * One url of a URL server until its record is with a store server: exactly one record, then exactly one DONE.
 *
 *     fetching ──ended──▶ queued ──written──▶ written ──stored──▶ over
 *                            ▲                   │
 *                            ╰──unwritten────────╯   the store server went before it had confirmed it
 *
 * `fetching ──dropped──▶ over`: the spider stops and has given it up. It has no record and no DONE, so its
 * URL server has it fetched by another spider.
 *
 * A line that asks for nothing that can be fetched is `queued` at once. The URL server may go meanwhile: the
 * transaction is an orphan then, is carried on to its end, and its end is told to nobody.
 */
import type { SpoolSink } from '../../fetch/spool-sink.js';
import { transitions, type StateOf } from '../../lib/states.js';
import { formatRecordHead, recordUrl } from '../../wire/spider-record.js';
import type { FetchEnd } from './end.js';

const enter = transitions('transaction', {
  fetching: ['queued', 'over'],
  queued: ['written'],
  written: ['queued', 'over'],
  over: [],
});

type SpiderTransactionState = StateOf<typeof enter>;

/** The task of a transaction, in the words of the URL server. */
interface SpiderTask {
  transId: string;
  docId: number;
  /** As received; '' for none. */
  url: string;
}

/** The connection that a transaction came over: its end is told there. */
export interface TransactionOwner {
  /** A line with its end. */
  say(line: string): void;
  /** An oddity, for a person. */
  remark(what: string): void;
  remove(transaction: SpiderTransaction): void;
}

export class SpiderTransaction {
  readonly task: SpiderTask;
  readonly content: SpoolSink;
  /** Whom its end is told to; undefined: it is an orphan. */
  session: TransactionOwner | undefined;
  #state: SpiderTransactionState = 'fetching';
  #head: Buffer | undefined;
  readonly #over: (transaction: SpiderTransaction) => void;

  /** @param over called once, when its record is with the store server */
  constructor(
    task: SpiderTask,
    content: SpoolSink,
    session: TransactionOwner,
    over: (transaction: SpiderTransaction) => void,
  ) {
    this.task = task;
    this.content = content;
    this.session = session;
    this.#over = over;
  }

  get state(): SpiderTransactionState {
    return this.#state;
  }

  get docId(): number {
    return this.task.docId;
  }

  /** All of its record that stands before the document. @throws Error before its fetch has ended */
  get head(): Buffer {
    if (this.#head === undefined) throw new Error(`transaction ${this.task.transId}: there is no record yet`);
    return this.#head;
  }

  /** The fetch has ended, or there was none. */
  ended(end: FetchEnd): void {
    this.#enter('queued');
    if (!end.success) this.content.discard();
    const docBytes = end.success ? this.content.length : 0;
    const { docId, url } = this.task;
    this.#head = formatRecordHead({ ...end, docId, docBytes, url: recordUrl(url) });
  }

  /** All of its record has gone to the store server. */
  written(): void {
    this.#enter('written');
  }

  /** Bytes that have gone there may be lost. */
  unwritten(): void {
    this.#enter('queued');
  }

  /** The store server has it. */
  stored(): void {
    this.#enter('over');
    this.content.discard();
    this.#over(this);
  }

  /** The transaction is given up, without a record. */
  dropped(): void {
    this.#enter('over');
    this.content.discard();
  }

  #enter(to: SpiderTransactionState): void {
    this.#state = enter(this.#state, to, this.task.transId);
  }
}
