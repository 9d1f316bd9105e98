/**
 * Runs commands inside the test's process: the bundle that bin/NAME launches, in a thread that stays, on files instead of
 * pipes. A run costs milliseconds, where a process costs a tenth of a second and more.
 *
 * A thread, so that a test may wait for a command as for a program (`runInside` returns when it has ended), and so that one
 * that hangs or throws ends alone. What needs a process of its own (signals, closed descriptors, other users, programs that
 * it starts, another working directory than the test's) is run as one: test/support/command.ts.
 */
import {
  closeSync,
  fstatSync,
  mkdtempSync,
  openSync,
  readSync,
  rmSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { awaitCount } from '../../src/lib/thread.js';
import { ROOT } from './tree.js';
import { BOUND_MS, within } from './until.js';

/** What a thread is asked to run, on open descriptors. */
export interface InsideRun {
  bundle: string;
  launcher: string;
  args: readonly string[];
  env: NodeJS.ProcessEnv;
  stdin: number;
  stdout: number;
  stderr: number;
}

/** What threads and tests share: a number that says how the last run of the thread ended. */
export const RUNNING = -1;

export interface InsideDone {
  status: number;
  stdout: Buffer;
  stderr: Buffer;
}

/** A thread, which is ended with the first command that does not end, and the word in which it says how a run ended. */
class Host {
  readonly #state = new Int32Array(new SharedArrayBuffer(4));
  readonly #worker: Worker;
  #ended: (() => void) | undefined;

  constructor() {
    this.#worker = new Worker(new URL('./inside-thread.js', import.meta.url), { workerData: this.#state });
    this.#worker.on('message', () => this.#ended?.());
    this.#worker.unref();
  }

  /** The exit status, once it has ended; nothing else happens meanwhile. */
  wait(run: InsideRun): number {
    this.#begin(run);
    const boundMs = boundMsOf(run);
    if (!awaitCount(this.#state, 0, RUNNING, boundMs)) {
      void this.#worker.terminate();
      throw new Error(`${run.launcher} ${run.args.join(' ')}: no end after ${boundMs} ms`);
    }
    return Atomics.load(this.#state, 0);
  }

  /** The same beside what else the test does. */
  async later(run: InsideRun): Promise<number> {
    this.#worker.ref();
    const ended = new Promise<void>(resolve => {
      this.#ended = () => void (Atomics.load(this.#state, 0) !== RUNNING && resolve());
    });
    this.#begin(run);
    try {
      await within(`the end of ${run.launcher} ${run.args.join(' ')}`, ended, boundMsOf(run));
    } finally {
      this.#ended = undefined;
      this.#worker.unref();
    }
    return Atomics.load(this.#state, 0);
  }

  #begin(run: InsideRun): void {
    Atomics.store(this.#state, 0, RUNNING);
    this.#worker.postMessage(run, []);
  }
}

/** How long a run may take: a command that waits for as long as it was told ends by itself, and says what it waited for. */
function boundMsOf({ args }: InsideRun): number {
  const [, waitS = '0'] = /--until-idle=(\d+)/.exec(args.join(' ')) ?? [];
  return BOUND_MS + Number(waitS) * 1000;
}

/** Threads that run nothing. */
const idle: Host[] = [];

/** Runs bin/NAME and waits for its end. @param env all of its variables */
export function runInside(
  name: string,
  args: readonly string[],
  input: string | Uint8Array,
  env: NodeJS.ProcessEnv,
): InsideDone {
  const host = idle.pop() ?? new Host();
  return onFiles(name, args, input, env, (run, outcome) => {
    const status = host.wait(run);
    idle.push(host);
    return outcome(status);
  });
}

/** The same while the test goes on. */
export async function runInsideLater(
  name: string,
  args: readonly string[],
  input: string | Uint8Array,
  env: NodeJS.ProcessEnv,
): Promise<InsideDone> {
  const host = idle.pop() ?? new Host();
  return await onFiles(name, args, input, env, async (run, outcome) => {
    const status = await host.later(run);
    idle.push(host);
    return outcome(status);
  });
}

/** Files without names, since only descriptors are needed; closed by `outcome`. */
function onFiles<T>(
  name: string,
  args: readonly string[],
  input: string | Uint8Array,
  env: NodeJS.ProcessEnv,
  work: (run: InsideRun, outcome: (status: number) => InsideDone) => T,
): T {
  const dir = mkdtempSync(join(tmpdir(), 'inside-'));
  const [stdin = -1, stdout = -1, stderr = -1] = ['in', 'out', 'err'].map(file => {
    const path = join(dir, file);
    // A pipe is appended to: what a program of the command writes there stays.
    const fd = openSync(path, file === 'in' ? 'w+' : 'a+');
    unlinkSync(path);
    return fd;
  });
  rmSync(dir, { recursive: true });
  const bytes = typeof input === 'string' ? Buffer.from(input) : input;
  for (let at = 0; at < bytes.length;) at += writeSync(stdin, bytes, at, bytes.length - at, at);
  const run: InsideRun = {
    bundle: join(ROOT, 'dist/bin', `${name}.cjs`),
    launcher: join(ROOT, 'bin', name),
    args: [...args],
    env,
    stdin,
    stdout,
    stderr,
  };
  return work(run, status => {
    const done = { status, stdout: contentOf(stdout), stderr: contentOf(stderr) };
    for (const fd of [stdin, stdout, stderr]) closeSync(fd);
    return done;
  });
}

function contentOf(fd: number): Buffer {
  const content = Buffer.alloc(fstatSync(fd).size);
  for (let at = 0; at < content.length;) at += readSync(fd, content, at, content.length - at, at);
  return content;
}
