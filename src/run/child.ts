/**
 * One supervised process.
 *
 *     starting ──answers──▶ ready ──dies──▶ waiting ──delay──▶ starting
 *         ╰───────dies────────────────────────▲
 *     waiting, and starting makes no sense for now (a full disk) ──asked again and again──▶ starting
 *     any ──dies, and no other start would mend it──▶ stopped ──reload(), if beside the others──▶ starting
 *     any ──stop()──▶ stopping ──exits, or is killed at the deadline──▶ stopped
 *     any ──kill()──▶ stopping ──exits──▶ stopped ──start(), when this machine owns the home──▶ starting
 *
 * Children have a pipe whose other end we hold (`LCC_PARENT_FD`): when we die, however, they see its end and
 * stop. They are process group leaders, so that Ctrl-C reaches us alone and they are stopped in order.
 */
import { execa } from 'execa';
import { RestartDelay } from '../lib/backoff.js';
import type { Clock } from '../lib/clock.js';
import { messageOf } from '../lib/errors.js';
import type { Log } from '../lib/log.js';

export interface ChildSpec {
  /** Name of its control socket and in logs: `lccd-qm`, `lccbot-2`. */
  name: string;
  file: string;
  args: readonly string[];
  env: NodeJS.ProcessEnv;
  /** The others do their work without it: where no start helps it stays down, and they do not. */
  isBeside?: boolean;
  /** In a kept home: only while this machine owns it. */
  isOfOwner?: boolean;
}

interface ChildContext {
  clock: Clock;
  log: Log;
  restartMinMs: number;
  restartMaxMs: number;
  /** True if the process with this id is up and answering. */
  isReady: (pid: number) => Promise<boolean>;
  /**
   * Why a child that has ended with this status is not started again for now; it is asked again and again.
   */
  notNow?: ((status: number | undefined) => string | undefined) | undefined;
  /** The process has died: `lastEnd` says how. @returns whether to start it again */
  died: () => boolean;
}

/** The parts of a running process that are needed. */
interface Running {
  readonly pid?: number | undefined;
  kill(signal: NodeJS.Signals): boolean;
}

type ChildState = 'starting' | 'ready' | 'waiting' | 'stopping' | 'stopped';

export interface ChildStatus {
  name: string;
  state: ChildState;
  pid: number | null;
  /** Starts after the first. */
  restarts: number;
  /** When it was started last; Unix time, seconds. */
  started_at_s: number;
  /** How it ended last: `was killed by SIGKILL`, `exited with 74`; null when it never did. */
  last_end: string | null;
  /** Why it is not started again for now. */
  held_up: string | null;
}

/** How often a starting process is asked whether it is ready. */
const PROBE_MS = 20;
/** How often it is said again that a child is held up. */
const REMIND_MS = 10 * 60_000;
const PARENT_FD = 3;

export class Child {
  readonly #spec: ChildSpec;
  readonly #context: ChildContext;
  #state: ChildState = 'starting';
  #process: Running | undefined;
  #isToReload = false;
  /** True if the child ended by itself, and no other start would have mended that. */
  #isDown = false;
  #restarts = 0;
  #startedAtMs = 0;
  readonly #restartDelay: RestartDelay;
  #cancelRestart: (() => void) | undefined;
  #remindedMs = 0;
  readonly #onceStopped: (() => void)[] = [];
  /** Why it is not started again for now. */
  heldUp: string | undefined;
  /** Exit status of its last death, for callers that wait for it to become ready. */
  lastEnd: { status: number | undefined; what: string } | undefined;

  constructor(spec: ChildSpec, context: ChildContext) {
    this.#spec = spec;
    this.#context = context;
    this.#restartDelay = new RestartDelay(context.restartMinMs, context.restartMaxMs);
    if (this.isOfOwner) this.#state = 'stopped';
  }

  get name(): string {
    return this.#spec.name;
  }

  get isBeside(): boolean {
    return this.#spec.isBeside === true;
  }

  get isOfOwner(): boolean {
    return this.#spec.isOfOwner === true;
  }

  /** True for a child beside the others that is down, for now or for good. */
  get isMissed(): boolean {
    return this.isBeside && this.#state !== 'ready' && this.lastEnd !== undefined;
  }

  get state(): ChildState {
    return this.#state;
  }

  /** Starts after the first. */
  get restarts(): number {
    return this.#restarts;
  }

