/**
 * The robots that a Bot Manager has in its own process, a thread each (robot-thread.ts). What a robot needs
 * is not loaded here.
 *
 *     starting ──first word──▶ at work ──ends by itself──▶ lost ──delay──▶ starting
 *                  silent, or cut off ──▶ told to end, killed 1 s later ──▲
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
import { Thread, threadFile } from '../lib/thread.js';
import type { NearJoin, NearRobot } from '../wire/near-robot.js';
import type { BotStatus } from './figures.js';
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

/** Resolves when each has said its first word, or has failed to. */
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
    const running = { status: await robot.firstWord };
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
  /** Resolves with its status, as it is whenever that is asked for. */
  readonly firstWord: Promise<() => BotStatus>;
  readonly #services: Services;
  readonly #start: () => void;
  #heard: (status: () => BotStatus) => void = () => undefined;
  #status: BotStatus | undefined;
  #end: NearRobot | undefined;
  #thread: Thread<RobotTold, RobotSaid> | undefined;
  /** Intervals since it said something. */
  #unheard = 0;
  #startedMs = 0;
  readonly #restartDelay: RestartDelay;
  #isStopping = false;
  #ended: () => void = () => undefined;

  constructor(
    services: Services,
    { script, allowed, instance }: { script: string; allowed: readonly string[]; instance: string },
    join: NearJoin,
  ) {
    this.name = instance === '' ? 'lccbot' : `lccbot-${instance}`;
    this.log = withFields(services.log, { daemon: this.name });
    this.#services = services;
    const { restartMinMs, restartMaxMs } = services.settings.lccd;
    this.#restartDelay = new RestartDelay(restartMinMs, restartMaxMs);
    this.firstWord = new Promise(resolve => (this.#heard = resolve));
    const data: RobotStart = { settings: services.settings, allowed };
    this.#start = () => {
      const thread = new Thread<RobotTold, RobotSaid>({
        script,
        data,
        talks: true,
        answered: said => this.#hear(said),
        lost: reason => this.#lost(reason),
      });
      this.#thread = thread;
      this.#unheard = 0;
      this.#startedMs = services.clock.monotonicMs();
      this.#end = join(
        `thread ${this.name}`,
        said => thread.tell(said),
        () => this.#cut(thread),
      );
    };
    this.#start();
    this.#watch();
  }

  /** Resolves when the thread is gone, at the latest when it has been killed. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    const thread = this.#thread;
    if (thread === undefined || thread.isOver) return;
    await new Promise<void>(resolve => {
      this.#ended = resolve;
      this.#cut(thread);
    });
  }

  #hear({ status, said, log }: RobotSaid): void {
    this.#unheard = 0;
    if (log !== undefined) {
      const [level, event, fields] = log;
      this.log[level](event, fields);
    }
    if (status !== undefined) {
      this.#status = status;
      this.#heard(() => this.#status ?? status);
    }
    if (said !== undefined) this.#end?.hear(said);
  }

  #watch(): void {
    const { clock, settings } = this.#services;
    const { pingIntervalMs } = settings.wire;
    clock.after(pingIntervalMs, () => {
      if (this.#isStopping) return;
      if (this.#unheard++ === PATIENCE)
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
    this.#end?.lost(new LccError('peer.unavailable', `${this.name} has ended: ${messageOf(reason)}`));
    if (this.#isStopping) return this.#ended();
    const { clock, log } = this.#services;
    const delayMs = this.#restartDelay.afterDeath(clock.monotonicMs() - this.#startedMs);
    log.error('robot ended, starting it again', {
      robot: this.name,
      reason: messageOf(reason),
      delay_ms: delayMs,
    });
    clock.after(delayMs, () => void (this.#isStopping || this.#start()));
  }
}
