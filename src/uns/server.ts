/** The UNS as a whole: connections become sessions, sessions fill the spool, the spool empties towards the
 * QM. */
import { dirname } from 'node:path';
import { Places, type Evict } from '../daemon/places.js';
import type { Connection } from '../daemon/types.js';
import { PidbReader } from '../db/providers/pidb-reader.js';
import { SessionStore } from '../db/spools/sessions.js';
import { within, type Clock } from '../lib/clock.js';
import { Conversation } from '../lib/conversation.js';
import { Counts } from '../lib/counts.js';
import { makeDirectoryDurably } from '../lib/durable.js';
import { DutyCycle } from '../lib/duty-cycle.js';
import { FairShare } from '../lib/fair-share.js';
import { LccError, messageOf } from '../lib/errors.js';
import type { Log } from '../lib/log.js';
import { Spool } from '../lib/spool.js';
import { initRejected } from '../wire/cp-uns/server.js';
import type { UnsStatus } from './figures.js';
import { Forwarder } from './forward.js';
import { Absorptions } from './absorptions.js';
import { SpoolIntake } from './spool-intake.js';
import { Logins } from './logins.js';
import { LINGER_TIMEOUT_MS, type UnsOptions } from './options.js';
import { Rations } from './full-sets-allowed.js';
import { Refusal } from '../wire/refusal.js';
import { SpiderDoor } from './spider-door.js';
import { serveWebDoor } from './web-door.js';
import { CpSession, type SessionParts } from './session.js';
import { setsInSpools } from './spool-names.js';
import { emptyAfterTakeOver } from './take-over.js';

const OFF_LINE = new LccError('try.later', 'temporarily off-line, try again later');

interface UnsParts {
  options: UnsOptions;
  /** The epoch of this machine in a kept home. */
  epoch?: number;
  clock: Clock;
  log: Log;
  /** Called when the process must end: a sync has failed. */
  fail: (error: unknown) => void;
}

/** How long sessions of a kept home may go on at a stop. */
const LAST_SETS_MS = 3000;

export class UnsServer {
  readonly #parts: UnsParts;
  readonly #spool: Spool;
  readonly #sessions: SessionStore;
  readonly #intake: SpoolIntake;
  readonly #pidb: PidbReader;
  readonly #logins: Logins;
  readonly #spiderDoor: SpiderDoor;
  readonly #places: Places;
  readonly #forwarder: Forwarder;
  /** There in a kept home. */
  readonly #absorptions: Absorptions | undefined;
  readonly #sessionParts: SessionParts;
  readonly #open = new Map<CpSession, Promise<void>>();
  readonly #counts = { accepted: 0, refused: 0, urls: 0 };
  #stopping = false;

