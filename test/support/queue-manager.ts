/** The real bin/lccd-qm on a home of its own, and a UNS and a Bot Manager spoken by hand. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openReadOnly, type Db } from '../../src/db/sqlite/open.js';
import { systemClock } from '../../src/lib/clock.js';
import { escapeAttribute } from '../../src/lib/xml/escape.js';
import type { DeleteRequest, FetchRequest, FetchResult } from '../../src/wire/fetch.js';
import { SourcePeer } from '../../src/wire/qm-bm.js';
import type { UpkeepRequest, UpkeepResult } from '../../src/wire/upkeep.js';
import { setStart, unsHello, SET_END, type SetHead } from '../../src/wire/uns-qm.js';
import type { UrlRecord } from '../../src/wire/url.js';
import { FairShare } from '../../src/lib/fair-share.js';
import { startDaemon, statusOf, type Daemon } from './daemon.js';
import { newDatabase } from './new-database.js';
import { until, within } from './until.js';

export const XML_LIMITS = { maxTokenBytes: 65536, maxDepth: 8, maxAttributes: 32, maxNameBytes: 256 };

export class Qm {
  readonly home = mkdtempSync(join(tmpdir(), 'lcc-qmd-'));
  daemon: Daemon | undefined;

  constructor(toml = '') {
    mkdirSync(join(this.home, 'run'), { recursive: true });
    writeFileSync(join(this.home, 'lcc.toml'), toml);
    const db = newDatabase(this.dbPath);
    db.prepare("INSERT INTO pidb(pid, password) VALUES (7, 'x'), (8, 'x')").run();
    db.prepare("INSERT INTO proots VALUES (7, 'http://127.0.0.1/'), (8, 'http://127.0.0.1/')").run();
    db.close();
  }

  get dbPath(): string {
    return join(this.home, 'lcc.db');
  }
  get unsPath(): string {
    return join(this.home, 'run/uns.sock');
  }
  get bmPath(): string {
    return join(this.home, 'run/bm.sock');
  }

  get log(): string {
    return this.daemon?.log ?? '';
  }

  /** Starts it and waits until it is ready. */
  async start(env: NodeJS.ProcessEnv = {}): Promise<void> {
    const listening = [`--listen-uns=unix:${this.unsPath}`, `--listen-bm=unix:${this.bmPath}`];
    this.daemon = startDaemon('lccd-qm', this.home, listening, env);
    await this.daemon.ready;
  }

  /** Waits until the process has ended. @returns its signal or exit status */
  async ended(): Promise<string | number | undefined> {
    return this.daemon && (await within('lccd-qm ends', this.daemon.ended));
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    await this.daemon?.stop(signal);
  }

  async close(): Promise<void> {
    await this.kill();
    rmSync(this.home, { recursive: true });
  }

  read<T>(look: (db: Db) => T): T {
    const db = openReadOnly(this.dbPath);
    try {
      return look(db);
    } finally {
      db.close();
    }
  }

  rows(sql: string): Record<string, unknown>[] {
    return this.read(db => db.prepare(sql).all() as Record<string, unknown>[]);
  }

  control(line: string): Promise<Record<string, unknown>> {
    return statusOf(this.home, 'lccd-qm', line);
  }

  /** Resolves when `status` says so. */
  async until(condition: (status: Record<string, unknown>) => boolean): Promise<void> {
    await until(`lccd-qm says ${String(condition)}`, async () => condition(await this.control('status')));
  }
}

/** A UNS spoken by hand: answers are collected as text. */
export class Uns {
  readonly socket: Socket;
  text = '';
  closed = false;

  constructor(qm: Pick<Qm, 'unsPath'>, id = 'u1') {
    this.socket = connect(qm.unsPath);
    this.socket.on('error', () => undefined);
    this.socket.on('close', () => {
      this.closed = true;
      this.socket.emit('answer');
    });
    this.socket.on('data', data => {
      this.text += String(data);
      this.socket.emit('answer');
    });
    this.socket.write(unsHello(id));
  }

