/**
 * How tests wait: for something that has a name, with one bound for all of them. When it passes, the error shows what every
 * daemon of the test said last.
 */
import { setTimeout as pause } from 'node:timers/promises';

/** For one event, on a machine whose processors are somebody else's most of the time. A wait that passes it is a hang. */
export const BOUND_MS = 120_000;
/** Between two looks at what has no event. */
const LOOK_MS = 10;
/** Between two that take long: else they would take the processors from what is waited for. */
const MAX_LOOK_MS = 150;
/** Of the time a look took, until the next one. */
const LOOK_FACTOR = 3;
/** Of each daemon, in an error. */
const LINES_SHOWN = 20;

/** Of processes that were started last, also of those that have ended. */
const LOGS_SHOWN = 40;

const logs: (() => string)[] = [];

/** Has a log shown when a wait fails. */
export function watchLog(log: () => string): void {
  logs.push(log);
  if (logs.length > LOGS_SHOWN) logs.shift();
}

/** The last lines of every daemon: a log may have the lines of several, as that of lccd does. */
export function lastLines(): string {
  const byDaemon = new Map<string, string[]>();
  for (const [n, log] of logs.entries())
    for (const line of log().trimEnd().split('\n')) {
      const name = `${/"daemon":"([^"]+)"/.exec(line)?.[1] ?? 'other lines'} (log ${n + 1})`;
      const lines = byDaemon.get(name);
      if (lines === undefined) byDaemon.set(name, [line]);
      else lines.push(line);
    }
  return [...byDaemon]
    .map(([name, lines]) => [`-- ${name}`, ...lines.slice(-LINES_SHOWN)].join('\n'))
    .join('\n');
}

/** Waits for an event. @param what is named when it does not come @param boundMs differs where the work is known to be large */
export async function within<T>(what: string, event: Promise<T>, boundMs = BOUND_MS): Promise<T> {
  const bound = new AbortController();
  const passed = pause(boundMs, undefined, { signal: bound.signal }).then(() => {
    throw new Error(`${what}: not within ${boundMs / 1000} s\n${lastLines()}`);
  });
  try {
    return await Promise.race([event, passed]);
  } finally {
    bound.abort();
    passed.catch(() => undefined);
  }
}

type Seen<T> = Exclude<T, false | null | undefined | void>;

/** Looks again and again until it sees something. @returns what it saw @throws what `look` throws */
export async function until<T>(
  what: string,
  look: () => T | Promise<T>,
  boundMs = BOUND_MS,
): Promise<Seen<T>> {
  const over = new AbortController();
  const seen = async () => {
    while (!over.signal.aborted) {
      const beganMs = performance.now();
      const found = await look();
      if (found !== undefined && found !== null && found !== false) return found as Seen<T>;
      const tookMs = performance.now() - beganMs;
      await pause(Math.min(Math.max(LOOK_MS, tookMs * LOOK_FACTOR), MAX_LOOK_MS));
    }
    throw new Error(`${what}: not seen`);
  };
  try {
    return await within(what, seen(), boundMs);
  } finally {
    over.abort();
  }
}