  /** @throws LccError `try.later` when another process serves the spool */
  constructor(parts: UnsParts) {
    this.#parts = parts;
    const { options, clock, log } = parts;
    makeDirectoryDurably(options.spoolDir, 0o750);
    this.#spool = new Spool({
      dir: options.spoolDir,
      steps: 'uns.spool',
      fail: parts.fail,
      log,
    });
    this.#pidb = new PidbReader(options.lccDb);
    emptyAfterTakeOver(parts.epoch ?? 0, options, { spool: this.#spool, pidb: this.#pidb, log });
    this.#sessions = new SessionStore(options.sessionsDb, parts);
    this.#sessions.raise(newestNamed(dirname(options.spoolDir)));
    const share = new FairShare();
    this.#places = placesFor(options, parts, share);
    const duty = new DutyCycle<number>(clock);
    this.#forwarder = new Forwarder({
      options,
      spool: this.#spool,
      sessions: this.#sessions,
      duty,
      clock,
      log,
    });
    this.#absorptions = options.isKept
      ? new Absorptions(clock, id => this.#forwarder.withdraw(id))
      : undefined;
    this.#forwarder.awaiting = this.#absorptions;
    const intake = new SpoolIntake(
      {
        spool: this.#spool,
        sessions: this.#sessions,
        waiting: pid => this.#forwarder.waiting(pid),
        onEntry: () => this.#forwarder.wake(),
      },
      options,
    );
    this.#intake = intake;
    const rations = new Rations(options, { pidb: this.#pidb, intake, clock });
    this.#logins = new Logins(options, {
      pidb: this.#pidb,
      sessions: this.#sessions,
      intake,
      rations,
      clock,
      log,
      fail: parts.fail,
    });
    this.#sessionParts = {
      options,
      clock,
      log,
      intake,
      rations,
      pidb: this.#pidb,
      absorptions: this.#absorptions,
      share,
      duty,
      perProvider: new Counts(),
      logins: this.#logins,
      parted: (pid, errseen) => this.#parted(pid, errseen),
      counted: (what, by) => void (this.#counts[what] += by),
    };
    this.#spiderDoor = new SpiderDoor(this.#sessionParts);
    if (this.#spool.entries.length > 0)
      log.info('sets wait in the spool', { sets: this.#spool.entries.length });
  }

  /** A CP has connected. */
  accept(connection: Connection): void {
    const { socket, peer, address } = connection;
    const evict: Evict = ({ message }, mayLinger) => {
      const why = new Refusal(102, message);
      if (mayLinger) session.refuse(why);
      else session.cut(why);
    };
    const place = this.#stopping
      ? this.#places.turnAway(connection, OFF_LINE)
      : this.#places.admit(connection, evict);
    if (place === undefined) return void (this.#counts.refused += 1);
    const talk = new Conversation(socket, peer, this.#parts.clock);
    const session = new CpSession(this.#sessionParts, talk, place, { peer, address });
    const ended = session.run().finally(() => this.#open.delete(session));
    this.#open.set(session, ended);
    ended.catch(this.#parts.fail);
  }

  /** A daemon in front has connected, for a client of its own; what delivers urls that nobody announced, or
   * hears of pushes. */
  acceptAt(door: 'front' | 'spider' | 'push', connection: Connection): void {
    const served =
      door === 'front'
        ? serveWebDoor(this.#sessionParts, connection)
        : this.#spiderDoor.accept(connection, door === 'push');
    served.catch(this.#parts.fail);
  }

  /** A new connection to the Queue Manager. */
  serveQueueManager(connection: Connection): void {
    this.#forwarder.serve(connection).catch(this.#parts.fail);
  }

  status(): Omit<UnsStatus, 'listens'> {
    const aside = this.#spool.aside;
    const sets = [...this.#open.keys()].filter(session => session.hasSet).length;
    return {
      idle: this.#spool.entries.length === 0 && sets === 0,
      id: this.#parts.options.id,
      connections: this.#places.count,
      max_connections: this.#parts.options.limits.maxConnections,
      sessions: this.#places.known,
      sets_open: sets,
      sets_spooled: this.#spool.entries.length,
      spool_bytes: this.#spool.bytes,
      max_spool_bytes: this.#parts.options.limits.maxSpoolBytes,
      no_room: this.#intake.shortage() ?? null,
      sets_bad: aside.entries,
      foreign_files: aside.foreign,
      qm_connected: this.#forwarder.connected,
      sets_accepted: this.#counts.accepted,
      urls_accepted: this.#counts.urls,
      refused: this.#counts.refused,
      sets_absorbed: this.#forwarder.absorbed,
      absorb_wait: this.#absorptions?.waitS ?? 0,
    };
  }

  /** Sends CPs away; sets that are becoming durable are finished and acknowledged first, in a kept home those
   * that have begun as well, in a time: another machine is about to take over. */
  async stop(): Promise<void> {
    this.#stopping = true;
    const { options, clock } = this.#parts;
    if (options.isKept) await within(clock, Promise.allSettled(this.#open.values()), LAST_SETS_MS);
    const why = new Refusal(102, 'temporarily off-line, try again later: the UNS stops');
    this.#absorptions?.end(why);
    for (const session of this.#open.keys()) session.refuse(why);
    await Promise.allSettled([...this.#open.values(), this.#spiderDoor.stop()]);
  }

  /** Releases everything, once the connections to the Queue Manager are closed; nothing may be called any
   * more. */
  async close(): Promise<void> {
    await this.#forwarder.stop();
    this.#sessions.close();
    this.#pidb.close();
    this.#spool.close();
  }

  async #parted(pid: number, errseen: number): Promise<void> {
    try {
      if (errseen > 0) await this.#logins.received(pid, errseen);
    } catch (error) {
      // The CP will be shown the same errors again: harmless.
      this.#parts.log.error('cannot store which errors were received', { pid, error: messageOf(error) });
    }
    this.#forwarder.noteSession(pid);
  }
}

/** All may linger as long as a CP that was served. */
function placesFor(options: UnsOptions, { clock, log }: UnsParts, share: FairShare): Places {
  const { limits, maxAtDoor } = options;
  return new Places({
    key: 'uns.max_connections',
    most: limits.maxConnections,
    perAddress: {
      key: 'uns.max_connections_per_address',
      most: limits.maxConnectionsPerAddress,
    },
    whose: 'CPs',
    say: ({ message }) => initRejected(102, message),
    clock,
    log,
    turnedAway: { most: maxAtDoor, lingerMs: LINGER_TIMEOUT_MS, maxBytes: Infinity, share },
  });
}

/** The newest connections that accepted sets name, in all spools of the home, by provider. */
function newestNamed(root: string): Map<number, number> {
  const newest = new Map<number, number>();
  for (const labels of setsInSpools(root).values())
    for (const label of labels) newest.set(label.pid, Math.max(label.newest, newest.get(label.pid) ?? 0));
  return newest;
}
