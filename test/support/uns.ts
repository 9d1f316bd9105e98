/** A real lccd-uns with a home of its own, CPs at their sockets, and the receiving end of the Queue Manager's wire. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach } from 'node:test';
import { addProvider, type ProviderTerms } from '../../src/db/providers/pidb.js';
import { generatePassword, hashPassword } from '../../src/lib/password.js';
import {
  formatQmAnswer,
  receiveFromUns,
  type DamageNote,
  type SessionNote,
  type SetHead,
} from '../../src/wire/uns-qm.js';
import { systemClock } from '../../src/lib/clock.js';
import { Conversation } from '../../src/lib/conversation.js';
import { FairShare } from '../../src/lib/fair-share.js';
import { isDelete, type UrlRecord } from '../../src/wire/url.js';
import { Daemons, type Daemon } from './daemon.js';
import { newDatabase } from './new-database.js';
import { within } from './until.js';
import { atEnd } from './at-end.js';

export const SITE = 'http://www.example.org/';
const XML = { maxTokenBytes: 65_536, maxDepth: 8, maxAttributes: 32, maxNameBytes: 256 };

export class Home {
  readonly dir = mkdtempSync(join(tmpdir(), 'lcc-uns-'));
  readonly qmPath = join(this.dir, 'qm.sock');
  readonly #daemons = new Daemons();

  /** @returns its password */
  addProvider(pid: number, terms: Partial<ProviderTerms> = {}, sql = ''): string {
    mkdirSync(this.dir, { recursive: true });
    const password = generatePassword();
    const db = newDatabase(join(this.dir, 'lcc.db'));
    addProvider(db, pid, hashPassword(password), terms, [SITE]);
    if (sql !== '') db.exec(sql);
    db.close();
    return password;
  }

  sql(text: string): void {
    const db = newDatabase(join(this.dir, 'lcc.db'));
    db.exec(text);
    db.close();
  }

  configure(toml: string): void {
    writeFileSync(join(this.dir, 'lcc.toml'), toml);
  }

  /** Names of the entries in a part of the spool: tmp, new or bad. */
  spooled(part = 'new', uns = 'uns'): string[] {
    try {
      return readdirSync(join(this.dir, 'spool/uns', uns, part));
    } catch {
      return [];
    }
  }

  /** Where an entry of the spool lies. */
  spoolFile(part: string, entry: string): string {
    return join(this.dir, 'spool/uns/uns', part, entry);
  }

  /** @param files the most it may have open */
  async start(env: NodeJS.ProcessEnv = {}, args: string[] = [], files?: number): Promise<Daemon> {
    const uns = this.begin(env, args, files);
    await uns.ready;
    return uns;
  }

  /** The same, without waiting for it. */
  begin(env: NodeJS.ProcessEnv = {}, args: string[] = [], files?: number): Daemon {
    const usual = ['--listen=127.0.0.1:0', `--qm=unix:${this.qmPath}`, '-v'];
    const via = files === undefined ? [] : ['prlimit', `--nofile=${files}:${files}`];
    return this.#daemons.start('lccd-uns', this.dir, [...usual, ...args], env, via);
  }

  /** A real Queue Manager where the UNSes look for it, without robots: what is queued stays so. */
  async startQm(env: NodeJS.ProcessEnv = {}): Promise<Daemon> {
    rmSync(this.qmPath, { force: true });
    const endpoints = [`--listen-uns=unix:${this.qmPath}`, `--listen-bm=unix:${join(this.dir, 'bm.sock')}`];
    const qm = this.#daemons.start('lccd-qm', this.dir, endpoints, env);
    await qm.ready;
    return qm;
  }

  async remove(): Promise<void> {
    await this.#daemons.end();
    rmSync(this.dir, { recursive: true, force: true });
  }
}

const homes: Home[] = [];
atEnd(async () => {
  for (const home of homes) await home.remove();
});

/** A home that is there until the tests of the file are over. */
export function newHome(): Home {
  const home = new Home();
  homes.push(home);
  return home;
}

/** A CP at its socket. Closes its side when the UNS has closed. */
export class Cp {
  readonly socket: Socket;
  /** All that was said, once the UNS has closed; also when it was cut. */
  readonly reply: Promise<string>;
  heard = '';
  #check: () => void = () => undefined;

  /** @param to a port, or the path of a Unix socket */
  constructor(to: number | string) {
    this.socket = typeof to === 'number' ? connect(to, '127.0.0.1') : connect(to);
    this.socket.setNoDelay(true);
    this.socket.setEncoding('utf8').on('data', (text: string) => {
      this.heard += text;
      this.#check();
    });
    this.socket.on('error', () => undefined);
    const closed = new Promise<string>(resolve => this.socket.on('close', () => resolve(this.heard)));
    this.reply = within('the UNS closes', closed);
    // A test that ends before does not care.
    this.reply.catch(() => undefined);
  }

  send(document: string | Buffer): this {
    this.socket.write(document);
    return this;
  }

  /** Byte by byte, each in a packet of its own as far as the system allows. */
  async drip(document: string | Buffer): Promise<this> {
    for (const byte of Buffer.from(document)) {
      if (this.socket.destroyed) break;
      await new Promise(resolve => this.socket.write(Buffer.from([byte]), resolve));
    }
    return this;
  }

