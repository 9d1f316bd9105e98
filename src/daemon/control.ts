/**
 * The control socket of a daemon, `$LCC_HOME/run/NAME.ctl.sock`: a line in (`status`, or a control with operands), one
 * line of JSON out: `{"ok":…}` or `{"error":"…","code":"…"}` (an ErrorCode). Local and trusted: the directory keeps others
 * away.
 */
import type { Socket } from 'node:net';
import { LccError, messageOf } from '../lib/errors.js';
import type { Bound, Control } from './types.js';

const MAX_LINE_BYTES = 4096;
/** Answers that may wait for the peer to read them. */
const MAX_WAITING_BYTES = 1024 * 1024;
const IDLE_TIMEOUT_MS = 60_000;

/** Limit of connections; a peer that is refused gets the answer of a control that failed. */
export const CONTROL_PLACES: Bound = {
  key: 'wire.max_controls',
  whose: 'controls',
  say: ({ message, code }) => `${JSON.stringify({ error: message, code })}\n`,
};

/** Serves one connection of the control socket. */
export function serveControl(socket: Socket, controls: Record<string, Control>): void {
  let pending = '';
  let isBusy = false;
  /** One line a turn of the event loop, and the next when the answers have been read. */
  const next = () => {
    const end = pending.indexOf('\n');
    isBusy = end >= 0 && !socket.destroyed;
    if (end > MAX_LINE_BYTES || (end < 0 && pending.length > MAX_LINE_BYTES)) return void socket.destroy();
    if (!isBusy) return void socket.resume();
    const line = pending.slice(0, end).trim();
    pending = pending.slice(end + 1);
    const text = `${JSON.stringify(answer(line, controls))}\n`;
    if (socket.write(text) || socket.writableLength < MAX_WAITING_BYTES) setImmediate(next);
    else socket.once('drain', next);
  };
  socket.setEncoding('utf8');
  socket.setTimeout(IDLE_TIMEOUT_MS, () => void socket.destroy());
  socket.on('data', (text: string) => {
    pending += text;
    socket.pause();
    if (!isBusy) next();
  });
}

function answer(
  line: string,
  controls: Record<string, Control>,
): { ok: unknown } | { error: string; code: string } {
  const [word = '', ...operands] = line.split(/\s+/);
  const control = Object.hasOwn(controls, word) ? controls[word] : undefined;
  if (control === undefined) {
    const known = Object.keys(controls).join(', ');
    return { error: `unknown control "${word}"; there are ${known}`, code: 'peer.protocol' };
  }
  try {
    return { ok: control(operands) ?? null };
  } catch (error) {
    return { error: messageOf(error), code: error instanceof LccError ? error.code : 'bug' };
  }
}
