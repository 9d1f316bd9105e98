/**
 * The robots that a Bot Manager has in its own process, a thread each (robot-thread.ts), while they have
 * something to do. What a robot needs is not loaded here.
 *
 *     asleep ──is told something──▶ awake ──ten minutes with nothing to do──▶ asleep
 *                                     │──────────────ends by itself───────────▶ lost ──delay──▶ asleep
 *                                     ╰─silent, or cut off: told to end, killed 1 s later─▲
 *
 * The Bot Manager sees no difference between the first two: the slots of one that is asleep are there, and
 * its counts go on when it is awake again. Asleep it costs nothing, awake 11 MB before its first page.
 *
 * A page that makes a robot fail thus costs what it cost when robots were processes: what that robot was
 * fetching, which goes to others, and its slots for the delay (docs/design/speed.md). Its Bot Manager, its
 * store and robots elsewhere go on. Each robot answers `status` under the name that it would have as a
 * process.
 */
import type { Running, Services } from '../daemon/types.js';
import { RestartDelay } from '../lib/backoff.js';
import { LccError, messageOf } from '../lib/errors.js';
import { withFields, type Log } from '../lib/log.js';
import { transitions, type StateOf } from '../lib/states.js';
import { Thread, threadFile } from '../lib/thread.js';
import type { NearJoin, NearRobot, ToRobot, Turn } from '../wire/near-robot.js';
import { statusAtRest, type BotStatus } from './figures.js';
import type { RobotSaid, RobotStart, RobotTold } from './robot-thread.js';

interface RobotsOptions {
  count: number;
  allowed: readonly string[];
  /** Opens services beside each, its metrics, until it stops. */
  beside: (
    services: Services,
    running: Pick<Running, 'status'>,
    instance: string,
  ) => Promise<{ close(): Promise<void> } | undefined>;
  /** File of the thread; left out: that of a robot. */
  script?: string;
}

/** Intervals of silence (`wire.ping_interval_ms`) after which one is ended. */
const PATIENCE = 3;
const END_MS = 1000;
/** Time with nothing to do after which one sleeps. */
const REST_MS = 600_000;

const toState = transitions('robot', {
  asleep: ['awake', 'stopped'],
  awake: ['asleep', 'lost', 'stopped'],
  lost: ['asleep', 'stopped'],
  stopped: [],
});

type RobotState = StateOf<typeof toState>;

export async function startRobots(
  services: Services,
  { count, allowed, beside, script = threadFile('robot-worker.cjs') }: RobotsOptions,
  join: NearJoin,
): Promise<{ stop(): Promise<void> }> {
  const open: { close(): Promise<void> }[] = [];
  const robots = Array.from({ length: count }, (_, i) => {
    const instance = count === 1 ? '' : String(i + 1);
    return { instance, robot: new RobotThread(services, { script, allowed, instance }, join) };
  });
  for (const { instance, robot } of robots) {
    const running = { status: () => robot.status };
    open.push(await services.answerAs(robot.name, running));
    const opened = await beside({ ...services, log: robot.log }, running, instance);
    if (opened !== undefined) open.push(opened);
  }
  return {
    async stop() {
      await Promise.all([...open.map(each => each.close()), ...robots.map(({ robot }) => robot.stop())]);
    },
  };
}

class RobotThread {
  readonly name: string;
  /** Under its own name. */
  readonly log: Log;
  /** As it said last; of one that sleeps, as it would say. */
  status: BotStatus;
  #state: RobotState = 'lost';
  readonly #services: Services;
  readonly #join: () => NearRobot;
  readonly #start: () => Thread<RobotTold, RobotSaid>;
  #end: NearRobot | undefined;
  /** Only of one that is awake, or was when it was stopped. */
  #thread: Thread<RobotTold, RobotSaid> | undefined;
  /** Intervals since it said something. */
  #unheard = 0;
  #startedMs = 0;
  readonly #restartDelay: RestartDelay;
  #cancelRest: () => void = () => undefined;
  #ended: () => void = () => undefined;

