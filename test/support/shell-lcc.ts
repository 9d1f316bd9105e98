/** A whole private LCC for tests: real `lccd`, real commands, a home and a site that go away afterwards. */
import { execFile, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const binDir = join(dirname(fileURLToPath(import.meta.url)), '../../../bin');

export interface ShellResult {
  status: number;
  stdout: string;
  stderr: string;
}

export interface TestLcc {
  dir: string;
  home: string;
  env: NodeJS.ProcessEnv;
  /** `unix:…`: where CPs connect. */
  uns: string;
  lccd: ChildProcess;
  /** Runs a bash command line with our commands first in PATH and LCC_HOME set; pipes fail as a whole. */
  sh(command: string, env?: NodeJS.ProcessEnv, cwd?: string): Promise<ShellResult>;
  /** The same, and fails the test when it does not exit 0. */
  run(command: string): Promise<string>;
  /** Waits until nothing is spooled, queued or being fetched. */
  idle(seconds?: number): Promise<void>;
  start(env?: NodeJS.ProcessEnv): Promise<void>;
  stop(signal?: NodeJS.Signals): Promise<void>;
  /** What lccd has logged. */
  log(): string;
  destroy(): Promise<void>;
}

/** Makes a home with provider 1 over `root` and starts an LCC that may fetch from loopback; `daemonEnv` is lccd's alone. */
export async function startLcc(root: string, toml = '', daemonEnv: NodeJS.ProcessEnv = {}): Promise<TestLcc> {
  const dir = mkdtempSync(join(tmpdir(), 'lcc-'));
  const home = join(dir, 'home');
  mkdirSync(home);
  writeFileSync(join(home, 'lcc.toml'), `[bot]\nallow_addresses = ["127.0.0.0/8"]\n${toml}`);
  const env: NodeJS.ProcessEnv = { ...process.env, LCC_HOME: home, PATH: `${binDir}:${process.env['PATH']}` };
  let logged = '';
  const lcc: TestLcc = {
    dir,
    home,
    env,
    uns: `unix:${dir}/uns.sock`,
    lccd: undefined as unknown as ChildProcess,
    sh: (command, more = {}, cwd = dir) => shell(command, { ...env, ...more }, cwd),
    async run(command) {
      const result = await lcc.sh(command);
      if (result.status !== 0) {
        throw new Error(
          `exit ${result.status} from: ${command}\n${result.stderr.slice(-4000)}\n-- lccd:\n${logged.slice(-4000)}`,
        );
      }
      return result.stdout;
    },
    async idle(seconds = 120) {
      await lcc.run(`lccstat --until-idle=${seconds}`);
    },
    async start(more = {}) {
      lcc.lccd = spawn(join(binDir, 'lccd'), [`--listen=${lcc.uns}`], {
        stdio: ['ignore', 'ignore', 'pipe'],
        env: { ...env, ...more },
      });
      await new Promise<void>((resolve, reject) => {
        let seen = '';
        lcc.lccd.stderr?.setEncoding('utf8').on('data', (text: string) => {
          logged = (logged + text).slice(-1_000_000);
          seen += text;
          if (/"daemon":"lccd","event":"ready"/.test(seen)) resolve();
        });
        lcc.lccd.once('exit', status => reject(new Error(`lccd exits ${status}:\n${logged.slice(-4000)}`)));
      });
    },
    async stop(signal = 'SIGTERM') {
      if (lcc.lccd.exitCode !== null || lcc.lccd.signalCode !== null) return;
      const exited = once(lcc.lccd, 'exit');
      lcc.lccd.kill(signal);
      await exited;
    },
    log: () => logged,
    async destroy() {
      await lcc.stop('SIGTERM');
      spawnSync('pkill', ['-KILL', '-f', `LCC-NOTHING|${dir}/`]);
      rmSync(dir, { recursive: true, force: true, maxRetries: 10 });
    },
  };
  env['LCC_PWD'] = (await lcc.run(`lccpidb add --pid=1 --root=${root}`)).trim();
  await lcc.start(daemonEnv);
  return lcc;
}

/** Runs a bash command line; pipes fail as a whole. */
export function shell(command: string, env: NodeJS.ProcessEnv, cwd: string): Promise<ShellResult> {
  return new Promise(resolve => {
    execFile(
      'bash',
      ['-o', 'pipefail', '-c', command],
      { env, cwd, maxBuffer: 256 * 1024 * 1024 },
      (error, stdout, stderr) => {
        const status = error === null ? 0 : typeof error.code === 'number' ? error.code : 128;
        resolve({ status, stdout, stderr });
      },
    );
  });
}
