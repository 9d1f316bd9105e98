/** Runs `npm run demo` with the programs that it may use, and no others, and in a temporary directory of its own. */
import { spawn, spawnSync, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { ROOT } from './tree.js';

const SCRIPT = join(ROOT, 'scripts/demo/index.mjs');
/** All that the demo needs of a system besides Node: no sqlite3 among it. */
const PROGRAMS = ['bash', 'sh', 'env', 'find', 'rm', 'cp', 'cat', 'mkdir', 'sed', 'sort'];
/** What that of the Spider needs besides. */
const SPIDER_PROGRAMS = ['python3', 'perl', 'cmp', 'cut', 'head', 'wc'];
/** And that of a crawl, and of pushes. */
const CRAWL_PROGRAMS = ['grep', 'touch', 'curl'];

export type Demo = ChildProcessByStdio<null, Readable, Readable>;

export class DemoHome {
  readonly dir = mkdtempSync(join(tmpdir(), 'lcc-demotest-'));
  /** Its TMPDIR, empty when it has ended. */
  readonly temporary = join(this.dir, 'tmp');

  constructor() {
    for (const folder of ['tmp', 'bin', 'site/a b']) mkdirSync(join(this.dir, folder), { recursive: true });
    // An engine that is started there runs as another user.
    chmodSync(this.dir, 0o755);
    chmodSync(this.temporary, 0o1777);
    symlinkSync(process.execPath, join(this.dir, 'bin/node'));
    for (const name of [...PROGRAMS, ...SPIDER_PROGRAMS, ...CRAWL_PROGRAMS]) {
      // What is called python3 may be a script that looks for it.
      const find =
        name === 'python3' ? `${name} -c 'import sys; print(sys.executable)'` : `command -v ${name}`;
      const path = spawnSync('sh', ['-c', find], { encoding: 'utf8' }).stdout.trim();
      symlinkSync(path, join(this.dir, 'bin', name));
    }
    writeFileSync(join(this.dir, 'site/index.html'), '<title>Start</title><p>marmalade</p>');
    writeFileSync(join(this.dir, "site/a b/it's & more#1.html"), '<p>dragonfly d\u00e9j\u00e0</p>');
  }

  /** @param what a directory, or the word of a demo */
  start(what = join(this.dir, 'site'), env: Record<string, string> = {}): Demo {
    return spawn(process.execPath, [SCRIPT, what], {
      env: { PATH: join(this.dir, 'bin'), HOME: this.dir, TMPDIR: this.temporary, ...env },
      cwd: dirname(SCRIPT),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  }

  remove(): void {
    rmSync(this.dir, { recursive: true, force: true });
  }
}

export async function finish(child: Demo): Promise<{ status: number; output: string; complaints: string }> {
  const [output, complaints, [status]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit') as Promise<[number]>,
  ]);
  return { status, output, complaints };
}

/** The reading goes on after it: the demo also ends, in another way, when its output is not read. @returns what came so far */
export function untilPrinted(child: Demo, wanted: string): Promise<string> {
  return new Promise<string>(resolve => {
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
      if (output.includes(wanted)) resolve(output);
    });
    child.stdout.on('close', () => resolve(output));
  });
}
