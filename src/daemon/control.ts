/**
 * The control socket of a daemon, `$LCC_HOME/run/NAME.ctl.sock`: a line in (`status`, or a control with operands), one
 * line of JSON out: `{"ok":…}` or `{"error":"…","code":"…"}` (an ErrorCode). Local and trusted: the directory keeps others
 * away.
 */
import type { Socket } from 'node:net';
import { LccError, messageOf } from '../lib/errors.js';
import type { Bound, Control } from './types.js';

const MAX_LINE_BYTES = 4096;
const IDLE_TIMEOUT_MS = 60_000;

/** How many connections there may be; who is refused is told as one whose control fails. */
export const CONTROL_PLACES: Bound = {
  key: 'wire.max_controls',
  whose: 'controls',
  say: ({ message, code }) => `${JSON.stringify({ error: message, code })}\n`,
};

/** Serves one connection of the control socket. */
export function serveControl(socket: Socket, controls: Record<string, Control>): void {
  let pending = '';
  socket.setEncoding('utf8');
  socket.setTimeout(IDLE_TIMEOUT_MS, () => void socket.destroy());
  socket.on('data', (text: string) => {
    pending += text;
    for (let end = pending.indexOf('\n'); end >= 0; end = pending.indexOf('\n')) {
      const line = pending.slice(0, end).trim();
      pending = pending.slice(end + 1);
      socket.write(`${JSON.stringify(answer(line, controls))}\n`);
    }
    if (pending.length > MAX_LINE_BYTES) socket.destroy();
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
