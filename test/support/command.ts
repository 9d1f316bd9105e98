/** Commands, each run to its end: inside the test's process, or as a process of its own where that is what counts. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { errnoOf } from '../../src/lib/errors.js';
import { runInside, runInsideLater, type InsideDone } from './inside.js';
import { ROOT } from './tree.js';

export interface Done {
  status: number | null;
  stdout: string;
  stderr: string;
}

export interface Ran {
  status: number | null;
  signal: NodeJS.Signals | null;
  stdout: Buffer;
  stderr: string;
}

export interface RunOptions {
  input?: string | Uint8Array;
  /** All of its variables. */
  env?: NodeJS.ProcessEnv;
  /** Any, unless it is given. */
  cwd?: string;
  /** Whose process it is. */
  uid?: number;
  gid?: number;
}

export type LaterOptions = Pick<RunOptions, 'input' | 'env' | 'cwd'>;

/** Most that a program may write. */
const MAX_OUTPUT_BYTES = 256 * 1024 * 1024;

/** Runs `bin/NAME` on a home. @param env variables beside the test's own */
export function runCommand(
  home: string,
  name: string,
  args: readonly string[],
  { env, ...options }: RunOptions = {},
): Done {
  return asText(runBin(name, args, { ...options, env: homeEnv(home, env) }));
}

/** The same while the test goes on. */
export async function runCommandLater(
  home: string,
  name: string,
  args: readonly string[],
  { env, ...options }: LaterOptions = {},
): Promise<Done> {
  return asText(await runBinLater(name, args, { ...options, env: homeEnv(home, env) }));
}

export const homeEnv = (home: string, env?: NodeJS.ProcessEnv): NodeJS.ProcessEnv => ({
  ...process.env,
  LCC_HOME: home,
  LCC_CONFIG: '',
  ...env,
});

/** Runs `bin/NAME`. */
export function runBin(name: string, args: readonly string[], options: RunOptions = {}): Ran {
  const { input = '', env = process.env, cwd } = options;
  if (needsProcess(name, args, options))
    return runProgram(join(ROOT, 'bin', name), args, { input, ...options });
  const leave = enter(cwd);
  if (leave === undefined) return runProgram(join(ROOT, 'bin', name), args, { input, ...options });
  try {
    return ranInside(runInside(name, args, input, env));
  } finally {
    leave();
  }
}

/** The same while the test goes on. */
export async function runBinLater(
  name: string,
  args: readonly string[],
  options: LaterOptions = {},
): Promise<Ran> {
  const { input = '', env = process.env, cwd } = options;
  const leave = needsProcess(name, args, options) ? undefined : enter(cwd);
  if (leave === undefined) return await runProgramLater(join(ROOT, 'bin', name), args, options);
  try {
    return ranInside(await runInsideLater(name, args, input, env));
  } finally {
    leave();
  }
}

const testDir = process.cwd();
/** Runs in another working directory. */
let elsewhere = 0;

/** Enters a directory, as all threads do. @returns what leaves it; undefined while other runs are in another one */
function enter(dir?: string): (() => void) | undefined {
  if (dir === undefined) return () => undefined;
  if (elsewhere > 0 && process.cwd() !== dir) return undefined;
  if (elsewhere++ === 0) process.chdir(dir);
  return () => void (--elsewhere === 0 && process.chdir(testDir));
}

/** Any program; its output whole. */
export function runProgram(program: string, args: readonly string[], options: RunOptions = {}): Ran {
  const { status, signal, stdout, stderr, error } = spawnSync(program, args, {
    ...options,
    maxBuffer: MAX_OUTPUT_BYTES,
  });
  // A program that ends without having read all its input is right; some versions of Node call it an error.
  if (error !== undefined && errnoOf(error) !== 'EPIPE') throw error;
  return { status, signal, stdout, stderr: stderr.toString() };
}

/** The same while the test goes on. */
export async function runProgramLater(
  program: string,
  args: readonly string[],
  { input = '', ...options }: LaterOptions = {},
): Promise<Ran> {
  const child = spawn(program, args, options);
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => stdout.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => stderr.push(chunk));
  child.stdin.on('error', () => undefined).end(input);
  const [status, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
  return { status, signal, stdout: Buffer.concat(stdout), stderr: Buffer.concat(stderr).toString() };
}

const ranInside = ({ status, stdout, stderr }: InsideDone): Ran => ({
  status,
  signal: null,
  stdout,
  stderr: stderr.toString(),
});

export const asText = ({ status, stdout, stderr }: Ran): Done => ({
  status,
  stdout: stdout.toString(),
  stderr,
});

/** Variables that Node, libc or `lib/steps.ts` read when a process starts. */
const READ_AT_START = /^(TZ|HOME|NODE_|LCC_(STEP|CRASH)|UV_)/;
/** Arguments with which it goes on until a signal, or that are of its process; zstd(1) complains where that does. */
const IS_OF_A_PROCESS = /^(--follow|--stay|--format=.*\.zst)$|\$PPID/;

/** Of a daemon's name, what only changes or shows a file. */
const MANAGES_READERS = /^--(add|remove|list)-reader/;

let isEveryProcess = false;
/** Each command of this test file is a process: what it leaves counts for what it is only once that process is gone. */
export function runAsProcesses(): void {
  isEveryProcess = true;
}

function needsProcess(name: string, args: readonly string[], { env = {}, uid, gid }: RunOptions): boolean {
  return (
    isEveryProcess ||
    uid !== undefined ||
    gid !== undefined ||
    (/^(lccd|lccbot|lccspider|lccstored|lccurld)/.test(name) &&
      !args.some(arg => MANAGES_READERS.test(arg))) ||
    args.some(arg => IS_OF_A_PROCESS.test(arg)) ||
    Object.keys(env).some(key => READ_AT_START.test(key) && env[key] !== process.env[key])
  );
}
