/**
 * A thread of this process, which has one kind of question: an answer to each, in order; or with which its
 * owner talks, each side when it likes (`tell`).
 *
 *     starting ──online──▶ ready ──stop──▶ over
 *         ╰──────────────────┴──it ends, cannot answer, or is silent for too long──▶ over, and lost
 *
 * Its owner hears of answers (`answered`), or waits for them without the event loop (`take`). What a lost
 * thread owes is the owner's to do; a new thread may be started. The thread's side is `serveThread`, or
 * `talkInThread`, in a bundle of its own (scripts/build.mjs).
 */
import { basename, join } from 'node:path';
import { getAsset, isSea } from 'node:sea';
import {
  MessageChannel,
  receiveMessageOnPort,
  Worker,
  workerData,
  type MessagePort,
} from 'node:worker_threads';
import { LccError, messageOf, type ErrorCode } from './errors.js';

/* oxlint-disable unicorn/require-post-message-target-origin -- a port of worker_threads has no origin */

interface ThreadOptions<A> {
  /** File that calls `serveThread`. */
  script: string;
  /** Data that the thread begins with, a copy. */
  data?: unknown;
  /** The two talk; the thread keeps the process alive. */
  talks?: boolean;
  /** Part of its heap for what was made last. */
  youngMb?: number;
  /** The rest of its heap: a thread that needs more is lost. */
  oldMb?: number;
  /** Called for each answer, in order; left out: the owner takes them. */
  answered?(answer: A): void;
  /** Called once when it is lost; the owner that takes answers may do without. */
  lost?(reason: Error): void;
}

/** The state that a thread starts with. */
export interface ThreadStart {
  data: unknown;
  port: MessagePort;
  /** Counts the answers. */
  answers: Int32Array;
}

export type Reply<A> = { answer: A } | { error: { code: ErrorCode; message: string } };

export class Thread<Q, A> {
  readonly #options: ThreadOptions<A>;
  readonly #worker: Worker;
  readonly #port: MessagePort;
  readonly #answers = new Int32Array(new SharedArrayBuffer(4));
  #state: 'starting' | 'ready' | 'over' = 'starting';
  #asked = 0;
  #taken = 0;

  constructor(options: ThreadOptions<A>) {
    const { port1, port2 } = new MessageChannel();
    const start: ThreadStart = { data: options.data, port: port2, answers: this.#answers };
    this.#options = options;
    this.#port = port1;
    // An executable that is alone (docs/design/packages.md) has it inside.
    const inside = isSea() ? getAsset(basename(options.script), 'utf8') : undefined;
    this.#worker = new Worker(inside ?? options.script, {
      eval: inside !== undefined,
      workerData: start,
      transferList: [port2],
      // The thread's files are closed as soon as they are read or written: Node need not note each for its
      // end, 1 to 2 µs a file.
      trackUnmanagedFds: false,
      // Otherwise Node opens ours to write to it what the thread says, and makes a pipe there non-blocking.
      stdout: true,
      stderr: true,
      resourceLimits: {
        ...(options.youngMb !== undefined && { maxYoungGenerationSizeMb: options.youngMb }),
        ...(options.oldMb !== undefined && { maxOldGenerationSizeMb: options.oldMb }),
      },
    });
    this.#worker.on('online', () => this.#started());
    this.#worker.on('error', error => this.#lose(error));
    this.#worker.on('exit', () => this.#lose(new LccError('bug', 'the thread has ended')));
    if (options.answered !== undefined) port1.on('message', (reply: Reply<A>) => this.#hear(reply));
    if (options.talks !== true) this.#rest();
  }

  /** True if it has started; what it is asked before waits so long, some 60 ms. */
  get isReady(): boolean {
    return this.#state === 'ready';
  }

  get isOver(): boolean {
    return this.#state === 'over';
  }

  /** Questions without an answer that was heard or taken. */
  get owes(): number {
    return this.#asked - this.#taken;
  }

