/** The real bin/lccbot, spoken to. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { newFolder } from '../fetch/support.js';
import { until } from '../support/until.js';
import { atEnd } from '../support/at-end.js';

const bin = fileURLToPath(new URL('../../../bin/lccbot', import.meta.url));
const children: ChildProcess[] = [];
atEnd(() => {
  for (const child of children) child.kill('SIGKILL');
});

export interface Spawned {
  child: ChildProcess;
  home: string;
  stdout: Promise<string>;
  stderr: Promise<string>;
  /** Exit status, or the signal that ended it. */
  exited: Promise<number | string>;
}

export function spawnBot(args: string[], env: NodeJS.ProcessEnv = {}): Spawned {
  const home = newFolder();
  const child = spawn(bin, args, { env: { ...process.env, LCC_HOME: home, ...env } });
  children.push(child);
  child.stdin.on('error', () => undefined);
  return {
    child,
    home,
    stdout: text(child.stdout),
    stderr: text(child.stderr),
    exited: once(child, 'exit').then(([code, signal]) => (code ?? signal) as number | string),
  };
}

/** What a robot on standard input and output says to `input`, and how it ends. */
export async function talk(
  input: string | Buffer,
  args: string[] = [],
  env: NodeJS.ProcessEnv = {},
): Promise<{ out: string; err: string; status: number | string }> {
  const bot = spawnBot(['--stdio', '--allow-address=127.0.0.0/8', ...args], env);
  bot.child.stdin?.end(input);
  return { out: await bot.stdout, err: await bot.stderr, status: await bot.exited };
}

/** The result of one request, given by its attributes. */
export async function askOnce(attributes: string, env: NodeJS.ProcessEnv = {}): Promise<string> {
  const { out } = await talk(`<fetch id="1" ${attributes}/>`, [], env);
  return out.split('\n').find(line => line.startsWith('<fetched')) ?? out;
}

/** A request, as it is typed. @param rest further attributes */
export function request(id: number, url: string, file: string, rest = ''): string {
  return `<fetch id="${id}" url="${url}" file="${file}" ${rest}/>\n`;
}

/** Connects, as soon as somebody listens. */
export async function dial(path: string): Promise<Socket> {
  return until(`somebody listens on ${path}`, async () => {
    const socket = connect(path);
    return once(socket, 'connect').then(
      () => socket,
      () => undefined,
    );
  });
}

/** Where a robot started with `--listen` on it answers. */
export function socketIn(folder: string): string {
  return join(folder, 'bot.sock');
}
