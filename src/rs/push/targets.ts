/** Asks the Queue Manager which providers accept pushes, by host or by number, and remembers the answers for
 * a while. */
import type { Clock } from '../../lib/clock.js';
import { setNewest } from '../../lib/newest.js';
import type { Pushable, PushDoor } from '../../wire/push.js';
import type { RsQuestion } from '../../wire/qm-rs.js';
import { strictRootCheck } from '../../wire/roots.js';
import type { RsGround } from '../ground.js';

/** An answer is asked for again after this time … */
const GOOD_MS = 2000;
/** … and believed for this long while the Queue Manager does not answer. */
const BELIEVED_MS = 600_000;
/** Answers that are remembered. */
const MOST = 10_000;

export interface PushTarget extends Omit<Pushable, 'doors'> {
  doors: ReadonlySet<PushDoor>;
  /** True if a url lies below its roots. */
  isInside: (url: string) => boolean;
}

interface Known {
  atMs: number;
  targets: readonly PushTarget[];
}

interface PushTargetsOptions extends Pick<RsGround, 'ask'> {
  clock: Pick<Clock, 'monotonicMs'>;
}

export class PushTargets {
  readonly #options: PushTargetsOptions;
  readonly #known = new Map<string, Known>();
  readonly #asked = new Map<string, Promise<readonly PushTarget[] | undefined>>();

  constructor(options: PushTargetsOptions) {
    this.#options = options;
  }

  /**
   * Providers with a root at a host, each with its roots there.
   * @param host a name or an address as a URL has it, without a port
   * @returns undefined: the Queue Manager does not answer
   */
  around(host: string): Promise<readonly PushTarget[] | undefined> {
    return this.#look(`host ${host}`, { op: 'push', pid: 0, host });
  }

  /** One provider; null: it is not there, or disabled. Undefined: the Queue Manager does not answer. */
  async of(pid: number): Promise<PushTarget | null | undefined> {
    const targets = await this.#look(`pid ${pid}`, { op: 'push', pid, host: '' });
    return targets === undefined ? undefined : (targets[0] ?? null);
  }

  async #look(key: string, question: RsQuestion): Promise<readonly PushTarget[] | undefined> {
    const { clock } = this.#options;
    const known = this.#known.get(key);
    const ageMs = clock.monotonicMs() - (known?.atMs ?? -Infinity);
    if (known !== undefined && ageMs < GOOD_MS) return known.targets;
    let asked = this.#asked.get(key);
    if (asked === undefined) {
      asked = this.#ask(key, question).finally(() => void this.#asked.delete(key));
      this.#asked.set(key, asked);
    }
    return (await asked) ?? (ageMs < BELIEVED_MS ? known?.targets : undefined);
  }

  async #ask(key: string, question: RsQuestion): Promise<readonly PushTarget[] | undefined> {
    const told = await this.#options.ask(question);
    const rows = told?.['targets'];
    if (!Array.isArray(rows)) return undefined;
    const targets = (rows as Pushable[]).map(row => ({
      ...row,
      doors: new Set(row.doors),
      isInside: strictRootCheck(row.roots),
    }));
    setNewest(this.#known, key, { atMs: this.#options.clock.monotonicMs(), targets }, MOST);
    return targets;
  }
}
