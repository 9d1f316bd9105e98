/** What the Queue Manager says of its providers that no table does. All of it is empty when the Queue Manager is away. */
import { controlSocket, tell } from './ask.js';

/** Urls on their way by provider. */
export async function fetchingNow(runDir: string): Promise<Map<number, number>> {
  return new Map(await listed<[number, number]>(runDir, 'fetching'));
}

/** Why sites are left alone, by provider: the code and the host of the last failure since it started. */
export async function failuresNow(runDir: string): Promise<Map<number, string>> {
  const named = await listed<[number, number, string]>(runDir, 'failures');
  return new Map(named.map(([pid, code, host]) => [pid, `${code} at ${host}`]));
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
