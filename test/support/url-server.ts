/** lccurld as a process, and lists for it. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { UrlLine } from '../../src/wire/spider-lines.js';
import { Daemon, statusOf } from './daemon.js';
import { ROOT } from './tree.js';

const homes: string[] = [];
const daemons: Daemon[] = [];
/** Ends all that a test has started, and removes their homes. */
export async function endUrlServers(): Promise<void> {
  await Promise.all(daemons.map(daemon => daemon.stop('SIGKILL')));
  for (const home of homes) rmSync(home, { recursive: true });
}

export function newHome(settings = ''): string {
  const home = mkdtempSync(join(tmpdir(), 'lccurld-'));
  homes.push(home);
  writeFileSync(join(home, 'lcc.toml'), settings === '' ? '' : `[spider]\n${settings}`);
  return home;
}

/** lccurld with its standard input and output in the test's hand. */
export class UrlServerProcess extends Daemon {
  /** All it wrote to its standard output, once it has ended. */
  readonly failed: Promise<string>;

  constructor(home: string, args: readonly string[]) {
    const child = spawn(process.execPath, [join(ROOT, 'bin/lccurld'), '--listen=127.0.0.1:0', ...args], {
      stdio: 'pipe',
      env: { ...process.env, LCC_HOME: home, LCC_CONFIG: '' },
    });
    super('lccurld', child);
    daemons.push(this);
    this.failed = text(child.stdout);
  }
}

export async function started(home: string, ...args: string[]): Promise<UrlServerProcess> {
  const daemon = new UrlServerProcess(home, args);
  await daemon.ready;
  return daemon;
}

/** A list of urls, a host each unless that is said. */
export function listOf(home: string, count: number, hosts = count, tail = ''): string {
  const file = join(home, 'urls.txt');
  const line = (_: unknown, i: number) => `http://host${i % hosts}.example/${i + 1}${tail}\n`;
  writeFileSync(file, Array.from({ length: count }, line).join(''));
  return file;
}

export const docsOf = (lines: readonly UrlLine[]) =>
  lines.map(({ docId }) => docId).toSorted((a, b) => a - b);
export const upTo = (count: number) => Array.from({ length: count }, (_, i) => i + 1);
export const statusOfUrld = (home: string) => statusOf(home, 'lccurld');
