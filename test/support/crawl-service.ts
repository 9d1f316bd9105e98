/** The service that crawls, as lcclinks(1) has it: `lccq --follow --stay … -- lcclinks --deliver --stay`. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Lcc } from './lcc.js';
import { watchLog } from './until.js';

export class CrawlService {
  readonly #child: ChildProcess;
  /** Settles when it has ended, by itself or not. */
  readonly ended: Promise<unknown>;
  #said = '';

  /** @param options of lcclinks @param env more of both */
  constructor(
    lcc: Pick<Lcc, 'dir' | 'env'>,
    options: readonly string[] = [],
    batch = 100,
    env: NodeJS.ProcessEnv = {},
  ) {
    const service = [
      '--follow',
      '--stay',
      '--cursor=links.cursor',
      `--batch=${batch}`,
      '--',
      'lcclinks',
      '--deliver',
      '--stay',
      '-v',
    ];
    this.#child = spawn('lccq', [...service, ...options], {
      cwd: lcc.dir,
      env: { ...lcc.env, ...env },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    watchLog(() => this.#said);
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.#said += text));
    this.ended = once(this.#child, 'close');
  }

  /** Of lccq. */
  get pid(): number {
    return this.#child.pid ?? Number.NaN;
  }

  /** Of the lcclinks that it has started. */
  get filterPid(): number | undefined {
    return readdirSync('/proc')
      .map(Number)
      .find(pid => pid > 0 && parentOf(pid) === this.pid);
  }

  /** What lccq and lcclinks have said. */
  get said(): string {
    return this.#said;
  }

  /** Traps that were counted, by name. */
  get traps(): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const [, list = ''] of this.#said.matchAll(/^lcclinks: left out as traps \(.*\): (.*)$/gm))
      for (const trap of list.split(', ')) {
        const [name = '', count] = trap.split(' ');
        counts[name] = (counts[name] ?? 0) + Number(count);
      }
    return counts;
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    this.#child.kill(signal);
    await this.ended;
  }
}

/** Where the cursor of the service is. */
export function cursorOf(lcc: Lcc): string {
  return join(lcc.dir, 'links.cursor');
}

/** Undefined for a process that has ended. */
function parentOf(pid: number): number | undefined {
  try {
    const [, rest = ''] = readFileSync(`/proc/${pid}/stat`, 'latin1').split(/\) (?=[^)]*$)/);
    return rest.startsWith('Z') ? undefined : Number(rest.split(' ')[1]);
  } catch {
    return undefined;
  }
}
