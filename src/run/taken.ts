/** Addresses of children, tried before any of them is started: who finds one taken would have all that was
 * started stop again. */
import { createServer } from 'node:net';
import type { Clock } from '../lib/clock.js';
import { formatEndpoint, parseEndpoint, type Endpoint } from '../lib/endpoint.js';
import { errnoOf, LccError } from '../lib/errors.js';
import { inUse } from '../lib/port-holder.js';
import type { ChildSpec } from './child.js';

/** Between two tries of an address that an earlier child may be about to leave. */
const AGAIN_MS = 50;
const LISTENS = /^--(?:[a-z-]+-)?listen(?:-[a-z]+)?=(.+)$/;

export interface TakenOptions {
  clock: Clock;
  /** True if a process answers under the name of a child: one of an lccd that died is about to stop. */
  answers: (name: string) => Promise<boolean>;
  /** Longest wait for those. */
  startTimeoutMs: number;
  told: AbortSignal;
}

/** @throws LccError `peer.unavailable` where another process has an address that a child needs now */
export async function refuseTaken(children: readonly ChildSpec[], options: TakenOptions): Promise<void> {
  const { clock, answers, startTimeoutMs, told } = options;
  const endMs = clock.monotonicMs() + startTimeoutMs;
  // Those beside the others are not missed, and come when they can.
  for (const { name, args } of children.filter(
    child => child.isOfOwner !== true && child.isBeside !== true,
  )) {
    for (const endpoint of args.flatMap(portOf)) {
      // The last try is one that began when nobody answered.
      for (let isLast = false; !told.aborted && (await isTaken(endpoint));) {
        if (isLast)
          throw new LccError(
            'peer.unavailable',
            `${name}: ${formatEndpoint(endpoint)}: ${inUse(endpoint.port)}`,
          );
        isLast = clock.monotonicMs() > endMs || !(await answers(name));
        if (!isLast) await new Promise<void>(resolve => clock.after(AGAIN_MS, resolve));
      }
    }
  }
}

type Port = Exclude<Endpoint, { kind: 'unix' }>;

/** The address in an option by which a daemon listens at a port. */
function portOf(option: string): Port[] {
  try {
    const endpoint = parseEndpoint(LISTENS.exec(option)?.[1] ?? '');
    return endpoint.kind === 'unix' ? [] : [endpoint];
  } catch {
    return []; // none, or not one that can be read: its daemon says so
  }
}

/** All else that may be wrong with an address its daemon says. */
function isTaken({ host, port }: Port): Promise<boolean> {
  const server = createServer();
  return new Promise(resolve => {
    server.once('error', error => resolve(errnoOf(error) === 'EADDRINUSE'));
    server.listen({ host, port }, () => server.close(() => resolve(false)));
  });
}
