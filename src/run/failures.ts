/** Why sites are left alone, and when urls that failed are tried again, as the Queue Manager knows it since its start. */
import { controlSocket, tell } from './ask.js';

/** By provider: the code and the host of the last failure. Empty when the Queue Manager is away. */
export async function failuresNow(runDir: string): Promise<Map<number, string>> {
  try {
    const answer = await tell(controlSocket(runDir, 'lccd-qm'), 'failures');
    const named = Array.isArray(answer) ? (answer as [number, number, string][]) : [];
    return new Map(named.map(([pid, code, host]) => [pid, `${code} at ${host}`]));
  } catch {
    return new Map();
  }
}

/** By provider: when the first of its failed urls is tried again (ms since 1970). Empty when the Queue Manager is away. */
export async function retriesNow(runDir: string): Promise<Map<number, number>> {
  try {
    const answer = await tell(controlSocket(runDir, 'lccd-qm'), 'retrying');
    return new Map(Array.isArray(answer) ? (answer as [number, number][]) : []);
  } catch {
    return new Map();
  }
}
