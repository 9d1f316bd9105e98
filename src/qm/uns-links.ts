/**
 * Connections of UNSes. One that says anything wrong is cut; its set comes again. Overloaded (overload.ts),
 * the Queue Manager says `busy`, closes the connections and its listeners, and opens them again when there is
 * room.
 *
 * A set that was begun is taken to its end, however big: urls of half a set are not fetched, so a set that
 * was cut for want of room might keep that room for ever. For the same reason they do not count as queued, or
 * a set that was cut for another reason could not come back.
 */
import type { Kept } from '../daemon/kept.js';
import type { Connection, Listener } from '../daemon/types.js';
import { formatAmount } from '../config/amounts.js';
import type { Clock } from '../lib/clock.js';
import { Conversation } from '../lib/conversation.js';
import type { Endpoint } from '../lib/endpoint.js';
import { LccError, messageOf } from '../lib/errors.js';
import { FairShare } from '../lib/fair-share.js';
import type { Log } from '../lib/log.js';
import { step } from '../lib/steps.js';
import type { XmlLimits } from '../lib/xml/types.js';
import { errorElement } from '../wire/messages.js';
import { formatQmAnswer, receiveFromUns, type QmAnswer, type UnsHandlers } from '../wire/uns-qm.js';
import type { Intake } from './intake.js';
import type { Overload } from './overload.js';
import { isRefusal, type SetAbsorption } from './set-absorption.js';

export interface UnsLinksOptions {
  intake: Intake;
  endpoints: readonly Endpoint[];
  listen: (endpoint: Endpoint, onConnection: (connection: Connection) => void) => Promise<Listener>;
  clock: Clock;
  log: Log;
  xml: XmlLimits;
  /** Bytes that a UNS may send before it has said which it is. */
  maxHelloBytes: number;
  helloTimeoutMs: number;
  /** Longest silence in the middle of a set: others of the provider wait for it. */
  stallTimeoutMs: number;
  overload: Overload;
  /** Asked before each answer. */
  kept: Kept;
  /** Resolves when there may be commits. */
  mayCommit: () => Promise<void>;
  /** A transaction failed; true: try again later. */
  failed: (error: unknown) => boolean;
}

const LINGER_MS = 2000;

export class UnsLinks {
  readonly #options: UnsLinksOptions;
  /** Where to listen: the endpoints given, with their real ports once known. */
  #endpoints: readonly Endpoint[];
  #listeners: Listener[] = [];
  readonly #sessions = new Set<ConnectedUns>();
  #stopped = false;
  readonly #share = new FairShare();

  constructor(options: UnsLinksOptions) {
    this.#options = options;
    this.#endpoints = options.endpoints;
  }

