/** A spider in this process, with the URL server and the store servers that a test plays. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig, type Config } from '../../../src/config/load.js';
import { keepConnected } from '../../../src/daemon/reconnect.js';
import type { Peer } from '../../../src/daemon/types.js';
import { FetchEngine, type EngineOptions } from '../../../src/fetch/engine.js';
import { systemClock } from '../../../src/lib/clock.js';
import { parseEndpoint } from '../../../src/lib/endpoint.js';
import { createLog } from '../../../src/lib/log.js';
import { Spider, type SpiderOptions } from '../../../src/spider/transaction/spider.js';
import { openFilesLimit } from '../../../src/lib/open-files.js';
import { spiderEngineOptions, spiderLimits, STORE_LIMITS } from '../../../src/spider/transaction/options.js';
import { StoreServer } from '../../../src/spider/transaction/store-server-link.js';
import { STORE_HELLO } from '../../../src/wire/spider-record.js';
import { StoreServers } from '../../../src/spider/transaction/store-server-link.js';
import { SpiderLineReader, type SpiderLine } from '../../../src/wire/spider-lines.js';
import { RecordReader, type SpiderRecord } from '../../../src/wire/spider-record.js';
import { until, watchLog, within } from '../../support/until.js';
import { atEnd } from '../../support/at-end.js';

/** The spiders first: they take their leave of their servers. */
const spiderEnds: (() => Promise<void>)[] = [];
const ends: (() => unknown)[] = [];
atEnd(async () => {
  await Promise.all(spiderEnds.map(end => end()));
  for (const end of ends) end();
});

async function listening(server: Server): Promise<number> {
  await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve));
  ends.push(() => server.close());
  return (server.address() as AddressInfo).port;
}

/** A URL server: it sends what it is told to, and notes what it hears. One that hears DONE twice, or of nothing, fails its test. */
export class PlayedUrlServer {
  port = 0;
  /** Lines heard over all connections. */
  readonly lines: SpiderLine[] = [];
  /** By transaction. */
  readonly done = new Map<string, number>();
  readonly working = new Map<string, number>();
  readonly errs: string[] = [];
  /** The longest silence about a transaction that was under way. */
  longestSilenceMs = 0;
  credit = 0;
  connections = 0;
  socket: Socket | undefined;
  readonly #open = new Map<string, number>();

  static async start(): Promise<PlayedUrlServer> {
    const played = new PlayedUrlServer();
    const server = createServer({ allowHalfOpen: true }, socket => played.#accept(socket));
    played.port = await listening(server);
    ends.push(() => played.socket?.destroy());
    return played;
  }

  #accept(socket: Socket): void {
    // It may end before it has heard all, and hears all before it ends.
    socket.on('end', () => socket.end());
    this.socket = socket;
    this.connections++;
    this.credit = 0;
    this.#open.clear();
    const reader = new SpiderLineReader();
    socket.on('error', () => undefined);
    socket.on('data', bytes => {
      for (const line of reader.read(bytes)) this.#hear(line);
    });
  }

  #hear(line: SpiderLine): void {
    this.lines.push(line);
    if (line.kind === 'get') this.credit += line.count;
    else if (line.kind === 'err') this.errs.push(line.text);
    else if (line.kind === 'bad') assert.fail(`a spider sends a bad line: ${line.why}`);
    else {
      this.#sign(line.transId);
      const counts = line.kind === 'done' ? this.done : this.working;
      counts.set(line.transId, (counts.get(line.transId) ?? 0) + 1);
      assert.ok(this.#open.has(line.transId), `${line.kind} of ${line.transId}, which is not under way`);
      if (line.kind === 'done') this.#open.delete(line.transId);
    }
  }

