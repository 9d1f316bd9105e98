/**
 * The control socket of a daemon, `$LCC_HOME/run/NAME.ctl.sock`: a line in (`status`, or a control with
 * operands), one line of JSON out: `{"ok":…}` or `{"error":"…","code":"…"}` (an ErrorCode). Local and
 * trusted: the directory keeps others away.
 */
import type { Clock } from '../lib/clock.js';
import { Conversation } from '../lib/conversation.js';
import { LccError, messageOf } from '../lib/errors.js';
import { Lines } from '../lib/lines.js';
import type { Bound, Connection, Control } from './types.js';

const MAX_LINE_LENGTH = 4096;
/** Answers that may wait for the peer to read them. */
const MAX_WAITING_BYTES = 1024 * 1024;
const IDLE_TIMEOUT_MS = 60_000;

/** Limit of connections; a peer that is refused gets the answer of a control that failed. */
export const CONTROL_PLACES: Bound = {
  key: 100,
  whose: 'controls',
  say: ({ message, code }) => `${JSON.stringify({ error: message, code })}\n`,
};

/**
 * Serves one connection of the control socket: a line a turn of the event loop. Never rejects but for a bug.
 */
export async function serveControl(
  { socket, peer }: Connection,
  controls: Record<string, Control>,
  clock: Clock,
): Promise<void> {
  const talk = new Conversation(socket, peer, clock);
  const lines = new Lines(
    MAX_LINE_LENGTH,
    () => new LccError('peer.protocol', `a line of more than ${MAX_LINE_LENGTH} characters`),
  );
  const awaitMore = () =>
    talk.limit(IDLE_TIMEOUT_MS, () => new LccError('peer.unavailable', `${peer}: neither sends nor reads`));
  try {
    awaitMore();
    for (let chunk; (chunk = await talk.next()) !== undefined;)
      for (const line of lines.read(chunk)) {
        talk.unlimited();
        talk.say(`${JSON.stringify(await answer(line.trim(), controls))}\n`);
        awaitMore();
        await talk.said(MAX_WAITING_BYTES);
        await talk.turn();
      }
    await talk.finish();
  } catch (error) {
    if (!(error instanceof LccError)) throw error;
    talk.destroy();
  }
}

async function answer(
  line: string,
  controls: Record<string, Control>,
): Promise<{ ok: unknown } | { error: string; code: string }> {
  const [word = '', ...operands] = line.split(/\s+/);
  const control = Object.hasOwn(controls, word) ? controls[word] : undefined;
  if (control === undefined) {
    const known = Object.keys(controls).join(', ');
    return { error: `unknown control "${word}"; there are ${known}`, code: 'peer.protocol' };
  }
  try {
    return { ok: (await control(operands)) ?? null };
  } catch (error) {
    return { error: messageOf(error), code: error instanceof LccError ? error.code : 'bug' };
  }
}
