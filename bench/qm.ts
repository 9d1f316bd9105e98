/** lccd-qm alone, between a UNS and a Bot Manager that are this process. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { FairShare } from '../src/lib/fair-share.js';
import { fileIdOf } from '../src/db/names/naming.js';
import { openDatabase, openReadOnly } from '../src/db/sqlite/open.js';
import { systemClock } from '../src/lib/clock.js';
import type { FetchOk } from '../src/wire/fetch.js';
import type { ChannelLimits } from '../src/wire/messages.js';
import { SourcePeer } from '../src/wire/qm-bm.js';
import { setStart, unsHello, SET_END } from '../src/wire/uns-qm.js';
import { peakRssBytes } from './harness.js';

export const PREFIX = 'http://www.example.org/';
export const MTIME = '2026-11-20T10:13:01Z';
const bin = join(dirname(fileURLToPath(import.meta.url)), '../../bin');
const POLL_MS = 20;
const CHANNEL: ChannelLimits = {
  xml: { maxTokenBytes: 65_536, maxDepth: 8, maxAttributes: 32, maxNameBytes: 256 },
  maxHelloBytes: 128 * 1024,
  share: new FairShare(),
  maxPendingBytes: 8 * 1024 * 1024,
  stallTimeoutMs: 60_000,
};
const WRITE_BYTES = 1 << 16;

/** One `<url>` of a set as file2url would write it. */
export function urlTag(curl: string, len: number): string {
  return `<url curl="${curl}" mimetype="text/html" len="${len}" mtime="${MTIME}"/>\n`;
}

function foundPage(id: number, nth: number): FetchOk {
  return {
    id,
    status: 'ok',
    http: 200,
    md5: '0cc175b9c0f1b6a831c399e269772661',
    len: 4096,
    mimetype: 'text/html',
    lastModified: 'Fri, 20 Nov 2026 10:13:01 GMT',
    completeness: 'whole',
    wireBytes: 4321,
    elapsedMs: 3,
    machineId: 'm1',
    fileId: fileIdOf({ id: nth, gen: 0 }),
  };
}

export class BenchQm {
  readonly home: string;
  readonly #bin: string;
  #child: ChildProcess | undefined;

  /** @param from where its command is */
  constructor(home: string, from = bin) {
    this.home = home;
    this.#bin = from;
    mkdirSync(join(home, 'run'), { recursive: true });
  }

  /** Resolves when it is ready. */
  async start(): Promise<void> {
    const { home } = this;
    const child = spawn(
      join(this.#bin, 'lccd-qm'),
      [
        `--listen-uns=unix:${home}/run/uns.sock`,
        `--listen-bm=unix:${home}/run/bm.sock`,
        `--listen-rs=unix:${home}/run/qm-rs.sock`,
      ],
      { env: { ...process.env, LCC_HOME: home }, stdio: ['ignore', 'ignore', 'pipe'] },
    );
    this.#child = child;
    let log = '';
    child.stderr.on('data', data => (log += String(data)));
    while (!log.includes('"ready"')) {
      if (child.exitCode !== null) throw new Error(`lccd-qm ended: ${log}`);
      await new Promise(resolve => void setTimeout(resolve, 5));
    }
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  get peakRssBytes(): number {
    return peakRssBytes(this.pid);
  }

  async stop(signal: NodeJS.Signals): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined) return;
    child.kill(signal);
    await once(child, 'exit');
  }

  /** A connection that sends sets, one after the other. */
  async connectUns(): Promise<UnsLink> {
    const socket = connect(`${this.home}/run/uns.sock`);
    await once(socket, 'connect');
    socket.write(unsHello('bench'));
    return new UnsLink(socket);
  }

  /**
   * Puts sets of one url each of provider 1 into the queue, as they stand there when they are absorbed, or when their turn came
   * and they wait for an hour of the day since. The daemon must not run.
   */
  queueSmallSets(sets: number, hour = -1): void {
    // The next hour may begin meanwhile.
    const tod = hour < 0 ? null : `${hour}-${(hour + 2) % 24}`;
    const db = openDatabase(join(this.home, 'lcc.db'));
    const row = db.prepare(
      `INSERT INTO qdb(pos, pid, curl, mimetype, psetid, len, mtime, slot, tod)
       VALUES (?, 1, ?, 'text/html', ?, 4096, 1795169581, ?, ?)`,
    );
    const set = db.prepare(
      'INSERT INTO qpsdb(psetid, starttimeslot, pid, firstpos, lastpos) VALUES (?, ?, 1, ?, ?)',
    );
    db.transaction(() => {
      for (let n = 1; n <= sets; n++) {
        row.run(n, `${PREFIX}docs/page-${String(n).padStart(8, '0')}.html`, n, hour, tod);
        set.run(n, hour, n, n);
      }
      db.prepare('UPDATE pidb SET nurlproc = ? WHERE pid = 1').run(sets);
      db.prepare("UPDATE counter SET value = ? WHERE name IN ('pos', 'psetid')").run(sets);
    })();
    db.close();
  }

