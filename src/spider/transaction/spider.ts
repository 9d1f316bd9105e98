/**
 * The spider: urls of a URL server in, fetches in a number of slots, records out to store servers, one DONE
 * for each url. It queues nothing: it asks for as many urls as it has slots, and for one more for each that
 * is over.
 *
 * A slot is taken from the url line until its record is stored, so that all that is in memory, or waits for a
 * store server that is away, is what the slots hold.
 */
import { isIP } from 'node:net';
import type { Connection } from '../../daemon/types.js';
import type { FetchEngine } from '../../fetch/engine.js';
import { ContentMemory, SpoolSink } from '../../fetch/spool-sink.js';
import type { Clock } from '../../lib/clock.js';
import { messageOf } from '../../lib/errors.js';
import type { Log } from '../../lib/log.js';
import type { SpiderReason } from '../../wire/spider-codes.js';
import { formatDone, formatWorking, hostNameOf, type ServerLine } from '../../wire/spider-lines.js';
import { MAX_RECORD_URL_BYTES } from '../../wire/spider-record.js';
import { endOf, unfetched, type FetchEnd } from './end.js';
import type { LccspiderStatus } from './figures.js';
import type { StoreServers } from './store-server-link.js';
import { SpiderTransaction } from './transaction.js';
import { UrlServerSession } from './url-server-link.js';

export interface SpiderOptions {
  engine: FetchEngine;
  stores: StoreServers;
  /** Transactions at a time. */
  slots: number;
  /** The URL server hears of each transaction four times in it. */
  timeoutUpdateMs: number;
  /** Contents in memory, altogether, and of one; what is beyond goes into files in `spoolDir`. */
  memoryBytes: number;
  memoryDocBytes: number;
  spoolDir: string;
  maxUnsentBytes: number;
  maxBadLines: number;
  /** Time for fetches under way when it is told to stop. */
  graceMs: number;
  clock: Clock;
  log: Log;
}

/** Time for records of what was given up at the end. */
const LAST_RECORDS_MS = 2000;
/** Time for the URL server to read what was said last. */
const LAST_WORDS_MS = 1000;

/** Hosts with forbidden addresses that the log names. */
const MAX_HOSTS_TOLD = 100;

/** A line that has a transaction and a document. */
type TaskLine = Extract<ServerLine, { kind: 'url' | 'bad' }>;

export class Spider {
  readonly #options: SpiderOptions;
  readonly #memory: ContentMemory;
  /** Each with what ends its signs of life. */
  readonly #open = new Map<SpiderTransaction, () => void>();
  #session: UrlServerSession | undefined;
  #willGrant = false;
  #isStopping = false;
  #isGivingUp = false;
  #hasToldSenseless = false;
  /** Hosts that the log has named as not public. */
  readonly #forbiddenHosts = new Set<string>();
  #whenIdle: (() => void) | undefined;
  readonly #counts = { fetched: 0, failed: 0, orphaned: 0, content_bytes: 0, wire_bytes: 0, bad_lines: 0 };

  constructor(options: SpiderOptions) {
    this.#options = options;
    this.#memory = new ContentMemory(options.memoryBytes);
  }