  #sign(transId: string): void {
    const nowMs = performance.now();
    this.longestSilenceMs = Math.max(this.longestSilenceMs, nowMs - (this.#open.get(transId) ?? nowMs));
    if (this.#open.has(transId)) this.#open.set(transId, nowMs);
  }

  /** Sends a url line; the transaction is named as the document unless it is given. */
  send(docId: number, url: string, { ip = '-', host = hostOf(url), transId = String(docId) } = {}): void {
    assert.ok(this.credit > 0, 'no credit');
    this.credit--;
    this.#open.set(transId, performance.now());
    this.say(`${transId} ${docId} ${ip} ${host} ${url}\n`);
  }

  /** The same as it is, whatever it means; `transIds` are those that an end is due of. */
  say(text: string | Buffer, ...transIds: string[]): void {
    for (const transId of transIds) this.#open.set(transId, performance.now());
    this.socket?.write(text);
  }

  credits(count: number): Promise<unknown> {
    return until(`credit of ${count}`, () => this.credit >= count);
  }

  /** Resolves when that many transactions are done. */
  dones(count: number): Promise<unknown> {
    return until(`${count} DONE`, () => this.done.size >= count);
  }
}

function hostOf(url: string): string {
  try {
    return new URL(url).hostname.replace(/^\[|\]$/g, '') || 'localhost';
  } catch {
    return 'localhost';
  }
}

export interface Kept extends SpiderRecord {
  document: Buffer;
}

/** A store server: keeps records, and acknowledges them, as it is told. */
export class PlayedStore {
  port = 0;
  readonly records: Kept[] = [];
  /** What the connections brought, all of it. */
  receivedBytes = 0;
  /** Called with it. */
  onBytes: (bytes: Buffer) => void = () => undefined;
  /** Documents are kept, not only counted. */
  keepsDocuments = true;
  connections = 0;
  socket: Socket | undefined;
  /** Records whose acknowledgement is held back. */
  held = 0;
  #acknowledges: boolean;
  holds = false;

  constructor(acknowledges: boolean) {
    this.#acknowledges = acknowledges;
  }

  static async start(acknowledges = true): Promise<PlayedStore> {
    const played = new PlayedStore(acknowledges);
    const server = createServer(socket => played.#accept(socket));
    played.port = await listening(server);
    ends.push(() => played.socket?.destroy());
    return played;
  }

  #accept(socket: Socket): void {
    this.socket = socket;
    this.connections++;
    const reader = new RecordReader();
    let begun: { record: SpiderRecord; pieces: Buffer[] } | undefined;
    socket.on('error', () => undefined);
    if (this.#acknowledges) socket.write(STORE_HELLO);
    socket.on('data', (bytes: Buffer) => {
      this.receivedBytes += bytes.length;
      this.onBytes(bytes);
      for (const part of reader.read(bytes)) {
        if (part.kind === 'head') begun = { record: part.record, pieces: [] };
        else if (part.kind === 'body') {
          if (this.keepsDocuments) begun?.pieces.push(Buffer.from(part.bytes));
        } else if (begun !== undefined) {
          this.records.push({ ...begun.record, document: Buffer.concat(begun.pieces) });
          if (this.holds) this.held++;
          else this.acknowledge(begun.record.docId);
        }
      }
    });
  }

  /** Acknowledges on connections from now on. */
  becomesStore(): void {
    this.#acknowledges = true;
    this.socket?.destroy();
  }

  acknowledge(docId: number): void {
    if (!this.#acknowledges) return;
    const ack = Buffer.alloc(4);
    ack.writeUInt32BE(docId);
    this.socket?.write(ack);
  }

  /** @returns the records of a document */
  of(docId: number): Kept[] {
    return this.records.filter(record => record.docId === docId);
  }

  until(count: number): Promise<unknown> {
    return until(`${count} records`, () => this.records.length >= count);
  }
}

export interface SpiderScene {
  spider: Spider;
  urls: PlayedUrlServer;
  stores: PlayedStore[];
  config: Config;
  log: () => string;
  stop: () => Promise<void>;
}

export interface SceneOptions {
  /** Settings, without `spider.`. */
  settings?: Record<string, string>;
  engine?: Partial<EngineOptions>;
  stores?: PlayedStore[];
  /** Bounds that no setting has: of the spider, and of its links to store servers. */
  bounds?: Partial<Pick<SpiderOptions, 'memoryBytes' | 'memoryDocBytes' | 'maxUnsentBytes'>>;
  links?: Partial<typeof STORE_LIMITS>;
}

/** A spider with two slots that fetches from this machine, connected to all of its servers. */
export async function scene({
  settings = {},
  engine = {},
  stores,
  bounds = {},
  links = {},
}: SceneOptions = {}): Promise<SpiderScene> {
  const home = mkdtempSync(join(tmpdir(), 'lcc-spider-'));
  const all = { slots: '2', grace_ms: '0', ...settings };
  const overrides = Object.fromEntries(Object.entries(all).map(([key, value]) => [`spider.${key}`, value]));
  const config = loadConfig({ env: { LCC_HOME: home }, overrides });
  const lines: string[] = [];
  const log = createLog({
    name: 'lccspider',
    level: 'debug',
    human: false,
    write: line => void lines.push(line),
  });
  watchLog(() => lines.join(''));
  const urls = await PlayedUrlServer.start();
  const playedStores = stores ?? [await PlayedStore.start()];
  const clock = systemClock;
  const servers = playedStores.map(
    ({ port }) => new StoreServer({ ...STORE_LIMITS, ...links, name: `127.0.0.1:${port}`, clock, log }),
  );
  const spider = new Spider({
    ...spiderLimits(config, openFilesLimit()),
    ...bounds,
    engine: new FetchEngine({
      ...spiderEngineOptions(config.settings.spider),
      allowAddresses: ['127.0.0.0/8'],
      ...engine,
      clock,
    }),
    stores: new StoreServers(servers),
    clock,
    log,
  });
  const context = { net: config.settings.net, clock, log, servers: new Map(), role: 'server' };
  const peers: Peer[] = [
    ...playedStores.map(({ port }, at) =>
      keepConnected(parseEndpoint(`127.0.0.1:${port}`), context, made => servers[at]?.connected(made)),
    ),
    keepConnected(parseEndpoint(`127.0.0.1:${urls.port}`), context, made => spider.serve(made)),
  ];
  let isStopped = false;
  const stop = async () => {
    if (isStopped) return;
    isStopped = true;
    await within('the spider stops', spider.stop());
    for (const peer of peers) peer.close();
  };
  spiderEnds.push(async () => {
    await stop();
    rmSync(home, { recursive: true, force: true });
  });
  await urls.credits(Number(all.slots));
  await until('the spider has its store servers', () => spider.status().store_servers_away === 0);
  return { spider, urls, stores: playedStores, config, log: () => lines.join(''), stop };
}