  /** Answers to be taken without waiting; Infinity of a thread that is over: there will be none. */
  get ready(): number {
    return this.isOver ? Infinity : Atomics.load(this.#answers, 0) - this.#taken;
  }

  /**
   * A thread that owes an answer keeps the process alive, unless answers are taken.
   * @param given memory that goes over to it, and is empty here from now on
   */
  ask(question: Q, given: readonly ArrayBuffer[] = []): void {
    this.#asked++;
    if (this.#options.answered !== undefined && this.owes === 1) {
      this.#worker.ref();
      this.#port.ref();
    }
    this.#port.postMessage(question, given);
  }

  /** Says something that is owed no answer. */
  tell(told: Q): void {
    this.#port.postMessage(told);
  }

  /**
   * Waits for the next answer without the event loop, which could not tell that the thread has ended: hence
   * the patience.
   * @returns undefined when the thread is lost
   * @throws LccError what it failed with
   */
  take(patienceMs: number): A | undefined {
    if (!this.isOver && !awaitCount(this.#answers, 0, this.#taken, patienceMs))
      this.#lose(new LccError('bug', `the thread has not answered for ${patienceMs / 1000} s`));
    if (this.isOver) return undefined;
    this.#taken++;
    const received: { message: Reply<A> } | undefined = receiveMessageOnPort(this.#port);
    if (received === undefined) throw new LccError('bug', 'a thread answered with nothing');
    return answerIn(received.message);
  }

  /** Ends it when it has done what it was asked; nothing more is heard of it. */
  stop(): void {
    this.#state = 'over';
    this.#port.close();
    this.#rest();
  }

  /**
   * Ends it at once, in the middle of what it does.
   * @param reason its owner hears at once that it is lost; left out: when it has ended
   */
  kill(reason?: Error): void {
    void this.#worker.terminate();
    if (reason !== undefined) this.#lose(reason);
  }

  #started(): void {
    if (this.#state === 'starting') this.#state = 'ready';
  }

  #hear(reply: Reply<A>): void {
    if (this.isOver) return;
    // An answer may be here before the word that the thread is online.
    this.#started();
    this.#taken++;
    let answer: A;
    try {
      answer = answerIn(reply);
    } catch (error) {
      return this.#lose(error as LccError);
    }
    this.#options.answered?.(answer);
    if (this.owes === 0) this.#rest();
  }

  #lose(reason: Error): void {
    if (this.isOver) return;
    this.stop();
    this.#options.lost?.(reason);
  }

  #rest(): void {
    this.#worker.unref();
    this.#port.unref();
  }
}

function answerIn<A>(reply: Reply<A>): A {
  if ('answer' in reply) return reply.answer;
  throw new LccError(reply.error.code, reply.error.message);
}

/**
 * The thread's side, until its owner stops it.
 * @param open makes of what the owner gave what answers questions
 * @param givenBack memory of an answer that goes over to the owner
 */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- they say what is given and asked
export function serveThread<D, Q, A>(
  open: (data: D) => (question: Q) => A | Promise<A>,
  givenBack: (answer: A) => readonly ArrayBuffer[] = () => [],
): void {
  const { data, port, answers } = workerData as ThreadStart;
  const answerTo = open(data as D);
  const serve = async (question: Q): Promise<void> => {
    try {
      const answer = await answerTo(question);
      port.postMessage({ answer } satisfies Reply<A>, givenBack(answer));
    } catch (error) {
      const code = error instanceof LccError ? error.code : 'bug';
      port.postMessage({ error: { code, message: messageOf(error) } } satisfies Reply<A>);
    }
    addToCount(answers, 0);
  };
  let last = Promise.resolve();
  port.on('message', (question: Q) => void (last = last.then(() => serve(question))));
}

/** The same of a thread that talks: it hears what it is told, and says what it likes, as answers. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- they say what is given, told and said
export function talkInThread<D, Q, A>(open: (data: D, say: (said: A) => void) => (told: Q) => void): void {
  const { data, port } = workerData as ThreadStart;
  port.on(
    'message',
    open(data as D, said => port.postMessage({ answer: said } satisfies Reply<A>)),
  );
}

/** The bundle of a thread: beside those of the commands, one of which this may be part of. */
export function threadFile(name: string): string {
  const here = import.meta.dirname;
  return join(here.endsWith(join('src', 'lib')) ? join(here, '../../bin') : here, name);
}

/** The other thread's part of `awaitCount`: the awaited work is done. */
function addToCount(counters: Int32Array, index: number): void {
  Atomics.add(counters, index, 1);
  Atomics.notify(counters, index);
}

/**
 * Waits, without the event loop, until a counter is no longer what was seen of it. `Atomics.wait` alone may
 * end before: a thread that saw the new number without having to wait, and waits for the next one at once, is
 * woken by the notice of the first, which comes after it.
 * @returns false when the time ran out
 */
export function awaitCount(
  counters: Int32Array,
  index: number,
  seen: number,
  patienceMs = Infinity,
): boolean {
  while (Atomics.load(counters, index) === seen)
    if (Atomics.wait(counters, index, seen, patienceMs) === 'timed-out') return false;
  return true;
}
