/** One life of the real Queue Manager, from start to crash, in this process: everything but sockets. */
import { OPEN_GATE } from '../../src/daemon/kept.js';
import type { Db } from '../../src/db/sqlite/open.js';
import { QueueStore } from '../../src/db/queue/store.js';
import type { Clock } from '../../src/lib/clock.js';
import { DutyCycle } from '../../src/lib/duty-cycle.js';
import type { Control } from '../../src/daemon/types.js';
import { controlsOf } from '../../src/qm/controls.js';
import { Deletions } from '../../src/qm/deletions.js';
import { MachineErrands } from '../../src/qm/machine-errands.js';
import { Dispatcher } from '../../src/qm/dispatch.js';
import { Intake } from '../../src/qm/intake.js';
import { housekeeping } from '../../src/qm/housekeeping.js';
import { retryRule } from '../../src/qm/retries.js';
import { decidedRemovals } from '../../src/qm/housekeeping/decided-removals.js';
import { silentLog } from '../../src/lib/log.js';
import type { ManualClock } from '../support/manual-clock.js';
import type { Setting } from './history.js';

/** Thrown at a step to end a life. */
export class Crash extends Error {}

export class Life {
  readonly store: QueueStore;
  readonly intake: Intake;
  readonly dispatcher: Dispatcher;
  readonly errands: MachineErrands;
  readonly deletions: Deletions;
  readonly controls: Record<string, Control>;
  readonly housekeeping: ReturnType<typeof housekeeping>;
  /** It died where nobody could see it. */
  crashed = false;
  readonly #hasFuse: boolean;
  #over = false;

  constructor(db: Db, clock: ManualClock, rules: Setting['rules']) {
    const own: Clock = {
      nowMs: () => clock.nowMs(),
      monotonicMs: () => clock.monotonicMs(),
      after: (delayMs, action) => clock.after(delayMs, () => void (this.#over || action())),
    };
    const { errorsKept, retries, retryDelayMs, backoffMinMs, backoffMaxMs, window, untouchedSets, fuse } =
      rules;
    this.#hasFuse = fuse.percent < 100;
    const nowS = () => Math.floor(clock.nowMs() / 1000);
    const failed = (error: unknown) => {
      if (!(error instanceof Crash)) throw error;
      this.crashed = true;
      return false;
    };
    this.store = new QueueStore(db, { errorsKept, retries: retryRule(retries), nowS });
    const duty = new DutyCycle<number>(own);
    this.dispatcher = new Dispatcher({
      duty,
      store: this.store,
      clock: own,
      log: silentLog,
      window,
      untouchedSets,
      // More than a history has: what it may hold up is not in the model.
      sleepingSets: 20_000,
      slots: 24,
      bandwidthBytesPerS: 0,
      maxContentBytes: Infinity,
      paceMs: 0,
      accept: ['text/*'],
      userAgent: 'lccbot/0.1',
      lanes: {
        overbookPercent: rules.overbookPercent,
        turn: window * 4,
        sharedWindow: 0,
        // Nobody grows older than his priority.
        ageingMs: 1e12,
        perHost: Infinity,
        perGroup: 2,
      },
      backoff: { minMs: backoffMinMs, maxMs: backoffMaxMs },
      retryDelayMs,
      // No jitter: waits are exactly as long as the rule says.
      random: () => 1,
      failed,
      committed: () => this.deletions.pump(),
      // A turn as any other, in the hand of the test.
      atReturn: action => void setImmediate(action),
    });
    this.errands = new MachineErrands(this.dispatcher.nextId);
    this.deletions = new Deletions(this.store.freed, this.errands, fid => this.dispatcher.deleted(fid));
    const onCommit = () => this.deletions.pump();
    this.intake = new Intake({
      duty,
      isFetching: () => false,
      pagesWritten: () => 0,
      store: this.store,
      clock: own,
      log: silentLog,
      fuse,
      sliceUrls: rules.sliceUrls,
      fullSetPeriodMs: 30 * 86_400_000,
      onSet: set => this.dispatcher.addSet(set),
      onCommit: (pid, haveChanged) => {
        onCommit();
        this.dispatcher.resubmitted(pid, haveChanged);
      },
    });
    const removals = { store: this.store, clock: own, log: silentLog, sliceUrls: rules.sliceUrls, onCommit };
    this.housekeeping = housekeeping(own, [decidedRemovals(removals)], failed);
    this.controls = controlsOf(this.store, this.dispatcher, silentLog, clock, OPEN_GATE);
  }

  start(): void {
    this.dispatcher.start();
    // Without a fuse it would only look, twice a second.
    if (this.#hasFuse) this.housekeeping.start();
  }

  /** The process is gone: no timer of it fires any more. */
  end(): void {
    this.#over = true;
  }
}

/** Turns of the event loop, in the hand of the test: what a process that died had planned is never run. */
export class Turns {
  #planned: (() => void)[] = [];
  readonly #real = globalThis.setImmediate;

  install(): void {
    const plan = (action: () => void) => void this.#planned.push(action);
    globalThis.setImmediate = plan as unknown as typeof setImmediate;
  }

  restore(): void {
    globalThis.setImmediate = this.#real;
  }

  /** Runs what is planned, and what that plans, `most` turns; promises are settled before each. */
  async run(most: number): Promise<void> {
    for (let turn = 0; turn < most; turn++) {
      await new Promise<void>(resolve => void this.#real(resolve));
      const next = this.#planned.shift();
      if (next === undefined) return;
      next();
    }
    await new Promise<void>(resolve => void this.#real(resolve));
  }

  forget(): void {
    this.#planned = [];
  }
}
