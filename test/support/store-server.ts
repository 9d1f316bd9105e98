/** A store server with a folder of its own, spiders that are sockets of the test, and what it holds as other programs see it. */
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { errnoOf } from '../../src/lib/errors.js';
import { openSqlite } from '../../src/lib/sqlite.js';
import { formatRecordHead, type SpiderRecord } from '../../src/wire/spider-record.js';
import { statusOf, startDaemon, type Daemon } from './daemon.js';
import { until, within } from './until.js';

const HELLO = 'LCCACK1\n';

export interface SentRecord extends Partial<SpiderRecord> {
  docId: number;
  doc?: Uint8Array | string;
}

/** The bytes of a record: well fetched, where nothing else is said. */
export function recordBytes({ doc = '', ...rest }: SentRecord): Buffer {
  const document = Buffer.from(doc as string);
  const head = formatRecordHead({
    success: true,
    reason: 'ok',
    redirected: false,
    cut: false,
    http: 20,
    durationMs: 5,
    url: `http://www.example.org/${rest.docId}`,
    newUrl: '',
    ...rest,
    docBytes: document.length,
  });
  return Buffer.concat([head, document]);
}

/** A failure of a fetch, without any document. */
export function failureBytes(docId: number, rest: Partial<SentRecord> = {}): Buffer {
  return recordBytes({ docId, success: false, reason: 'http-4xx', http: 44, ...rest });
}

export interface SeenRow {
  doc_id: number;
  url: string;
  new_url: string;
  success: number;
  reason: number;
  http: number;
  ms: number;
  len: number | null;
  md5: string | null;
  is_good: number;
  path: string | null;
  pos: number;
  bytes: number;
}

/** A spider that sends what it is told to, and notes what is acknowledged. */
export class FakeSpider {
  readonly socket: Socket;
  /** Ids in the order of their acknowledgements. */
  readonly acks: number[] = [];
  hello = '';
  /** Resolves when the connection is over, however. */
  readonly over: Promise<void>;
  #rest = Buffer.alloc(0);
  #waiting = new Set<() => void>();

