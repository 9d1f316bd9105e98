/** The real daemons as child processes. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import { ROOT } from './tree.js';
import { watchLog, within } from './until.js';

/** Of a log; a test that runs for hours does not keep all of it. */
const LOG_KEPT = 4_000_000;

export class Daemon {
  readonly name: string;
  readonly child: ChildProcess;
  /** Resolves when it has logged that it is ready; rejects with its log when it ends before. */
  readonly ready: Promise<void>;
  /** Resolves when it has ended and all that it logged is in `log`: with its status, or its signal. */
  readonly ended: Promise<number | string>;
  #log = '';
  readonly #waiting = new Set<() => void>();

  constructor(name: string, child: ChildProcess) {
    this.name = name;
    this.child = child;
    watchLog(() => this.#log);
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#log = (this.#log + text).slice(-LOG_KEPT);
      for (const check of this.#waiting) check();
    });
    this.ended = once(child, 'close').then(([code, signal]) => (code ?? signal) as number | string);
    // Its children log to the same place.
    this.ready = this.logged(name === 'lccd' ? '"daemon":"lccd","event":"ready"' : '"event":"ready"');
    // A test that waits for its end instead does not care.
    this.ready.catch(() => undefined);
  }

  /** All it has logged so far. */
  get log(): string {
    return this.#log;
  }

  /** Where it listens on the loopback. */
  get port(): number {
    return Number(/"endpoint":"127\.0\.0\.1:(\d+)"/.exec(this.#log)?.[1]);
  }

  /** Resolves when `text` has been logged, `times` times. @throws when it ends without, or the bound of waits passes */
  logged(text: string, times = 1): Promise<void> {
    const event = new Promise<void>((resolve, reject) => {
      const check = () => {
        if (this.#log.split(text).length <= times) return;
        this.#waiting.delete(check);
        resolve();
      };
      this.#waiting.add(check);
      void this.ended.then(how =>
        reject(new Error(`${this.name} ended (${how}) before "${text}":\n${this.#log}`)),
      );
      check();
    });
    return within(`${this.name} logs ${text}`, event);
  }

  /** Resolves when it logs anything more, or ends. */
  async says(): Promise<void> {
    const more = new Promise<void>(resolve => {
      const check = () => {
        this.#waiting.delete(check);
        resolve();
      };
      this.#waiting.add(check);
    });
    await within(`${this.name} logs more`, Promise.race([this.ended, more]));
  }

  /** Ends it, unless it has ended. @returns its status, or its signal */
  stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | string> {
    this.child.kill(signal);
    return within(`${this.name} ends`, this.ended);
  }
}

/** Starts `bin/NAME` with its $LCC_HOME. @param via a command that runs the one after it, elsewhere say @param tree of the program */
export function startDaemon(
  name: string,
  home: string,
  args: readonly string[] = [],
  env: NodeJS.ProcessEnv = {},
  via: readonly string[] = [],
  tree = ROOT,
): Daemon {
  const [file = '', ...rest] = [...via, process.execPath, join(tree, 'bin', name), ...args];
  const child = spawn(file, rest, {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, LCC_HOME: home, LCC_CONFIG: '', ...env },
  });
  return new Daemon(name, child);
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
    await Promise.all(this.all.map(daemon => daemon.stop('SIGKILL')));
  }
}

/** Fields of a status that are no figures of one kind. */
export const OF_EVERY_DAEMON: readonly string[] = [
  'daemon',
  'pid',
  'up_s',
  'rss_bytes',
  'tls_until_ms',
  'idle',
];

/** What a daemon answers to `status`, or another line, on its control socket. */
export async function statusOf(
  home: string,
  name: string,
  line = 'status',
): Promise<Record<string, unknown>> {
  const socket = connect(join(home, 'run', `${name}.ctl.sock`));
  const answered = (async () => {
    let text = '';
    socket.end(`${line}\n`);
    for await (const data of socket) {
      text += String(data);
      if (text.includes('\n')) return text;
    }
    throw new Error(`the control socket of ${name} closed without an answer`);
  })();
  const answer = await within(`${name} answers "${line}"`, answered);
  return (JSON.parse(answer) as { ok: Record<string, unknown> }).ok;
}