  /** Resolves when `text` was heard. @throws when the connection closes without it */
  hears(text: string): Promise<void> {
    const event = new Promise<void>((resolve, reject) => {
      this.#check = () => {
        if (!this.heard.includes(text)) return;
        this.#check = () => undefined;
        resolve();
      };
      this.socket.on('close', () => reject(new Error(`closed without "${text}":\n${this.heard}`)));
      this.#check();
    });
    return within(`a CP hears ${text}`, event);
  }
}

export interface Received {
  uns: string;
  head: SetHead;
  curls: string[];
  records: UrlRecord[];
}

/** Takes whole sets and confirms them; what a test says of the order and identity of sets is judged here. */
export class Receiver {
  readonly sets: Received[] = [];
  /** The same, which nobody empties. */
  readonly all: Received[] = [];
  readonly sessions: SessionNote[] = [];
  readonly damaged: DamageNote[] = [];
  /** What to answer to a set; `moves` refuses it for now, `hang` answers nothing. */
  answer: (set: Received) => 'absorbed' | 'refused' | 'moves' | 'hang' = () => 'absorbed';
  #server: Server | undefined;
  readonly #sockets = new Set<Socket>();
  #check: () => void = () => undefined;

  async listen(path: string): Promise<this> {
    rmSync(path, { force: true });
    this.#server = createServer(socket => void this.#serve(socket));
    await new Promise<void>(resolve => void this.#server?.listen(path, resolve));
    return this;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise(resolve => (this.#server === undefined ? resolve(0) : this.#server.close(resolve)));
  }

  /** Resolves when `test` holds; looked at after every message. */
  until(test: (receiver: this) => boolean): Promise<void> {
    const event = new Promise<void>(resolve => {
      this.#check = () => void (test(this) && resolve());
      this.#check();
    });
    return within('sets and notes arrive at the Queue Manager', event);
  }

  async #serve(socket: Socket): Promise<void> {
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    let uns = '';
    let set: Received | undefined;
    const say = (answer: Parameters<typeof formatQmAnswer>[0]) => void socket.write(formatQmAnswer(answer));
    await receiveFromUns(
      new Conversation(socket, 'uns', systemClock),
      {
        hello: id => {
          uns = id;
          say({ kind: 'qm' });
        },
        setBegins: head => void (set = { uns, head, curls: [], records: [] }),
        urls: records => {
          set?.curls.push(...records.map(({ curl }) => curl));
          set?.records.push(...records);
        },
        setEnds: () => {
          if (set === undefined) return;
          const { entry, received } = set.head;
          this.sets.push(set);
          this.all.push(set);
          const answer = this.answer(set);
          if (answer === 'refused' || answer === 'moves')
            say({
              kind: 'refused',
              entry,
              code: answer === 'moves' ? 102 : 104,
              reason: 'as the test wants',
            });
          if (answer === 'absorbed')
            say({ kind: 'absorbed', entry, queued: received, duplicate: 0, unchanged: 0, deleted: 0 });
          this.#check();
        },
        session: note => {
          this.sessions.push(note);
          say({ kind: 'noted', pid: note.pid, seq: note.seq, entry: undefined });
          this.#check();
        },
        damaged: note => {
          this.damaged.push(note);
          say({ kind: 'noted', pid: note.pid, seq: undefined, entry: note.entry });
          this.#check();
        },
      },
      { where: 'uns', xml: XML, maxHelloBytes: 128 * 1024, share: new FairShare() },
    ).catch(() => undefined);
    socket.destroy();
    this.#sockets.delete(socket);
  }
}

/** What an LCC holds of a provider after sets: lengths by curl. */
export function heldAfter(sets: readonly Received[]): Record<string, string> {
  const held = new Map<string, string>();
  for (const { head, records } of sets) {
    if (head.set === 'full') held.clear();
    for (const record of records)
      if (isDelete(record)) held.delete(record.curl);
      else held.set(record.curl, record.len ?? '');
  }
  return Object.fromEntries([...held].sort(([a], [b]) => (a < b ? -1 : 1)));
}

const receivers: Receiver[] = [];
afterEach(async () => {
  for (const receiver of receivers.splice(0)) await receiver.close();
});

/** What takes the sets of a home from now on; there until the test is over. */
export async function newReceiver(home: Home): Promise<Receiver> {
  const receiver = await new Receiver().listen(home.qmPath);
  receivers.push(receiver);
  return receiver;
}

/** How many urls a UNS says that it has accepted; NaN where it says nothing of the kind. */
export function accepted(reply: string): number {
  return Number(/<set_accepted received="(\d+)"\/>/.exec(reply)?.[1] ?? NaN);
}

/** The code by which it refuses; NaN where it does not. */
export function codeOf(reply: string): number {
  return Number(/<(?:reason|set_rejected) code="(\d+)"/.exec(reply)?.[1] ?? NaN);
}

/** An init container. */
export function init(pid: number | string, password: string): string {
  return `<lococa:init xmlns:lococa="http://www.lococa.org/1.0"><provider id="${pid}" passwd="${password}"/></lococa:init>\n`;
}

/** A set of html pages below SITE. */
export function set(kind: 'full' | 'partial', ...curls: string[]): string {
  const urls = curls.map(curl => `<url curl="${curl}" mimetype="text/html" len="5"/>\n`).join('');
  return `<lococa:set set="${kind}" urlprefix="${SITE}">\n${urls}</lococa:set>\n`;
}
