/**
 * Places for connections of one kind, whichever listeners they come to, in all and of one address: a peer
 * without a place learns the limit, and goes. The log hears of it once, and again only after half of the
 * places were free.
 *
 *     ──admit──▶ stranger ──known──▶ known ──closed──▶
 *        │          ╰── its place is needed, it has waited for a while, and it may be told to go ──▶
 *        ╰── all places are taken: turned away
 */
import { limitText, valueOf, type NumberKey, type Settings } from '../config/settings/index.js';
import type { Clock } from '../lib/clock.js';
import { Counts } from '../lib/counts.js';
import { LccError } from '../lib/errors.js';
import type { Log } from '../lib/log.js';
import { openFilesLimit } from '../lib/open-files.js';
import { TurnedAway, type TurnedAwayOptions } from './turned-away.js';
import type { Bound, Connection, Entrance, Place } from './types.js';

/** One kind of connections has at most 1/4 of the files that a process may have open. */
const FILES_SHARE = 4;
/** A stranger this young may be about to say who it is and is not sent away. */
const YOUNG_MS = 1000;

export interface PlacesOptions extends Bound {
  /** At a time. */
  most: number;
  /** At a time of one address; Unix sockets have none. */
  perAddress?: { key: NumberKey; most: number; except?: ((address: string) => boolean) | undefined };
  clock: Clock;
  log: Log;
  turnedAway?: Omit<TurnedAwayOptions, 'clock'>;
}

/**
 * Sends a stranger away, whose place is another's.
 * @param mayLinger whether it has time to read why
 */
export type Evict = (why: LccError, mayLinger: boolean) => void;

type Limit = Pick<PlacesOptions, 'key' | 'most'>;

interface Member extends Connection {
  sinceMs: number;
  evict: Evict | undefined;
}

export class Places {
  readonly #options: PlacesOptions;
  readonly #turnedAway: TurnedAway;
  readonly #members = new Set<Member>();
  /** In the order of their arrival. */
  readonly #strangers = new Set<Member>();
  readonly #perAddress = new Counts<string>();
  /** Addresses whose places are taken, as the log has heard; '' of all places. */
  readonly #said = new Set<string>();

  constructor(options: PlacesOptions) {
    this.#options = options;
    this.#turnedAway = new TurnedAway({ ...options.turnedAway, clock: options.clock });
  }

  get count(): number {
    return this.#members.size;
  }

  /** Number of connections that have said who they are. */
  get known(): number {
    return this.#members.size - this.#strangers.size;
  }

  /**
   * A place for a connection; undefined: there is none, and it is being closed.
   * @param evict a stranger without it keeps its place
   */
  admit(connection: Connection, evict?: Evict): Place | undefined {
    const { address, socket } = connection;
    const why = this.#whyNot(connection);
    if (why !== undefined) return this.turnAway(connection, why);
    const member: Member = { ...connection, sinceMs: this.#options.clock.monotonicMs(), evict };
    this.#members.add(member);
    this.#strangers.add(member);
    this.#perAddress.change(address, 1);
    socket.once('close', () => this.#leave(member));
    return {
      known: () => {
        this.#strangers.delete(member);
        return this.#members.has(member);
      },
    };
  }

  /** Says why there is no place, and closes. */
  turnAway(connection: Connection, why: LccError): undefined {
    this.#turnedAway.turnAway(connection, this.#options.say(why));
    return undefined;
  }

  #whyNot({ address, peer }: Connection): LccError | undefined {
    const { key, most, perAddress, whose } = this.#options;
    if (
      perAddress !== undefined &&
      address !== '' &&
      this.#perAddress.of(address) >= perAddress.most &&
      perAddress.except?.(address) !== true
    )
      return this.#full(peer, address, `from ${address}`, perAddress);
    return this.#members.size < most || this.#makeRoom()
      ? undefined
      : this.#full(peer, '', `of ${whose}`, { key, most });
  }

  #full(peer: string, address: string, whose: string, limit: Limit): LccError {
    const why = tooMany(whose, limit);
    if (!this.#said.has(address))
      this.#options.log.warn('connections refused', { peer, reason: why.message });
    this.#said.add(address);
    return why;
  }

  /** The stranger that has waited longest goes. @returns whether there is one */
  #makeRoom(): boolean {
    const { clock, key, most, whose, evict } = this.#options;
    const [oldest] = this.#strangers;
    if (oldest?.evict === undefined || clock.monotonicMs() - oldest.sinceMs < (evict?.fromMs ?? YOUNG_MS))
      return false;
    this.#leave(oldest);
    const mayLinger = !this.#turnedAway.isFull;
    if (mayLinger) this.#turnedAway.enter(oldest.socket);
    oldest.evict(tooMany(`of ${whose}`, { key, most }), mayLinger);
    return true;
  }

  #leave(member: Member): void {
    if (!this.#members.delete(member)) return;
    const { most, perAddress } = this.#options;
    const { address } = member;
    this.#strangers.delete(member);
    this.#perAddress.change(address, -1);
    if (this.#members.size <= most / 2) this.#said.delete('');
    if (perAddress !== undefined && this.#perAddress.of(address) <= perAddress.most / 2)
      this.#said.delete(address);
  }
}

function tooMany(whose: string, { key, most }: Limit): LccError {
  const limit = typeof key === 'number' ? most : limitText(key, most);
  return new LccError('limit', `too many connections ${whose}, try again later: the limit is ${limit}`);
}

/** The bound of an entrance; undefined: nothing is counted there. */
export function boundOf(entrance: Entrance | Bound | undefined): Bound | undefined {
  return entrance !== undefined && 'key' in entrance ? entrance : undefined;
}

/** Places of a bound, as the settings have it and as there are files. */
export function placesOf(
  bound: Bound,
  { settings, clock, log }: { settings: Settings; clock: Clock; log: Log },
): Places {
  const { key } = bound;
  const wanted = typeof key === 'number' ? key : valueOf(settings, key);
  const most = Math.max(1, Math.min(wanted, Math.floor(openFilesLimit() / FILES_SHARE)));
  if (most < wanted)
    log.warn('fewer connections than configured; raise ulimit -n', { connections: most, of: bound.whose });
  const { ofAddress } = bound;
  const perAddress = ofAddress && { ...ofAddress, most: valueOf(settings, ofAddress.key) };
  return new Places({ ...bound, most, clock, log, ...(perAddress && { perAddress }) });
}

/** Hands on connections that have a place. */
export function bounded(
  onConnection: (connection: Connection, place?: Place) => void,
  places: Places | undefined,
  evict?: Bound['evict'],
): (connection: Connection) => void {
  if (places === undefined) return onConnection;
  return connection => {
    const place = places.admit(
      connection,
      evict && ((why, mayLinger) => evict.end(connection, why, mayLinger)),
    );
    if (place !== undefined) onConnection(connection, place);
  };
}