  /** Waits for text, and takes everything up to and with it. @returns false when the connection closed before */
  async hear(what: RegExp): Promise<boolean> {
    for (;;) {
      const found = what.exec(this.text);
      if (found !== null) {
        this.text = this.text.slice(found.index + found[0].length);
        return true;
      }
      if (this.closed) return false;
      const more = new Promise<void>(resolve => void this.socket.once('answer', resolve));
      await within(`the Queue Manager answers ${String(what)}`, more);
    }
  }

  set(entry: string, urls: readonly UrlRecord[], more: Partial<SetHead> = {}): Promise<boolean> {
    this.socket.write(setText(entry, urls, more));
    return this.hear(/<lococa:(absorbed|refused)[^]*?>/);
  }
}

let connections = 0;

export function setText(entry: string, urls: readonly UrlRecord[], more: Partial<SetHead> = {}): string {
  const head: SetHead = {
    entry,
    pid: 7,
    seq: 1,
    set: 'partial',
    urlprefix: 'http://127.0.0.1/',
    received: urls.length,
    errseen: 0,
    ip: '',
    atS: 1,
    // Each later than the one before, by whichever UNS.
    newest: ++connections,
    numbering: 'n',
    after: 0,
    ...more,
  };
  const lines = urls.map(
    url =>
      `<url${Object.entries(url)
        .map(([name, value]) => ` ${name}="${escapeAttribute(String(value))}"`)
        .join('')}/>\n`,
  );
  return setStart(head) + lines.join('') + SET_END;
}

/** A Bot Manager spoken by hand. */
export class Bm {
  readonly peer: SourcePeer;
  readonly socket: Socket;
  readonly fetches: FetchRequest[] = [];
  readonly deletes: DeleteRequest[] = [];
  readonly upkeeps: UpkeepRequest[] = [];
  /** Lanes it was told to give back. */
  readonly recalls: string[] = [];
  /** Of these, where what has begun was to be given up as well. */
  readonly givenUp: string[] = [];
  onFetch: ((request: FetchRequest) => FetchResult | undefined) | undefined;
  /** `ok` for what it says nothing of. */
  onUpkeep: ((request: UpkeepRequest) => UpkeepResult['status'] | undefined) | undefined;
  /** Asked after `onUpkeep`. */
  answersUpkeep = () => true;
  readonly #seen = new Set<() => void>();

  constructor(
    qm: Pick<Qm, 'bmPath'>,
    options: { slots?: number; machineId?: string; storeId?: string; answerDeletes?: boolean } = {},
  ) {
    this.socket = connect(qm.bmPath);
    this.peer = new SourcePeer(
      this.socket,
      {
        fetch: request => {
          this.fetches.push(request);
          const result = this.onFetch?.(request);
          if (result !== undefined) this.peer.fetched(result);
          this.#wake();
        },
        recall: (lane, begun) => {
          this.recalls.push(lane);
          if (begun) this.givenUp.push(lane);
          this.#wake();
        },
        delete: request => {
          this.deletes.push(request);
          if (options.answerDeletes !== false) this.peer.deleted({ id: request.id, status: 'ok' });
          this.#wake();
        },
        upkeep: request => {
          this.upkeeps.push(request);
          const status = this.onUpkeep?.(request) ?? 'ok';
          if (this.answersUpkeep()) this.peer.upkept({ kind: request.kind, id: request.id, status });
          this.#wake();
        },
        refused() {},
        closed: () => this.#wake(),
      },
      {
        where: 'qm',
        clock: systemClock,
        xml: XML_LIMITS,
        maxHelloBytes: 128 * 1024,
        share: new FairShare(),
        maxPendingBytes: 8 * 1024 * 1024,
        stallTimeoutMs: 60_000,
      },
    );
    this.peer.hello({
      machineIds: [options.machineId ?? 'm1'],
      slots: options.slots ?? 4,
      storeIds: options.storeId === undefined ? [] : [options.storeId],
      relays: false,
    });
  }

  /** Resolves when the condition holds; it is looked at whenever something arrives. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) {
      const more = new Promise<void>(resolve => void this.#seen.add(resolve));
      await within(`the Queue Manager asks until ${String(condition)}`, more);
    }
  }

  close(): void {
    this.socket.destroy();
  }

  #wake(): void {
    for (const resolve of this.#seen) resolve();
    this.#seen.clear();
  }
}