  /** UNSes that are there, however many connections each has. */
  get connected(): number {
    return new Set([...this.#sessions].map(session => session.uns)).size;
  }

  async open(): Promise<void> {
    const { listen } = this.#options;
    const opened = await Promise.allSettled(
      this.#endpoints.map(endpoint => listen(endpoint, connection => void this.#serve(connection))),
    );
    this.#listeners = opened.flatMap(one => (one.status === 'fulfilled' ? [one.value] : []));
    const failure = opened.find(one => one.status === 'rejected');
    if (failure !== undefined) {
      // None of several endpoints stays open.
      this.#close('cannot listen');
      throw failure.reason;
    }
    this.#endpoints = this.#listeners.map(listener => listener.endpoint);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#options.overload.stop();
    this.#close('the Queue Manager stops');
  }

  async #serve({ socket, peer }: Connection): Promise<void> {
    const { clock, log, xml, helloTimeoutMs, maxHelloBytes } = this.#options;
    const where = `uns ${peer}`;
    const talk = new Conversation(socket, where, clock);
    const session = new ConnectedUns(this.#options, talk, reason => this.#shutOut(reason, session));
    this.#sessions.add(session);
    talk.limit(helloTimeoutMs, () => {
      const limit = formatAmount(helloTimeoutMs, 'ms');
      return new LccError('peer.protocol', `${where}: no greeting for ${limit}`);
    });
    try {
      await receiveFromUns(talk, session.handlers(), { where, xml, maxHelloBytes, share: this.#share });
    } catch (error) {
      if (error instanceof Busy) talk.say(formatQmAnswer({ kind: 'busy' }));
      else if (!talk.isOver || !isDisconnect(error)) {
        log.warn('UNS connection closed', { peer, error: messageOf(error) });
        if (error instanceof LccError) talk.say(errorElement(error));
      }
    } finally {
      session.cut();
      this.#sessions.delete(session);
    }
    // Further bytes of the peer would cut its reading of the last word short.
    await talk.part(LINGER_MS, { maxBytes: session.uns === '' ? maxHelloBytes : Infinity });
  }

  #shutOut(reason: string, told: ConnectedUns): void {
    if (this.#options.overload.begin(reason, () => this.open())) this.#close(reason, told);
  }

  /** @param except one that is being told already */
  #close(reason: string, except?: ConnectedUns): void {
    for (const listener of this.#listeners) void listener.close();
    this.#listeners = [];
    for (const session of this.#sessions)
      if (session !== except && (!session.taking || this.#stopped)) session.sendAway(reason);
  }
}

/** The Queue Manager cannot take more for now. */
class Busy extends Error {}

/** One UNS, and the requests that it makes. */
class ConnectedUns {
  readonly #options: UnsLinksOptions;
  readonly #talk: Conversation;
  readonly #shutOut: (reason: string) => void;
  #uns = '';
  #set: SetAbsorption | undefined;
  #entry = '';
  /** A set has begun and not ended. */
  taking = false;

  /** @param shutOut it must be told to all */
  constructor(options: UnsLinksOptions, talk: Conversation, shutOut: (reason: string) => void) {
    this.#options = options;
    this.#talk = talk;
    this.#shutOut = shutOut;
  }

  /** Name of the UNS; '' until it has given it. */
  get uns(): string {
    return this.#uns;
  }

  handlers(): UnsHandlers {
    const { intake, overload } = this.#options;
    return {
      hello: async id => {
        this.#uns = id;
        this.#talk.unlimited();
        if (overload.isFull()) this.#overload('the queue is full');
        await this.#say({ kind: 'qm' });
      },
      setBegins: async head => {
        if (overload.isFull()) this.#overload('the queue is full');
        this.#entry = head.entry;
        this.taking = true;
        this.#set = await intake.begin(this.#uns, head);
        this.#expectMore();
      },
      urls: async records => {
        this.#talk.unlimited();
        await this.#try(() => this.#set?.take(records));
        this.#expectMore();
      },
      setEnds: async () => {
        const set = this.#set;
        this.#talk.unlimited();
        if (set === undefined) return;
        const answer = await this.#try(() => set.end());
        this.#set = undefined;
        this.taking = false;
        if (!isRefusal(answer)) overload.took(answer.queued);
        await this.#tell(
          isRefusal(answer)
            ? { kind: 'refused', entry: this.#entry, ...answer }
            : { kind: 'absorbed', entry: this.#entry, ...answer },
        );
        step('qm.acked');
      },
      session: async note => {
        await this.#try(() => intake.note(note));
        await this.#tell({ kind: 'noted', pid: note.pid, seq: note.seq, entry: undefined });
      },
      damaged: async note => {
        await this.#try(() => intake.damaged(this.#uns, note.entry, note.pid));
        await this.#tell({ kind: 'noted', pid: note.pid, seq: undefined, entry: note.entry });
      },
    };
  }

  /** The connection is over: an open set is cut off. */
  cut(): void {
    this.#set?.cut();
    this.#set = undefined;
  }

  /** Says busy as soon as nothing is under way, and closes. */
  sendAway(reason: string): void {
    this.#talk.interrupt(new Busy(reason));
  }

  /** The rest of the set must come, or the connection goes. */
  #expectMore(): void {
    const { stallTimeoutMs } = this.#options;
    this.#talk.limit(stallTimeoutMs, () => {
      const why = `nothing more of ${this.#entry} for ${stallTimeoutMs / 1000} s (wire.stall_timeout_ms)`;
      return new LccError('peer.unavailable', why);
    });
  }

  async #try<T>(work: () => T | Promise<T>): Promise<T> {
    await this.#options.mayCommit();
    try {
      return await work();
    } catch (error) {
      if (error instanceof LccError && this.#options.failed(error)) return this.#overload(error.message);
      throw error;
    }
  }

  #overload(reason: string): never {
    this.#shutOut(reason);
    throw new Busy(reason);
  }

  /** Says what a commit has led to. */
  async #tell(answer: QmAnswer): Promise<void> {
    const { kept } = this.#options;
    // safeguard: the answer to a UNS waiting for the engine
    await kept.shipped('lcc');
    if (kept.isKept) step('qm.gate.opened');
    await this.#say(answer);
  }

  #say(answer: QmAnswer): Promise<void> {
    return this.#talk.write(formatQmAnswer(answer));
  }
}

/** The other side went away: nothing to report. */
function isDisconnect(error: unknown): boolean {
  return error instanceof LccError && error.code === 'peer.unavailable';
}