  constructor(
    services: Services,
    { script, allowed, instance }: { script: string; allowed: readonly string[]; instance: string },
    join: NearJoin,
  ) {
    this.name = instance === '' ? 'lccbot' : `lccbot-${instance}`;
    this.log = withFields(services.log, { daemon: this.name });
    this.#services = services;
    const { settings } = services;
    const { restartMinMs, restartMaxMs } = settings.lccd;
    this.#restartDelay = new RestartDelay(restartMinMs, restartMaxMs);
    this.status = statusAtRest(settings.bm.slots);
    this.#join = () =>
      join(
        `thread ${this.name}`,
        said => this.#tell(said),
        () => this.#thread && this.#cut(this.#thread),
      );
    this.#start = () => {
      const data: RobotStart = { settings, allowed, before: this.status };
      const thread: Thread<RobotTold, RobotSaid> = new Thread({
        script,
        data,
        talks: true,
        answered: said => this.#hear(thread, said),
        lost: reason => void (thread === this.#thread && this.#lost(reason)),
      });
      return thread;
    };
    this.#begin();
    this.#watch();
  }

  /** Resolves when the thread is gone, at the latest when it has been killed. */
  async stop(): Promise<void> {
    this.#state = toState(this.#state, 'stopped');
    this.#cancelRest();
    const thread = this.#thread;
    if (thread === undefined) return this.#end?.lost();
    await new Promise<void>(resolve => {
      this.#ended = resolve;
      this.#cut(thread);
    });
  }

  #begin(): void {
    this.#end = this.#join();
    this.#sleep();
  }

  #sleep(): void {
    this.#state = toState(this.#state, 'asleep');
    const { slots } = this.#services.settings.bm;
    this.status = statusAtRest(slots, this.status);
    this.#end?.hear([{ slots }]);
  }

  #tell(said: Turn<ToRobot>): void {
    if (this.#state === 'asleep') this.#wake();
    this.#thread?.tell(said);
    this.#restLater();
  }

  #wake(): void {
    this.#state = toState(this.#state, 'awake');
    this.#thread = this.#start();
    this.#unheard = 0;
    this.#startedMs = this.#services.clock.monotonicMs();
  }

  /** Has its thread end ten minutes from now, unless it is told something or owes an answer. */
  #restLater(): void {
    this.#cancelRest();
    if (this.#state !== 'awake' || this.#end?.isOwed !== false) return;
    this.#cancelRest = this.#services.clock.after(REST_MS, () => {
      const thread = this.#thread;
      this.#thread = undefined;
      this.#sleep();
      if (thread !== undefined) this.#cut(thread);
    });
  }

  #hear(thread: Thread<RobotTold, RobotSaid>, { status, said, log }: RobotSaid): void {
    if (log !== undefined) {
      const [level, event, fields] = log;
      this.log[level](event, fields);
    }
    // One that was told to end says nothing any more that counts.
    if (thread !== this.#thread) return;
    this.#unheard = 0;
    if (status !== undefined) this.status = status;
    if (said === undefined) return;
    this.#end?.hear(said);
    this.#restLater();
  }

  #watch(): void {
    const { clock, settings } = this.#services;
    const { pingIntervalMs } = settings.wire;
    clock.after(pingIntervalMs, () => {
      if (this.#state === 'stopped') return;
      if (this.#state === 'awake' && this.#unheard++ === PATIENCE)
        this.#end?.channel.destroy(
          new LccError(
            'peer.unavailable',
            `${this.name}: silent for ${PATIENCE} intervals of ${pingIntervalMs} ms (wire.ping_interval_ms)`,
          ),
        );
      this.#watch();
    });
  }

  #cut(thread: Thread<RobotTold, RobotSaid>): void {
    thread.tell({ end: true });
    this.#services.clock.after(END_MS, () => thread.kill(new LccError('bug', 'killed, for it did not end')));
  }

  #lost(reason: Error): void {
    this.#thread = undefined;
    this.#cancelRest();
    this.#end?.lost(new LccError('peer.unavailable', `${this.name} has ended: ${messageOf(reason)}`));
    if (this.#state === 'stopped') return this.#ended();
    this.#state = toState(this.#state, 'lost');
    const { clock, log } = this.#services;
    const delayMs = this.#restartDelay.afterDeath(clock.monotonicMs() - this.#startedMs);
    log.error('robot ended, starting it again', {
      robot: this.name,
      reason: messageOf(reason),
      delay_ms: delayMs,
    });
    clock.after(delayMs, () => void (this.#state === 'stopped' || this.#begin()));
  }
}
