/** A whole LCC to measure: real `lccd` over a home of its own, any number of providers, and what a CP does with it. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openDatabase } from '../src/db/open.js';
import { addProvider } from '../src/db/pidb.js';
import { generatePassword, hashPassword } from '../src/lib/password.js';
import { peakRssBytes } from './harness.js';

const bin = join(dirname(fileURLToPath(import.meta.url)), '../../bin');
const DAEMONS = ['lccd-uns', 'lccd-qm', 'lccd-bm', 'lccbot', 'lccd'];
/** Each answer costs a daemon half a millisecond that the line has not. */
const POLL_MS = 25;

export interface BenchLcc {
  home: string;
  /** Sends urls of a provider (1 …) as a partial set, as a CP does; resolves when the UNS has accepted it. */
  notify(pid: number, urls: Iterable<string>): Promise<void>;
  /** Waits until nothing is spooled, queued or being fetched. @returns since when, as `performance.now()` */
  untilIdle(): Promise<number>;
  /** Largest resident set of every daemon so far. */
  rssBytes(): Promise<Record<string, number>>;
  /** Urls held. */
  held(): number;
  stop(): Promise<void>;
}

/** Starts an LCC in a new folder; resolves when it is ready. Every provider may name urls below `root`. */
export async function startLcc(home: string, providers: number, root: string): Promise<BenchLcc> {
  mkdirSync(home);
  writeFileSync(join(home, 'lcc.toml'), '[bot]\nallow_addresses = ["127.0.0.0/8"]\n');
  const passwords = addProviders(join(home, 'lcc.db'), providers, root);
  const env = { ...process.env, LCC_HOME: home };
  const socketPath = join(home, 'uns.sock');
  const lccd = spawn(join(bin, 'lccd'), [`--listen=unix:${socketPath}`], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  await new Promise<void>((resolve, reject) => {
    let seen = '';
    lccd.stderr.on('data', (text: Buffer) => {
      seen = (seen + text.toString()).slice(-5000);
      if (/"daemon":"lccd","event":"ready"/.test(seen)) resolve();
    });
    lccd.once('exit', status => reject(new Error(`lccd exits ${status}: ${seen}`)));
  });
  return {
    home,
    notify: (pid, urls) => notify(socketPath, pid, passwords[pid - 1] ?? '', root, urls),
    async untilIdle() {
      // Twice in a row: a set between the two daemons is seen by neither.
      for (let since: number | undefined; ;) {
        const [uns, qm] = [await status(home, 'lccd-uns'), await status(home, 'lccd-qm')];
        const idle = uns.idle && qm.idle;
        if (idle && since !== undefined) return since;
        since = idle ? performance.now() : undefined;
        await new Promise(resolve => void setTimeout(resolve, POLL_MS));
      }
    },
    async rssBytes() {
      const entries = DAEMONS.map(
        async name => [name, peakRssBytes((await status(home, name)).pid)] as const,
      );
      return Object.fromEntries(await Promise.all(entries));
    },
    held: () => Number(spawnSync(join(bin, 'lccq'), ['--count'], { env }).stdout.toString()),
    async stop() {
      if (lccd.exitCode !== null || lccd.signalCode !== null) return;
      lccd.kill('SIGTERM');
      await once(lccd, 'exit');
    },
  };
}

/** Providers 1 to `count` in a database, new or old; their passwords. */
export function addProviders(path: string, count: number, root: string): string[] {
  const db = openDatabase(path);
  const passwords = Array.from({ length: count }, generatePassword);
  db.transaction(() => {
    for (const [i, password] of passwords.entries())
      addProvider(db, i + 1, hashPassword(password), { filesmax: 1e9 }, [root]);
  })();
  db.close();
  return passwords;
}

async function notify(
  socketPath: string,
  pid: number,
  password: string,
  urlprefix: string,
  urls: Iterable<string>,
): Promise<void> {
  const socket = connect(socketPath);
  let answer = '';
  socket.on('data', (text: Buffer) => void (answer += text.toString()));
  const closed = once(socket, 'close');
  let text =
    `<lococa:init xmlns:lococa="http://www.lococa.org/1.0"><provider id="${pid}" passwd="${password}"/></lococa:init>\n` +
    `<lococa:set set="partial" urlprefix="${urlprefix}">\n`;
  let count = 0;
  for (const url of urls) {
    count += 1;
    text += `<url curl="${url}" mimetype="text/html" len="4096" mtime="2026-11-20T10:13:01Z"/>\n`;
    if (text.length < 1 << 16) continue;
    if (!socket.write(text)) await once(socket, 'drain');
    text = '';
  }
  socket.write(`${text}</lococa:set>\n`);
  await closed;
  if (!answer.includes(`received="${count}"`)) throw new Error(`provider ${pid}: ${answer}`);
}

interface Status {
  pid: number;
  idle: boolean;
}

function status(home: string, daemon: string): Promise<Status> {
  return new Promise((resolve, reject) => {
    const socket = connect(`${home}/run/${daemon}.ctl.sock`, () => void socket.write('status\n'));
    let text = '';
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      if (!text.endsWith('\n')) return;
      socket.destroy();
      resolve((JSON.parse(text) as { ok: Status }).ok);
    });
    socket.on('error', reject);
  });
}
