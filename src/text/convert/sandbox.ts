/** How a program for content by strangers is started: bounded by prlimit(1), and without network and files by
 * bwrap(1). */
import { spawnSync } from 'node:child_process';
import type { ConvertRule } from './rules.js';

/** Limits of each program. */
export interface ConvertLimits {
  timeoutMs: number;
  memoryBytes: number;
  /** Most bytes of its output. */
  maxOutputBytes: number;
}

const BWRAP = 'bwrap';
const PRLIMIT = 'prlimit';
/** Nothing but programs, what they need to run, and an empty folder that is gone with them. */
const FILES = [
  '--ro-bind',
  '/usr',
  '/usr',
  ...['bin', 'sbin', 'lib', 'lib64'].flatMap(name => ['--symlink', `usr/${name}`, `/${name}`]),
  ...['/etc/fonts', '/etc/ld.so.cache'].flatMap(path => ['--ro-bind-try', path, path]),
  '--dev',
  '/dev',
];
const APART = ['--unshare-all', '--die-with-parent', '--new-session', '--clearenv'];

/** Their environment. Some do not start without a home: it is the empty folder. */
export const ENVIRONMENT = { LC_ALL: 'C.UTF-8', HOME: '/tmp' };

/** The command line of a program. */
export function commandOf({ program, args }: ConvertRule, limits: ConvertLimits, isApart: boolean): string[] {
  const { timeoutMs, memoryBytes } = limits;
  const bounded = [
    PRLIMIT,
    `--as=${memoryBytes}`,
    `--fsize=${memoryBytes}`,
    `--cpu=${Math.ceil(timeoutMs / 1000) + 1}`,
    '--core=0',
    program,
    ...args,
  ];
  if (!isApart) return bounded;
  const folder = ['--size', String(memoryBytes), '--tmpfs', '/tmp', '--chdir', '/tmp'];
  const environment = Object.entries(ENVIRONMENT).flatMap(([name, value]) => ['--setenv', name, value]);
  return [BWRAP, ...APART, ...environment, ...FILES, ...folder, ...bounded];
}

/** Why nothing can be run apart here; undefined: it can. */
export function whyNotApart(limits: ConvertLimits): string | undefined {
  const rule = { matches: () => true, output: '', program: 'true', args: [] };
  const [program = '', ...args] = commandOf(rule, limits, true);
  const { error, status, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  if (error !== undefined) return 'bwrap is not installed (bubblewrap)';
  return status === 0 ? undefined : `bwrap: ${stderr.trim().split('\n').at(-1)}`;
}
