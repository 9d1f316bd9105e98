/** Reports of daemons on providers that are in no table. All of it is empty when the daemons are away. */
import { controlSocket, tell } from '../../daemon/ask.js';
import { codeText } from '../../wire/codes.js';
import type { Told, Wait } from './queue.js';

/** Codes of fetches that are no status. */
const LEAST_OWN = 600;

/** All of it, by provider. */
export async function toldNow(runDir: string): Promise<Map<number, Told>> {
  const told = new Map<number, Told>();
  const add = (pid: number, more: Told) => void told.set(pid, { ...told.get(pid), ...more });
  for (const [pid, fetching] of await fetchingNow(runDir)) add(pid, { fetching });
  for (const [pid, failure] of await failuresNow(runDir)) add(pid, { failure });
  for (const [pid, retryAtMs] of await retriesNow(runDir)) add(pid, { retryAtMs });
  for (const [pid, wait] of await waitingNow(runDir)) add(pid, { wait });
  return told;
}

/** Urls on their way by provider. */
async function fetchingNow(runDir: string): Promise<Map<number, number>> {
  return new Map(await listed<[number, number]>(runDir, 'fetching'));
}

/** Why sites are left alone, by provider: the code and the host of the last failure since it started. */
export async function failuresNow(runDir: string): Promise<Map<number, string>> {
  const named = await listed<[number, number, string]>(runDir, 'failures');
  return new Map(named.map(([pid, code, host]) => [pid, `${code}${ownText(code)} at ${host}`]));
}

/** A status of HTTP says enough by itself. */
function ownText(code: number): string {
  return code < LEAST_OWN ? '' : ` ${codeText(code)}`;
}

/** Waits of providers that could be fetched from, and their ends (ms since 1970). */
export async function waitingNow(runDir: string): Promise<Map<number, Wait>> {
  const named = await listed<[number, Wait['state'], number | null]>(runDir, 'waiting');
  return new Map(
    named.map(([pid, state, untilMs]) => [
      pid,
      { state, ...(untilMs === null ? {} : { until_ms: untilMs }) },
    ]),
  );
}

/** By provider: when the first of its failed urls is tried again (ms since 1970). */
export async function retriesNow(runDir: string): Promise<Map<number, number>> {
  return new Map(await listed<[number, number]>(runDir, 'retrying'));
}

async function listed<T>(runDir: string, word: string): Promise<T[]> {
  try {
    const answer = await tell(controlSocket(runDir, 'lccd-qm'), word);
    return Array.isArray(answer) ? (answer as T[]) : [];
  } catch {
    return [];
  }
}
