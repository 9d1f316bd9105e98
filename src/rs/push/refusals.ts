/** Refusals at the doors of pushes, on their way to rs.db: equal ones gathered, so that a sender that is
 * refused in a loop makes no commit each time. */
import type { RsDatabase } from '../../db/rs/database.js';
import { isPassing } from '../../lib/errors.js';
import type { PushDoor } from '../../wire/push.js';
import type { RsGround } from '../ground.js';

const GATHERED_MS = 1000;
/** Kinds of refusals gathered; more are not kept. */
const MOST = 400;

interface Refused {
  pid: number | undefined;
  door: PushDoor;
  url: string;
  reason: string;
  atMs: number;
  n: number;
}

interface PushRefusalsOptions extends Pick<RsGround, 'clock' | 'fail'> {
  db: Pick<RsDatabase, 'push' | 'write'>;
}

export class PushRefusals {
  readonly #options: PushRefusalsOptions;
  #gathered = new Map<string, Refused>();
  #cancel: (() => void) | undefined;

  constructor(options: PushRefusalsOptions) {
    this.#options = options;
  }

  /** @param pid undefined: nobody's @param n urls */
  add(
    pid: number | undefined,
    door: PushDoor,
    { url, reason }: { url: string; reason: string },
    n = 1,
  ): void {
    const { clock } = this.#options;
    const key = `${pid ?? 0} ${door} ${reason}`;
    const before = this.#gathered.get(key);
    if (before === undefined && this.#gathered.size >= MOST) return;
    this.#gathered.set(key, { pid, door, url, reason, atMs: clock.nowMs(), n: (before?.n ?? 0) + n });
    this.#cancel ??= clock.after(GATHERED_MS, () => this.flush());
  }

  /** Writes them now. */
  flush(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    const gathered = this.#gathered;
    this.#gathered = new Map();
    if (gathered.size === 0) return;
    const { db, fail } = this.#options;
    try {
      db.write(() => {
        for (const { pid, door, atMs, n, ...what } of gathered.values())
          db.push.refuse(pid, door, what, atMs, n);
      });
    } catch (error) {
      // Without room for them they are refused all the same.
      if (!isPassing(error)) fail(error);
    }
  }
}