  /** A Bot Manager whose robots fetch nothing and find everything; resolves after `count` urls, their rows committed. */
  async fetchAll(count: number, slots: number): Promise<void> {
    const socket = await this.fetchSome(count, slots);
    while (this.count('qdb') > 0) await new Promise(resolve => void setTimeout(resolve, POLL_MS));
    socket.destroy();
  }

  /** The same, but resolves when `count` results are sent; the caller ends the connection. */
  async fetchSome(count: number, slots: number): Promise<Socket> {
    const socket = connect(`${this.home}/run/bm.sock`);
    await once(socket, 'connect');
    let done = 0;
    await new Promise<void>((resolve, reject) => {
      const peer = new SourcePeer(
        socket,
        {
          fetch: ({ id }) => {
            peer.fetched(foundPage(id, ++done));
            if (done === count) resolve();
          },
          recall() {},
          delete() {},
          upkeep() {},
          refused() {},
          closed: reason => reject(reason ?? new Error('lccd-qm closed the connection')),
        },
        { ...CHANNEL, clock: systemClock, where: 'lccd-qm' },
      );
      peer.hello({ machineIds: ['m1'], slots, storeIds: [], relays: false });
    });
    return socket;
  }

  /** Rows of a table. */
  count(table: 'qdb' | 'lccurl'): number {
    const db = openReadOnly(join(this.home, 'lcc.db'));
    try {
      return Number(db.prepare(`SELECT count(*) FROM ${table}`).pluck().get());
    } finally {
      db.close();
    }
  }

  /** Milliseconds from starting the process until a Bot Manager is sent the first url. */
  async startToFirstFetch(): Promise<number> {
    const path = `${this.home}/run/bm.sock`;
    rmSync(path, { force: true });
    const startedMs = performance.now();
    const ready = this.start();
    let socket: Socket | undefined;
    while (socket === undefined) {
      const tried = connect(path);
      try {
        await once(tried, 'connect');
        socket = tried;
      } catch {
        await new Promise(resolve => void setTimeout(resolve, 1));
      }
    }
    socket.write('<lococa:bm machineid="m1" slots="1"/>\n');
    // A ping comes first, at once.
    for (let heard = ''; !heard.includes('<fetch ');) heard += String((await once(socket, 'data'))[0]);
    const ms = performance.now() - startedMs;
    socket.destroy();
    await ready;
    return ms;
  }

  /** Size of the database beyond the urls' own text, per url queued. The daemon must not run. */
  stateBytesPerUrl(): number {
    const db = openDatabase(join(this.home, 'lcc.db'));
    try {
      const one = (sql: string) => Number(db.prepare(sql).pluck().get());
      const urls = one('SELECT count(*) FROM qdb');
      const text = urls * MTIME.length + one('SELECT total(length(curl) + length(mimetype)) FROM qdb');
      db.pragma('wal_checkpoint(TRUNCATE)');
      return (one('PRAGMA page_count') * one('PRAGMA page_size') - text) / urls;
    } finally {
      db.close();
    }
  }
}

export class UnsLink {
  readonly #socket: Socket;
  #sets = 0;
  #heard = '';
  #stir = () => {};

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (data: Buffer) => {
      this.#heard += data.toString();
      this.#stir();
    });
    socket.on('close', () => this.#stir());
  }

  /** Sends a partial set of `count` urls; resolves when it is absorbed. */
  async set(pid: number, count: number, tags: Iterable<string>): Promise<void> {
    const entry = `e${String(++this.#sets).padStart(9, '0')}`;
    const head = { entry, pid, seq: this.#sets, set: 'partial', urlprefix: PREFIX, received: count } as const;
    // As a UNS says it: it has counted the deletes.
    let text = setStart({
      ...head,
      deletes: 0,
      errseen: 0,
      ip: '',
      atS: 1,
      newest: 0,
      numbering: '',
      after: 0,
    });
    for (const tag of tags) {
      text += tag;
      if (text.length < WRITE_BYTES) continue;
      if (!this.#socket.write(text)) await once(this.#socket, 'drain');
      text = '';
    }
    this.#socket.write(text + SET_END);
    while (!this.#heard.includes(`<lococa:absorbed entry="${entry}"`)) {
      if (this.#socket.destroyed || /<lococa:(?:busy|refused|error)/.test(this.#heard))
        throw new Error(`lccd-qm did not take the set: ${this.#heard}`);
      await new Promise<void>(resolve => (this.#stir = resolve));
    }
    this.#heard = '';
  }

  close(): void {
    this.#socket.destroy();
  }
}
