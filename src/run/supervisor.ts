/** A whole LCC on one machine: its daemons as children, started together, kept running, stopped in order. */
import type { Clock } from '../lib/clock.js';
import { EXIT, LccError, type ErrorCode } from '../lib/errors.js';
import type { Log } from '../lib/log.js';
import { Child, type ChildSpec } from './child.js';
import type { LccdStatus } from './figures.js';
import { rankOf } from './kinds.js';

export interface SupervisorOptions {
  /** In the order in which they are started. */
  children: readonly ChildSpec[];
  /** Kinds (kinds.ts) in the order in which they are stopped. */
  stopOrder: readonly string[];
  clock: Clock;
  log: Log;
  restartMinMs: number;
  restartMaxMs: number;
  /** Time in which all children must have become ready at first. */
  startTimeoutMs: number;
  /** Time in which all children must have stopped; those that have not are killed. */
  stopTimeoutMs: number;
  isReady: (name: string, pid: number) => Promise<boolean>;
  /** A child has come to an end that no other start will mend, and all have been stopped. */
  failed: (error: LccError) => void;
  /**
   * Why a child that has ended with this status is not started again for now: it would end in the same way.
   */
  notNow?: (status: number | undefined) => string | undefined;
  /** True if any process answers under this name. */
  answers: (name: string) => Promise<boolean>;
}