  /** @param at a port of the loopback, or the path of a socket */
  constructor(at: number | string, isReading = true) {
    this.socket = typeof at === 'string' ? connect(at) : connect(at, '127.0.0.1');
    this.socket.on('error', () => undefined);
    this.over = new Promise(resolve => void this.socket.once('close', () => resolve()));
    if (isReading) this.socket.on('data', (bytes: Buffer) => this.#read(bytes));
    void this.over.then(() => this.#stir());
  }

  #read(bytes: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, bytes]);
    if (this.hello === '' && this.#rest.length >= HELLO.length) {
      this.hello = this.#rest.toString('latin1', 0, HELLO.length);
      this.#rest = this.#rest.subarray(HELLO.length);
    }
    if (this.hello === '') return;
    for (; this.#rest.length >= 4; this.#rest = this.#rest.subarray(4))
      this.acks.push(this.#rest.readUInt32BE(0));
    this.#stir();
  }

  #stir(): void {
    for (const check of this.#waiting) check();
  }

  /** Resolves when the system has taken it, or the connection is over. */
  async send(...records: Uint8Array[]): Promise<void> {
    for (const record of records)
      if (!this.socket.destroyed && !this.socket.write(record))
        await Promise.race([
          new Promise<void>(resolve => void this.socket.once('drain', resolve)),
          this.over,
        ]);
  }

  /** Resolves when `count` records have been acknowledged. @returns whether they were, before the connection was over */
  async acked(count: number): Promise<boolean> {
    const event = new Promise<boolean>(resolve => {
      const check = () => {
        const isThere = this.acks.length >= count;
        if (!isThere && !this.socket.closed) return;
        this.#waiting.delete(check);
        resolve(isThere);
      };
      this.#waiting.add(check);
      check();
    });
    return within(`${count} records are acknowledged`, event);
  }

  /** Ends its side; resolves when all is acknowledged that is going to be. */
  async end(): Promise<number[]> {
    this.socket.end();
    await within('the store server closes', this.over);
    return this.acks;
  }
}

export class StoreHome {
  readonly dir = mkdtempSync(join(tmpdir(), 'lcc-stored-'));
  /** Of the store. */
  readonly store: string;
  readonly daemons: Daemon[] = [];

  /** @param store elsewhere than in the home */
  constructor(store?: string) {
    this.store = store ?? join(this.dir, 'spider/store');
  }

  async start(args: readonly string[] = [], env: NodeJS.ProcessEnv = {}): Promise<Daemon> {
    const daemon = this.begin(args, env);
    await daemon.ready;
    return daemon;
  }

  /** The same without waiting for it. */
  begin(args: readonly string[] = [], env: NodeJS.ProcessEnv = {}): Daemon {
    const daemon = startDaemon(
      'lccstored',
      this.dir,
      ['--listen=127.0.0.1:0', `--dir=${this.store}`, ...args],
      env,
    );
    this.daemons.push(daemon);
    return daemon;
  }

  /** The daemon that was started last. */
  get daemon(): Daemon {
    const last = this.daemons.at(-1);
    if (last === undefined) throw new Error('no daemon was started');
    return last;
  }

  spider(): FakeSpider {
    return new FakeSpider(this.daemon.port);
  }

  /** Sends records over a connection of their own. @returns the ids that were acknowledged */
  async keep(...records: Uint8Array[]): Promise<number[]> {
    const spider = this.spider();
    await spider.send(...records);
    return spider.end();
  }

  configure(toml: string): void {
    writeFileSync(join(this.dir, 'lcc.toml'), toml);
  }

  status(): Promise<Record<string, unknown>> {
    return statusOf(this.dir, 'lccstored');
  }

  async untilStatus(what: string, isSo: (status: Record<string, unknown>) => boolean): Promise<void> {
    await until(what, async () => isSo(await this.status()));
  }

  /** The rows of the view that lcc-spider(5) describes. */
  rows(): SeenRow[] {
    if (!existsSync(join(this.store, 'store.db'))) return [];
    const db = openSqlite(join(this.store, 'store.db'), { readonly: true });
    try {
      return db.prepare('SELECT * FROM document ORDER BY doc_id').all() as SeenRow[];
    } finally {
      db.close();
    }
  }

  /** A document, as the manual says how it is read, its checksum compared; undefined where there is none. */
  document(row: SeenRow | undefined): Buffer | undefined {
    if (row === undefined || row.len === null) return undefined;
    let document = Buffer.alloc(0);
    if (row.path !== null) {
      const stored = readFileSync(join(this.store, row.path)).subarray(row.pos, row.pos + row.bytes);
      const record = row.path.endsWith('.gz') ? gunzipSync(stored) : stored;
      document = Buffer.from(record.subarray(record.length - row.len));
    }
    const md5 = createHash('md5').update(document).digest('hex');
    if (document.length !== row.len || md5 !== row.md5)
      throw new Error(`document ${row.doc_id} is not what its row says`);
    return document;
  }

  /** All documents by their ids. */
  documents(): Map<number, Buffer> {
    return new Map(
      this.rows().flatMap(row => {
        const document = this.#documentNow(row);
        return document === undefined ? [] : [[row.doc_id, document]];
      }),
    );
  }

  /** The same for a row that is some moments old: its file may have been removed meanwhile, after the row was changed. */
  #documentNow(row: SeenRow): Buffer | undefined {
    for (let seen: SeenRow | undefined = row; ;) {
      try {
        return this.document(seen);
      } catch (error) {
        if (errnoOf(error) !== 'ENOENT') throw error;
        const again: SeenRow | undefined = this.rows().find(({ doc_id }) => doc_id === row.doc_id);
        if (again?.path === seen?.path) throw error;
        seen = again;
      }
    }
  }

  /** Files of records, below the folder of the store. */
  files(): string[] {
    const docs = join(this.store, 'docs');
    return readdirSync(docs, { recursive: true })
      .map(String)
      .filter(name => name.includes('.rec'))
      .toSorted()
      .map(name => join('docs', name));
  }

  /** What is being written. */
  drafts(): string[] {
    return readdirSync(join(this.store, 'tmp'));
  }

  async end(): Promise<void> {
    await Promise.all(this.daemons.map(daemon => daemon.stop('SIGKILL')));
    rmSync(this.dir, { recursive: true, force: true });
  }
}
