/** A whole LCC to measure: real `lccd` over a home of its own, any number of providers, and what a CP does with it. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openDatabase } from '../src/db/sqlite/open.js';
import { addProvider } from '../src/db/providers/pidb.js';
import { generatePassword, hashPassword } from '../src/lib/password.js';
import { until } from '../test/support/until.js';
import { peakRssBytes } from './harness.js';
import { sayWhatFor } from './stuck.js';

const bin = join(dirname(fileURLToPath(import.meta.url)), '../../bin');
const DAEMONS = ['lccd-uns', 'lccd-qm', 'lccd-bm', 'lccd'];
/** Each answer costs a daemon some of a millisecond that the line has not. */
const POLL_MS = 25;

export interface BenchLcc {
  home: string;
  /** Sends a partial set of a provider (1 …) as a CP does; resolves when the UNS has accepted it. */
  notify(pid: number, pieces: Iterable<Piece>): Promise<void>;
  /** Waits until nothing is spooled, queued or being fetched. @returns since when, as `performance.now()` */
  untilIdle(): Promise<number>;
  /** Largest resident set of every daemon so far. */
  rssBytes(): Promise<Record<string, number>>;
  /** Urls held. */
  held(): number;
  stop(): Promise<void>;
}

/** Some urls of a set as they are sent. */
export interface Piece {
  urls: number;
  bytes: Buffer;
}

/** What a CP sends of these urls, below the root of its provider. */
export function* piecesOf(names: Iterable<string>): Generator<Piece> {
  let urls = 0;
  let text = '';
  for (const name of names) {
    urls += 1;
    text += `<url curl="${name}" mimetype="text/html" len="4096" mtime="2026-11-20T10:13:01Z"/>\n`;
    if (text.length < 1 << 16) continue;
    yield { urls, bytes: Buffer.from(text) };
    urls = 0;
    text = '';
  }
  yield { urls, bytes: Buffer.from(text) };
}

/**
 * Starts an LCC in a new folder; resolves when it is ready. Every provider may name urls below `root`.
 * @param made called before its start
 */
export async function startLcc(
  home: string,
  providers: number,
  root: string,
  made?: (home: string) => Promise<void>,
): Promise<BenchLcc> {
  mkdirSync(home);
  // All sites are one server here.
  writeFileSync(
    join(home, 'lcc.toml'),
    'bot.allow_addresses = ["127.0.0.0/8"]\nbot.max_connections_per_host = 1000\nqm.max_connections_per_host = 1000\n',
  );
  const passwords = addProviders(join(home, 'lcc.db'), providers, root);
  await made?.(home);
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
  // In a kept home its work begins after that.
  await until('the UNS listens', () => existsSync(socketPath));
  const quiet = sayWhatFor(home);
  return {
    home,
    notify: (pid, pieces) => notify(socketPath, pid, passwords[pid - 1] ?? '', root, pieces),
    async untilIdle() {
      const [uns, qm] = [control(home, 'lccd-uns'), control(home, 'lccd-qm')];
      // Twice in a row: a set between the two daemons is seen by neither.
      for (let since: number | undefined; ;) {
        const [{ idle: unsIdle }, { idle: qmIdle }] = [await uns.status(), await qm.status()];
        const idle = unsIdle && qmIdle;
        if (idle && since !== undefined) {
          uns.close();
          qm.close();
          return since;
        }
        since = idle ? performance.now() : undefined;
        await new Promise(resolve => void setTimeout(resolve, POLL_MS));
      }
    },
    async rssBytes() {
      const entries = DAEMONS.map(async name => {
        const daemon = control(home, name);
        const { pid } = await daemon.status();
        daemon.close();
        return [name, peakRssBytes(pid)] as const;
      });
      return Object.fromEntries(await Promise.all(entries));
    },
    held: () => Number(spawnSync(join(bin, 'lccq'), ['--count'], { env }).stdout.toString()),
    async stop() {
      quiet();
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
  pieces: Iterable<Piece>,
): Promise<void> {
  const socket = connect(socketPath);
  let answer = '';
  socket.on('data', (text: Buffer) => void (answer += text.toString()));
  const closed = once(socket, 'close');
  socket.write(
    `<lococa:init xmlns:lococa="http://www.lococa.org/1.0"><provider id="${pid}" passwd="${password}"/></lococa:init>\n` +
      `<lococa:set set="partial" urlprefix="${urlprefix}">\n`,
  );
  let count = 0;
  for (const { urls, bytes } of pieces) {
    count += urls;
    if (!socket.write(bytes)) await once(socket, 'drain');
  }
  socket.write('</lococa:set>\n');
  await closed;
  if (!answer.includes(`received="${count}"`)) throw new Error(`provider ${pid}: ${answer}`);
}

interface Status {
  pid: number;
  idle: boolean;
}

/** A connection to a daemon's control socket, for one question at a time. */
function control(home: string, daemon: string): { status(): Promise<Status>; close(): void } {
  const socket: Socket = connect(`${home}/run/${daemon}.ctl.sock`);
  return {
    async status() {
      socket.write('status\n');
      let text = '';
      while (!text.endsWith('\n')) text += String((await once(socket, 'data'))[0]);
      return (JSON.parse(text) as { ok: Status }).ok;
    },
    close: () => void socket.destroy(),
  };
}
