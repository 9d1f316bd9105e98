/** sd_notify(3): readiness, the watchdog, stopping. Node cannot send datagrams on Unix sockets, so systemd's
 * own systemd-notify(1) does; units need NotifyAccess=all for it (examples/systemd). */
import { spawn } from 'node:child_process';
import type { Log } from '../lib/log.js';

interface Notifier {
  ready(): void;
  stopping(): void;
}

/** Does nothing without `$NOTIFY_SOCKET`. With `$WATCHDOG_USEC` it reports life at half that interval. */
export function createNotifier(env: NodeJS.ProcessEnv, log: Log): Notifier {
  if (!env['NOTIFY_SOCKET']) return { ready() {}, stopping() {} };
  let warned = false;
  const send = (state: string) => {
    const child = spawn('systemd-notify', [`--pid=${process.pid}`, state], { stdio: 'ignore' });
    child.on('error', error => {
      if (!warned) log.warn('cannot notify systemd', { error: error.message });
      warned = true;
    });
  };
  return {
    ready() {
      send('READY=1');
      const watchdogMs = Number(env['WATCHDOG_USEC'] ?? 0) / 1000;
      // A blocked event loop must miss the beat: that is what the watchdog is for.
      if (watchdogMs > 0) setInterval(() => send('WATCHDOG=1'), watchdogMs / 2).unref();
    },
    stopping: () => send('STOPPING=1'),
  };
}