  /** A connection to the URL server; the one before is gone. */
  serve(connection: Connection): void {
    const { clock, log, maxUnsentBytes, maxBadLines } = this.#options;
    const session: UrlServerSession = new UrlServerSession(connection, {
      maxUnsentBytes,
      maxBadLines,
      clock,
      log,
      senseless: ({ why, shown }, peer) => {
        if (this.#hasToldSenseless) return;
        this.#hasToldSenseless = true;
        log.warn(
          'URL server: a line makes no sense, and others are not reported; is it the one for --urlserver?',
          {
            peer,
            line: shown === '' ? undefined : shown,
            reason: why,
          },
        );
      },
      line: line => this.#begin(session, line),
      closed: () => {
        this.#counts.bad_lines += session.badLines;
        if (this.#session === session) this.#session = undefined;
      },
    });
    this.#session = session;
    this.#grant();
  }

  status(): LccspiderStatus {
    const all = [...this.#open.keys()];
    const inState = (state: SpiderTransaction['state']) => all.filter(each => each.state === state).length;
    const { stores, slots } = this.#options;
    return {
      idle: all.length === 0,
      slots,
      fetching: inState('fetching'),
      storing: inState('queued'),
      unconfirmed: inState('written'),
      orphans: all.filter(({ session }) => session === undefined).length,
      credit: this.#session?.credit ?? 0,
      url_servers: this.#session === undefined ? 0 : 1,
      store_servers_away: stores.awayCount,
      memory_bytes: this.#memory.usedBytes,
      ...this.#counts,
      bad_lines: this.#counts.bad_lines + (this.#session?.badLines ?? 0),
      resent_records: stores.resentCount,
    };
  }

  /** Asks for nothing more; gives what is under way its time, and up after it; tells the ends, and closes. */
  async stop(): Promise<void> {
    const { graceMs, engine, stores } = this.#options;
    this.#isStopping = true;
    await this.#idleWithin(graceMs);
    this.#isGivingUp = true;
    // Each has its outcome before this returns.
    engine.close();
    await this.#idleWithin(LAST_RECORDS_MS);
    for (const cancel of this.#open.values()) cancel();
    stores.close();
    const ended = this.#session?.end();
    await Promise.race([ended, this.#pause(LAST_WORDS_MS)]);
  }

  // Urls in

  #grantSoon(): void {
    if (this.#willGrant) return;
    this.#willGrant = true;
    setImmediate(() => {
      this.#willGrant = false;
      this.#grant();
    });
  }

  #grant(): void {
    if (this.#session === undefined || this.#isStopping) return;
    const free = this.#options.slots - this.#open.size - this.#session.credit;
    if (free > 0) this.#session.grant(free);
  }

  #begin(session: UrlServerSession, line: TaskLine): void {
    const { transId, docId, url } = line;
    if (transId === undefined || docId === undefined) return;
    this.#grantSoon();
    // The server sends it again, to somebody, when it hears nothing of it.
    if (this.#isStopping) return session.remark(`${transId}: this spider stops`);
    if (session.has(transId)) return session.complain(`${transId}: this transaction is under way`);
    const { memoryDocBytes: maxMemoryBytes, spoolDir: dir } = this.#options;
    const content = new SpoolSink({ memory: this.#memory, maxMemoryBytes, dir });
    const task = { transId, docId, url };
    const transaction = new SpiderTransaction(task, content, session, over => this.#over(over));
    session.add(transaction);
    this.#stayAlive(transaction);
    if (line.kind === 'bad') {
      session.remark(`${transId}: ${line.why}`);
      this.#end(transaction, unfetched('bad-url'));
      return;
    }
    const target = targetOf(url);
    if (!(target instanceof URL)) this.#end(transaction, unfetched(target));
    else this.#fetch(transaction, target, line);
  }

  #fetch(
    transaction: SpiderTransaction,
    target: URL,
    { hostIp: address, hostName, transId, url }: Extract<TaskLine, { kind: 'url' }>,
  ): void {
    const host = hostNameOf(target);
    if (bare(host) !== bare(hostName))
      transaction.session?.remark(`${transId}: ${hostName} is not the host of its url`);
    const job = { url, roots: [], ...(address !== undefined && { address }) };
    this.#options.engine.fetch(job, transaction.content, {
      done: outcome => {
        if (outcome.status === 'error' && outcome.failure.kind === 'bug')
          this.#options.log.error('fetch failed by a bug here', { url, reason: outcome.failure.detail });
        if (outcome.status === 'error' && outcome.failure.kind === 'sink')
          this.#options.log.error('content not kept', { url, reason: messageOf(outcome.failure.error) });
        if (outcome.status === 'error' && outcome.failure.kind === 'guard' && outcome.isRedirected !== true)
          this.#reportForbidden(host, outcome.failure.detail);
        this.#counts.wire_bytes += outcome.wireBytes;
        this.#end(transaction, endOf(outcome, transaction.content.length));
      },
    });
  }

  /** @param address what is not permitted: an address, with a name that leads to it */
  #reportForbidden(host: string, address: string): void {
    const told = this.#forbiddenHosts;
    if (told.has(host) || told.size > MAX_HOSTS_TOLD) return;
    told.add(host);
    if (told.size > MAX_HOSTS_TOLD)
      this.#options.log.warn('more addresses are not public; they are not named');
    else
      this.#options.log.warn(
        'not fetched, for its address is not public; --allow-private or --allow-address permits it',
        { host, address },
      );
  }

  // Records out

  #end(transaction: SpiderTransaction, end: FetchEnd): void {
    if (this.#isGivingUp && end.reason === 'cancelled') return this.#drop(transaction);
    transaction.ended(end);
    if (end.success) {
      this.#counts.fetched++;
      this.#counts.content_bytes += transaction.content.length;
    } else this.#counts.failed++;
    this.#options.stores.deliver(transaction);
  }

  #over(transaction: SpiderTransaction): void {
    const { session, task } = transaction;
    if (session === undefined) this.#counts.orphaned++;
    session?.say(formatDone(task.transId));
    this.#remove(transaction);
    this.#grantSoon();
  }

  #drop(transaction: SpiderTransaction): void {
    transaction.dropped();
    this.#remove(transaction);
  }

  #remove(transaction: SpiderTransaction): void {
    this.#open.get(transaction)?.();
    this.#open.delete(transaction);
    transaction.session?.remove(transaction);
    if (this.#open.size === 0) this.#whenIdle?.();
  }

  /** Gives a sign of life of a transaction once in a period, until it is removed. */
  #stayAlive(transaction: SpiderTransaction): void {
    const { clock, timeoutUpdateMs } = this.#options;
    const cancel = clock.after(timeoutUpdateMs / 4, () => {
      transaction.session?.say(formatWorking(transaction.task.transId));
      this.#stayAlive(transaction);
    });
    this.#open.set(transaction, cancel);
  }

  #pause(delayMs: number): Promise<void> {
    return new Promise(resolve => void this.#options.clock.after(delayMs, resolve));
  }

  async #idleWithin(limitMs: number): Promise<void> {
    if (this.#open.size === 0) return;
    await new Promise<void>(resolve => {
      const cancel = this.#options.clock.after(limitMs, resolve);
      this.#whenIdle = () => {
        cancel();
        resolve();
      };
    });
    this.#whenIdle = undefined;
  }
}

/** The url to ask for, or the reason against it. */
function targetOf(url: string): URL | SpiderReason {
  if (url.length > MAX_RECORD_URL_BYTES) return 'long-url';
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch {
    return 'bad-url';
  }
  return parsed.protocol === 'http:' || parsed.protocol === 'https:' ? parsed : 'scheme';
}

/** A host as it is compared. */
function bare(host: string): string {
  return isIP(host) === 6 ? new URL(`http://[${host}]/`).hostname : host.toLowerCase().replace(/\.$/, '');
}