/** Ends that another start will not mend: wrong options or configuration, no permission. */
const PERMANENT: readonly (number | undefined)[] = [EXIT.usage, EXIT.cantcreat, EXIT.noperm, EXIT.config];
/** Ends for want of something that another process has: an address, a database, a spool. */
const IN_USE: readonly (number | undefined)[] = [EXIT.unavailable, EXIT.tempfail];
/** The same of a child that has run before: a disk or an address may come back. */
const HOPELESS: readonly (number | undefined)[] = [EXIT.usage, EXIT.config];
const LOOK_MS = 10;
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #children: Child[];
  /** The clock's timers do not keep a process alive; a supervisor must live while all its children wait. */
  #alive: NodeJS.Timeout | undefined;
  #isUp = false;
  /** False in a kept home that another machine owns. */
  #isOwner = false;
  /** Those that were shut out while nobody answered under their name, and how often each had been started
   * again by then. */
  readonly #unanswered = new Map<Child, number>();
  #stopped: Promise<void> | undefined;
  /** Ends a pause of `start`: the clock's timer may never come once nothing else keeps the process alive. */
  #wake: () => void = () => undefined;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#children = options.children.map(
      spec =>
        new Child(spec, {
          ...options,
          isReady: pid => options.isReady(spec.name, pid),
          died: () => this.#childDied(spec.name),
        }),
    );
  }

  status(): LccdStatus {
    const children = this.#served;
    return {
      idle: children.every(({ state, isBeside }) => state === 'ready' || (isBeside && state === 'stopped')),
      children: children.map(child => child.status()),
    };
  }

  /** Those that are to run. */
  get #served(): Child[] {
    return this.#children.filter(({ isOfOwner }) => this.#isOwner || !isOfOwner);
  }

  get #owners(): Child[] {
    return this.#children.filter(({ isOfOwner }) => isOfOwner);
  }

  /** Starts those of the owner of a kept home, or kills them: what they would do, another machine does. */
  async serve(isOwner: boolean): Promise<void> {
    this.#isOwner = isOwner;
    if (!isOwner) await Promise.all(this.#owners.map(child => child.kill()));
    // Meanwhile it may own the home again.
    if (!this.#isOwner || this.#stopped !== undefined) return;
    for (const child of this.#owners) if (child.state === 'stopped') child.start();
  }

  /** Stops those of the owner in their order: the home is handed over. */
  retire(): Promise<void> {
    return this.#stopInOrder(this.#owners);
  }

  /**
   * Starts all children; resolves when every one has become ready, or is held up (`notNow`: it starts when
   * that is over), or is beside the others and has ended, or when all are stopped because `stop` was called.
   * @throws LccError when one cannot be started (its own message is on stderr) or the time is up; all are
   * stopped then
   */
  async start(): Promise<void> {
    if (this.#stopped !== undefined) return this.#stopped;
    const { clock, startTimeoutMs } = this.#options;
    const endMs = clock.monotonicMs() + startTimeoutMs;
    this.#alive = setInterval(() => undefined, LONGEST_TIMER_MS);
    for (const child of this.#children) if (!child.isOfOwner) child.start();
    for (;;) {
      if (this.#stopped !== undefined) return this.#stopped;
      const late = this.#served.find(
        child => child.state !== 'ready' && child.heldUp === undefined && !child.isMissed,
      );
      if (late === undefined) {
        this.#isUp = true;
        return;
      }
      const broken =
        this.#children.find(child => !child.isBeside && PERMANENT.includes(child.lastEnd?.status)) ??
        (await this.#shutOut());
      if (this.#stopped !== undefined) continue;
      if (broken !== undefined || clock.monotonicMs() > endMs) {
        await this.stop();
        throw broken === undefined ? notReady(late, startTimeoutMs) : cannotStart(broken);
      }
      await new Promise<void>(resolve => {
        this.#wake = resolve;
        clock.after(LOOK_MS, resolve);
      });
    }
  }

  /**
   * A child that wants what another process has. It is tried again as long as an orphan of an earlier
   * supervisor answers under its name: that one is about to stop. One that answers no longer may have been
   * there when the child tried, so the last try is one that began after nobody had answered.
   */
  async #shutOut(): Promise<Child | undefined> {
    for (const child of this.#children) {
      const { state, restarts, lastEnd } = child;
      if (child.isBeside || state !== 'waiting' || !IN_USE.includes(lastEnd?.status)) continue;
      if (await this.#options.answers(child.name)) this.#unanswered.delete(child);
      else if (restarts > (this.#unanswered.get(child) ?? Infinity)) return child;
      // The child may have been started again meanwhile: that try began before there was no answer.
      else if (!this.#unanswered.has(child)) this.#unanswered.set(child, child.restarts);
    }
    return undefined;
  }

  /** Stops all for a child that no other start will mend; while they start, `start` does. @returns whether
   * one may */
  #childDied(name: string): boolean {
    const child = this.#children.find(each => each.name === name);
    if (child === undefined || !(this.#isUp ? HOPELESS : PERMANENT).includes(child.lastEnd?.status))
      return true;
    if (!this.#isUp || child.isBeside) return false;
    this.#isUp = false;
    void this.stop().then(() => this.#options.failed(cannotStart(child)));
    return false;
  }

  /** Has every child read again what it reads from files. */
  reload(): void {
    if (this.#stopped !== undefined) return;
    for (const child of this.#children) child.reload();
  }

  /** Stops the children in their order, one after the other; those of one name together. Also while they
   * start. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stopAll();
    this.#wake();
    return this.#stopped;
  }

  async #stopAll(): Promise<void> {
    await this.#stopInOrder(this.#children);
    clearInterval(this.#alive);
  }

  async #stopInOrder(children: readonly Child[]): Promise<void> {
    const { clock, stopOrder, stopTimeoutMs } = this.#options;
    const deadlineMs = clock.monotonicMs() + stopTimeoutMs;
    for (let turn = 0; turn <= stopOrder.length; turn++) {
      await Promise.all(
        children.filter(({ name }) => rankOf(name, stopOrder) === turn).map(child => child.stop(deadlineMs)),
      );
    }
  }
}

function notReady(child: Child, timeoutMs: number): LccError {
  const end = child.lastEnd === undefined ? '' : ` (it ${endOf(child)})`;
  return new LccError('peer.unavailable', `${child.name} was not ready within ${timeoutMs / 1000} s${end}`);
}

function cannotStart(child: Child): LccError {
  return new LccError(codeOf(child.lastEnd?.status), `${child.name} ${endOf(child)}`);
}

/** A child that a signal has killed could say nothing. */
function endOf({ lastEnd }: Child): string {
  return lastEnd?.status === undefined ? (lastEnd?.what ?? '') : `${lastEnd.what}; its message is above`;
}

/** The supervisor ends as the child did. */
function codeOf(status: number | undefined): ErrorCode {
  switch (status) {
    case EXIT.usage:
      return 'usage';
    case EXIT.unavailable:
      return 'peer.unavailable';
    case EXIT.tempfail:
      return 'try.later';
    case EXIT.cantcreat:
      return 'output.create';
    case EXIT.noperm:
      return 'auth.refused';
    case undefined:
    default:
      return 'config';
  }
}
