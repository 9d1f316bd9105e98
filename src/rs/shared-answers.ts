/**
 * Answers of the Queue Manager about a provider, shared by the looks at its pages for a moment. Those who ask the same meanwhile wait
 * for one answer. Nothing older than `keepMs`, counted from the question, is given to anybody.
 *
 *     asked ──known and young──▶ that answer
 *       ╰──▶ the Queue Manager ──▶ kept ──keepMs, a change of the provider, or no room──▶ forgotten
 *     asked for what holds now ──the change mark is that of before its question──▶ a known and young answer
 *       ├──no mark, one is under way──▶ the next one, with all who ask until it is sent
 *       ╰──▶ the Queue Manager
 */
import type { Clock } from '../lib/clock.js';
import type { RsQuestion } from '../wire/qm-rs.js';

export type QmTold = Readonly<Record<string, unknown>>;
export type ProviderQuestion = Extract<RsQuestion, { pid: number }>;

export interface SharedAnswersOptions {
  /** Undefined: the Queue Manager is away, which is not kept. */
  ask: (question: RsQuestion) => Promise<QmTold | undefined>;
  clock: Pick<Clock, 'monotonicMs'>;
  /** As it is now (change-mark.ts); undefined: not known. */
  mark: () => string | undefined;
  keepMs: number;
  /** Of questions and answers that are kept, as characters; about. */
  maxLength: number;
}

interface Kept {
  pid: number;
  /** Before the question; undefined: any. */
  mark: string | undefined;
  answer: Promise<QmTold | undefined>;
  untilMs: number;
  length: number;
}

interface UnderWay {
  over: Promise<void>;
  next: Promise<QmTold | undefined> | undefined;
}

/** Of a member or an element, beside its characters. */
const ROUND_LENGTH = 8;

export class SharedAnswers {
  readonly #options: SharedAnswersOptions;
  /** By question, the oldest first. */
  readonly #kept = new Map<string, Kept>();
  #length = 0;
  /** By question: the one that is under way, and the one that follows it. */
  readonly #underWay = new Map<string, UnderWay>();

  constructor(options: SharedAnswersOptions) {
    this.#options = options;
  }

  /** Of what is kept. */
  get length(): number {
    return this.#length;
  }

  ask(question: ProviderQuestion): Promise<QmTold | undefined> {
    return this.#shared(question, undefined);
  }

  #shared(question: ProviderQuestion, mark: string | undefined): Promise<QmTold | undefined> {
    const { ask, clock, keepMs } = this.#options;
    const key = JSON.stringify(question);
    const nowMs = clock.monotonicMs();
    const known = this.#kept.get(key);
    if (known !== undefined && nowMs < known.untilMs && known.mark === mark) return known.answer;
    if (known !== undefined) this.#forget(key, known);
    this.#prune(nowMs);
    const kept: Kept = {
      pid: question.pid,
      mark,
      answer: ask(question),
      untilMs: nowMs + keepMs,
      length: key.length,
    };
    this.#kept.set(key, kept);
    this.#length += kept.length;
    this.#makeRoom();
    kept.answer.then(
      told => this.#settled(key, kept, told),
      () => this.#forget(key, kept),
    );
    return kept.answer;
  }

  /** What logins hang on, as it is now: no change that somebody was told of before this call is missing. */
  askNow(question: ProviderQuestion): Promise<QmTold | undefined> {
    const mark = this.#options.mark();
    if (mark !== undefined) return this.#shared(question, mark);
    // The question is sent after this call, never before.
    const key = JSON.stringify(question);
    const current = this.#underWay.get(key);
    if (current === undefined) return this.#send(key, question);
    current.next ??= current.over.then(() => this.#send(key, question));
    return current.next;
  }

  #send(key: string, question: ProviderQuestion): Promise<QmTold | undefined> {
    const answer = this.#options.ask(question);
    const over = () => {
      if (current.next === undefined) this.#underWay.delete(key);
    };
    const current: UnderWay = { over: answer.then(over, over), next: undefined };
    this.#underWay.set(key, current);
    return answer;
  }

  /** What is known of a provider is no longer so: it has changed something. Answers that are under way are not kept either. */
  drop(pid: number): void {
    for (const [key, kept] of this.#kept) if (kept.pid === pid) this.#forget(key, kept);
  }

  /** The Queue Manager is another one, or away. */
  clear(): void {
    this.#kept.clear();
    this.#length = 0;
  }

  #settled(key: string, kept: Kept, told: QmTold | undefined): void {
    if (this.#kept.get(key) !== kept) return;
    if (told === undefined) return this.#forget(key, kept);
    const length = lengthOf(told);
    kept.length += length;
    this.#length += length;
    this.#makeRoom();
  }

  #prune(nowMs: number): void {
    for (const [key, kept] of this.#kept) {
      if (nowMs < kept.untilMs) break;
      this.#forget(key, kept);
    }
  }

  #makeRoom(): void {
    for (const [key, kept] of this.#kept) {
      if (this.#length <= this.#options.maxLength) break;
      this.#forget(key, kept);
    }
  }

  #forget(key: string, kept: Kept): void {
    if (this.#kept.get(key) !== kept) return;
    this.#kept.delete(key);
    this.#length -= kept.length;
  }
}

function lengthOf(value: unknown): number {
  if (typeof value === 'string') return ROUND_LENGTH + value.length;
  if (typeof value !== 'object' || value === null) return ROUND_LENGTH;
  let length = ROUND_LENGTH;
  for (const each of Object.values(value)) length += lengthOf(each);
  return length;
}
