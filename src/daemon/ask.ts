/** Asking daemons what they do, over their control sockets `$LCC_HOME/run/NAME.ctl.sock`. */
import { existsSync, readdirSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { systemClock } from '../lib/clock.js';
import { Conversation } from '../lib/conversation.js';
import { AS_ITS_USER, errnoOf, isErrorCode, LccError, messageOf } from '../lib/errors.js';
import { Lines } from '../lib/lines.js';

/** Status of a daemon: fields that all have, and its own. */
export interface DaemonStatus {
  daemon: string;
  pid: number;
  up_s: number;
  rss_bytes: number;
  /** When the certificate ends that it shows, since 1970; null: it shows none; undefined: it is of another
   * version. */
  tls_until_ms?: number | null;
  /** Nothing is spooled, queued (other than for later) or being done. */
  idle: boolean;
  [name: string]: unknown;
}

/** One daemon with its socket there: its status, or why there is none. */
export type Look = { name: string; status: DaemonStatus } | { name: string; problem: string };

const SUFFIX = '.ctl.sock';
/** How long a daemon is waited for when nothing else is said. */
export const ANSWER_TIMEOUT_MS = 5000;
const MAX_ANSWER_LENGTH = 1024 * 1024;

/** Each daemon has this, though a look has no time left. */
const LEAST_TIMEOUT_MS = 250;

/** Asks daemons one after the other. @param timeoutMs for each @param totalMs for all, but 250 ms for each */
export async function lookAt(
  runDir: string,
  names: readonly string[],
  timeoutMs = ANSWER_TIMEOUT_MS,
  totalMs = Infinity,
): Promise<Look[]> {
  const looks: Look[] = [];
  const endMs = performance.now() + totalMs;
  for (const name of names) {
    const boundMs = Math.min(timeoutMs, Math.max(LEAST_TIMEOUT_MS, Math.round(endMs - performance.now())));
    try {
      looks.push({ name, status: await askStatus(controlSocket(runDir, name), boundMs) });
    } catch (error) {
      looks.push({ name, problem: messageOf(error) });
    }
  }
  return looks;
}

/**
 * The status of one daemon.
 * @throws LccError `peer.unavailable` when none is there, `try.later` when it does not answer,
 *   `peer.protocol` when the answer makes no sense
 */
export async function askStatus(socketPath: string, timeoutMs = ANSWER_TIMEOUT_MS): Promise<DaemonStatus> {
  const status = await tell(socketPath, 'status', timeoutMs);
  if (!isStatus(status))
    throw new LccError(
      'peer.protocol',
      `${socketPath}: a status without a daemon: ${JSON.stringify(status).slice(0, 200)}`,
    );
  return status;
}

/**
 * Says one line to a daemon and gives what it answers.
 * @throws LccError `peer.unavailable` when none is there, `try.later` when it does not answer in time or
 *   ends before it has answered (it may have done as it was told, or may yet), `peer.protocol` when the
 *   answer makes no sense or the daemon does not know the word, else what the daemon says is wrong
 */
export async function tell(
  socketPath: string,
  line: string,
  timeoutMs = ANSWER_TIMEOUT_MS,
): Promise<unknown> {
  const text = await askLine(socketPath, line, timeoutMs);
  let answer: { ok?: unknown; error?: unknown; code?: unknown };
  try {
    answer = Object(JSON.parse(text)) as typeof answer;
  } catch (error) {
    throw new LccError('peer.protocol', `${socketPath}: unexpected answer ${text.slice(0, 200)}`, {
      cause: error,
    });
  }
  if ('ok' in answer) return answer.ok;
  const { error, code } = answer;
  throw new LccError(
    isErrorCode(code) ? code : 'peer.protocol',
    (typeof error === 'string' ? error : text).slice(0, 500),
  );
}

/** Where a daemon listens for controls. */
export function controlSocket(runDir: string, name: string): string {
  return join(runDir, name + SUFFIX);
}

function isStatus(answer: unknown): answer is DaemonStatus {
  return (
    typeof answer === 'object' && answer !== null && 'daemon' in answer && typeof answer.daemon === 'string'
  );
}

export async function askLine(
  socketPath: string,
  question: string,
  timeoutMs = ANSWER_TIMEOUT_MS,
): Promise<string> {
  const answers: string[] = [];
  let isAsked = false;
  const failure = (what: string, cause?: unknown, isLate = isAsked) =>
    new LccError(isLate ? 'try.later' : 'peer.unavailable', `${socketPath}: ${what}`, { cause });
  const lines = new Lines(MAX_ANSWER_LENGTH, () =>
    failure(`an answer of more than ${MAX_ANSWER_LENGTH} characters`),
  );
  const socket = connect(socketPath, () => void (isAsked = true));
  const talk = new Conversation(socket, socketPath, systemClock);
  talk.listen(
    chunk => void answers.push(...lines.read(chunk)),
    error => failure(error === undefined ? 'closed without an answer' : whyNot(error), error),
  );
  talk.limit(timeoutMs, () => failure(`no answer within ${timeoutMs / 1000} s`, undefined, true));
  try {
    await talk.write(`${question}\n`);
    await talk.until(() => answers.length > 0);
    return answers[0] ?? '';
  } finally {
    talk.destroy();
  }
}

function whyNot(error: unknown): string {
  const errno = errnoOf(error);
  if (errno === 'EACCES') return 'permission denied';
  return errno === 'ECONNREFUSED' || errno === 'ENOENT' ? 'not running' : messageOf(error);
}

/**
 * Names of the daemons that have, or left, a control socket.
 * @throws LccError `peer.unavailable` when the folder may not be read, `io`
 */
export function daemonsIn(runDir: string): string[] {
  let files: string[];
  try {
    files = readdirSync(runDir);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return [];
    if (errnoOf(error) === 'EACCES')
      throw new LccError('peer.unavailable', `${runDir}: permission denied; ${AS_ITS_USER}`, {
        cause: error,
      });
    throw new LccError('io', `${runDir}: ${messageOf(error)}`, { cause: error });
  }
  return (
    files
      .filter(file => file.endsWith(SUFFIX))
      // A link to where a daemon would listen that does not run here is none that was left.
      .filter(file => existsSync(join(runDir, file)))
      .map(file => file.slice(0, -SUFFIX.length))
      .sort()
  );
}
