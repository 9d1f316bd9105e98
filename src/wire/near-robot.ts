/**
 * The edge BM ↔ BOT (bm-bot.ts) where the robot is a thread of its Bot Manager: both sides say the same, and
 * what is said in one turn of the event loop crosses together: as JSON, which V8 writes and reads faster than
 * it copies objects, and whose objects are of few shapes; with content among it, as it is. What waits at the
 * robot is bounded by what the Bot Manager gives: its slots times the window of a lane. Of a thread that
 * hangs or ends its owner tells (`lost`).
 */
import { LccError } from '../lib/errors.js';
import type { ManagerEnd, ManagerHandlers, RobotEnd, RobotHandlers } from './bm-bot.js';
import type { FetchTerms, RobotRequest, RobotResult } from './fetch.js';

/** A request with its id and file here, which are put into it there: a copy costs more. */
type Asked = [id: number, file: string, terms: FetchTerms & { lane?: string }];
export type ToRobot = Asked | { recall: string; begun: boolean };
export type FromRobot = RobotResult | { slots: number };

/** Messages of a turn, as they cross. */
export type Turn<M> = string | M[];

/** How a Bot Manager takes in a robot of its own process. @param cut ends the robot */
export type NearJoin = (where: string, say: (said: Turn<ToRobot>) => void, cut: () => void) => NearRobot;

abstract class NearEnd<M> {
  readonly #say: (said: Turn<M>) => void;
  #said: M[] = [];
  #hasContent = false;

  constructor(say: (said: Turn<M>) => void) {
    this.#say = say;
  }

  protected send(message: M, hasContent = false): void {
    this.#hasContent ||= hasContent;
    if (this.#said.push(message) === 1) setImmediate(() => this.flush());
  }

  protected flush(): void {
    const said = this.#said;
    const text = this.#hasContent ? said : JSON.stringify(said);
    this.#said = [];
    this.#hasContent = false;
    if (said.length > 0) this.#say(text);
  }
}

/** The robot's end. */
export class NearManager extends NearEnd<FromRobot> implements ManagerEnd {
  readonly #handlers: ManagerHandlers;
  readonly channel = { end: () => this.flush(), violation: (what: string) => breach('Bot Manager', what) };

  constructor(say: (said: Turn<FromRobot>) => void, handlers: ManagerHandlers) {
    super(say);
    this.#handlers = handlers;
  }

  hear(said: Turn<ToRobot>): void {
    for (const each of heard(said))
      if ('recall' in each) this.#handlers.recall(each.recall, each.begun);
      else this.#handlers.fetch(requestOf(each));
  }
  /** The Bot Manager wants nothing more: what is being fetched is cancelled. */
  close(): void {
    this.#handlers.closed(undefined);
  }
  hello(slots: number): void {
    this.send({ slots });
  }
  fetched(result: RobotResult): void {
    this.send(result, result.status === 'inline');
  }
  isOver(): boolean {
    return false;
  }
  hold(): void {
    // See above.
  }
}

/** The Bot Manager's end. */
export class NearRobot extends NearEnd<ToRobot> implements RobotEnd {
  readonly #handlers: RobotHandlers;
  #isOver = false;
  #open = 0;
  readonly silentMs = 0;
  readonly channel;

  constructor(where: string, handlers: RobotHandlers, say: (said: Turn<ToRobot>) => void, cut: () => void) {
    super(say);
    this.#handlers = handlers;
    this.channel = {
      where,
      violation: (what: string) => breach(where, what),
      destroy: (reason?: LccError) => {
        this.lost(reason);
        cut();
      },
    };
  }

  /** True if there are requests without an answer. */
  get isOwed(): boolean {
    return this.#open > 0;
  }

  hear(said: Turn<FromRobot>): void {
    try {
      for (const each of heard(said)) {
        if (this.#isOver) return;
        if ('slots' in each) this.#handlers.hello(each.slots, true);
        else {
          this.#open--;
          this.#handlers.fetched(each);
        }
      }
    } catch (error) {
      if (!(error instanceof LccError)) throw error;
      this.channel.destroy(error);
    }
  }
  /** The thread is gone, or is not to be heard any more. */
  lost(reason?: LccError): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#handlers.closed(reason);
  }
  fetch(id: number, file = '', request: FetchTerms & { lane?: string }): void {
    this.#open++;
    this.send([id, file, request]);
  }
  recall(lane: string, begun = false): void {
    this.send({ recall: lane, begun });
  }
}

function requestOf([id, file, terms]: Asked): RobotRequest {
  const request = terms as FetchTerms & { lane?: string; id: number; file: string };
  request.id = id;
  request.file = file;
  return request;
}

function heard<M>(said: Turn<M>): M[] {
  return typeof said === 'string' ? (JSON.parse(said) as M[]) : said;
}

function breach(where: string, what: string): LccError {
  return new LccError('bug', `${where}: ${what}`);
}
