/** The real daemons as child processes. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { ROOT } from './tree.js';

export interface Daemon {
  child: ChildProcess;
  /** Resolves when it has logged that it is ready; rejects with its log when it ends before. */
  ready: Promise<void>;
  /** Resolves when it has ended: with its status, or its signal. */
  ended: Promise<number | string>;
  /** All it has logged so far. */
  log(): string;
  /** Resolves when a log line contains the text. */
  logged(text: string): Promise<void>;
}

/** Starts `bin/NAME` with its $LCC_HOME. @param via a command that runs the one after it, elsewhere say */
export function startDaemon(
  name: string,
  home: string,
  args: string[],
  env: NodeJS.ProcessEnv = {},
  via: readonly string[] = [],
): Daemon {
  const [file = '', ...rest] = [...via, process.execPath, join(ROOT, 'bin', name), ...args];
  const child = spawn(file, rest, {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, LCC_HOME: home, ...env },
  });
  let log = '';
  const waiting = new Set<() => void>();
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text;
    for (const check of waiting) check();
  });
  const ended = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | string);
  const logged = (text: string) =>
    new Promise<void>((resolve, reject) => {
      const check = () => {
        if (!log.includes(text)) return;
        waiting.delete(check);
        resolve();
      };
      waiting.add(check);
      void ended.then(how => reject(new Error(`${name} ended (${how}) before "${text}":\n${log}`)));
      check();
    });
  const ready = logged('"event":"ready"');
  // A test that waits for its end instead does not care.
  ready.catch(() => undefined);
  return { child, ready, ended, log: () => log, logged };
}

/** The daemons of one test. */
export class Daemons {
  /** As they were started. */
  readonly all: Daemon[] = [];

  readonly start: typeof startDaemon = (...args) => {
    const daemon = startDaemon(...args);
    this.all.push(daemon);
    return daemon;
  };

  /** Kills them and waits until they are gone. */
  async end(): Promise<void> {
    for (const { child } of this.all) child.kill('SIGKILL');
    await Promise.all(this.all.map(({ ended }) => ended));
  }
}

/** What a daemon says of itself on its control socket. */
export async function statusOf(home: string, name: string): Promise<Record<string, unknown>> {
  const socket = connect(join(home, 'run', `${name}.ctl.sock`));
  socket.write('status\n');
  const [answer] = (await once(socket, 'data')) as [Buffer];
  socket.destroy();
  return (JSON.parse(answer.toString()) as { ok: Record<string, unknown> }).ok;
}