  status(): ChildStatus {
    return {
      name: this.#spec.name,
      state: this.#state,
      pid: this.#process?.pid ?? null,
      restarts: this.#restarts,
      started_at_s: Math.floor(this.#startedAtMs / 1000),
      last_end: this.lastEnd?.what ?? null,
      held_up: this.heldUp ?? null,
    };
  }

  start(): void {
    const { file, args, env } = this.#spec;
    const { clock } = this.#context;
    const startedAtMs = clock.monotonicMs();
    this.#startedAtMs = clock.nowMs();
    this.#state = 'starting';
    this.#isToReload = this.#isDown = false;
    const child = execa(file, args, {
      env: { ...env, LCC_PARENT_FD: String(PARENT_FD) },
      extendEnv: false,
      stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
      buffer: false,
      reject: false,
      detached: true,
      cleanup: false,
    });
    this.#process = child;
    this.#probe(child);
    void child.then(result => {
      const what = result.signal
        ? `was killed by ${result.signal}`
        : result.exitCode === undefined
          ? messageOf(result.originalMessage ?? 'not started')
          : `exited with ${result.exitCode}`;
      this.lastEnd = { status: result.exitCode, what };
      this.#ended(what, clock.monotonicMs() - startedAtMs);
    });
  }

  /** Passes SIGHUP on; to one that is only starting, which may have read its files and listens to no signal
   * yet, when it is ready. One that stayed down by itself is started: what it lacked may be there now. */
  reload(): void {
    if (this.#state === 'ready') this.#process?.kill('SIGHUP');
    else if (this.#state === 'starting') this.#isToReload = true;
    else if (this.#isDown && this.isBeside) this.#again();
  }

  /** Asks it to stop and waits; kills it when `deadlineMs` (monotonic) has passed. */
  async stop(deadlineMs: number): Promise<void> {
    const { clock, log } = this.#context;
    const cancelKill = clock.after(Math.max(0, deadlineMs - clock.monotonicMs()), () => {
      log.warn('child killed: did not stop in time', { child: this.name });
      this.#process?.kill('SIGKILL');
    });
    await this.#end('SIGTERM');
    cancelKill();
  }

  /** Kills it, and waits. */
  kill(): Promise<void> {
    return this.#end('SIGKILL');
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    this.#cancelRestart?.();
    this.#isDown = false;
    if (this.#process === undefined || this.#state === 'stopped') {
      this.#state = 'stopped';
      return;
    }
    this.#state = 'stopping';
    this.#process.kill(signal);
    await new Promise<void>(resolve => this.#onceStopped.push(resolve));
  }

  #probe(child: Running): void {
    const { clock, log, isReady } = this.#context;
    const ask = async () => {
      if (this.#process !== child || this.#state !== 'starting' || child.pid === undefined) return;
      const ready = await isReady(child.pid);
      if (this.#process !== child || this.#state !== 'starting') return;
      if (ready) {
        this.#state = 'ready';
        log.debug('child is ready', { child: this.name, process_id: child.pid });
        if (this.#isToReload) child.kill('SIGHUP');
      } else {
        clock.after(PROBE_MS, () => void ask());
      }
    };
    void ask();
  }

  #ended(what: string, livedMs: number): void {
    const { clock, log } = this.#context;
    this.#process = undefined;
    if (this.#state === 'stopping') {
      this.#state = 'stopped';
      for (const stopped of this.#onceStopped.splice(0)) stopped();
      return;
    }
    if (!this.#context.died()) {
      this.#state = 'stopped';
      this.#isDown = true;
      const fields = { child: this.name, what };
      if (this.isBeside) log.error('child stays down: mend what it says, then reload lccd', fields);
      else log.warn('child died, not restarted: a restart would not help', fields);
      return;
    }
    const delayMs = this.#restartDelay.afterDeath(livedMs);
    this.#state = 'waiting';
    log.warn('child died, restarting', { child: this.name, what, delay_ms: delayMs });
    this.#cancelRestart = clock.after(delayMs, () => this.#again());
  }

  /** Starts it again, as soon as that makes sense. */
  #again(): void {
    const { clock, log, restartMaxMs, notNow } = this.#context;
    const reason = notNow?.(this.lastEnd?.status);
    if (reason !== undefined) {
      if (this.heldUp === undefined || clock.monotonicMs() - this.#remindedMs >= REMIND_MS) {
        log.error('child restart postponed', { child: this.name, reason });
        this.#remindedMs = clock.monotonicMs();
      }
      this.heldUp = reason;
      this.#cancelRestart = clock.after(restartMaxMs, () => this.#again());
      return;
    }
    this.heldUp = undefined;
    this.#restarts++;
    this.start();
  }
}
