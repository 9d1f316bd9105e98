/**
 * The open connections, and whether one more may come. Connections that have not logged in are strangers: when all places
 * are taken, the one that has waited longest makes room, so that a crowd of idle ones cannot keep a CP out.
 */
import type { Clock } from '../lib/clock.js';
import { Counts } from '../lib/counts.js';
import { limitOf, type UnsOptions } from './options.js';
import { Refusal } from './refusal.js';

/** A stranger this young may be about to log in and is not sent away. */
const YOUNG_MS = 1000;

/** A connection's place. */
export interface Place {
  /** @throws Refusal 102 when the provider has its number of sessions already */
  loggedIn(pid: number): void;
  leave(): void;
}

interface Member {
  address: string;
  sinceMs: number;
  pid: number | undefined;
  evict(why: Refusal): void;
}

export class Connections {
  readonly #options: UnsOptions;
  readonly #clock: Clock;
  readonly #members = new Set<Member>();
  /** Insertion order is the order of arrival. */
  readonly #strangers = new Set<Member>();
  readonly #perAddress = new Counts<string>();
  readonly #perProvider = new Counts<number>();

  constructor(options: UnsOptions, clock: Clock) {
    this.#options = options;
    this.#clock = clock;
  }

  get count(): number {
    return this.#members.size;
  }

  get sessions(): number {
    return this.#members.size - this.#strangers.size;
  }

  /**
   * @param address '' for Unix sockets, which are not counted by address
   * @param evict called when this connection must make room
   * @throws Refusal 102 naming the limit
   */
  enter(address: string, evict: (why: Refusal) => void): Place {
    const { limits } = this.#options;
    if (address !== '' && this.#perAddress.of(address) >= limits['uns.max_connections_per_address']) {
      throw new Refusal(
        102,
        `too many connections from ${address}, try again later: the limit is ${limitOf(this.#options, 'uns.max_connections_per_address')}`,
      );
    }
    if (this.#members.size >= limits['uns.max_connections']) this.#makeRoom();
    const member: Member = { address, sinceMs: this.#clock.monotonicMs(), pid: undefined, evict };
    this.#members.add(member);
    this.#strangers.add(member);
    if (address !== '') this.#perAddress.change(address, 1);
    return {
      loggedIn: pid => this.#logIn(member, pid),
      leave: () => this.#leave(member),
    };
  }

  #makeRoom(): void {
    const full = new Refusal(
      102,
      `too many connections, try again later: the limit is ${limitOf(this.#options, 'uns.max_connections')}`,
    );
    const [oldest] = this.#strangers;
    if (oldest === undefined || this.#clock.monotonicMs() - oldest.sinceMs < YOUNG_MS) throw full;
    this.#leave(oldest);
    oldest.evict(full);
  }

  #logIn(member: Member, pid: number): void {
    if (!this.#members.has(member)) throw new Refusal(102);
    if (this.#perProvider.of(pid) >= this.#options.limits['uns.max_connections_per_provider']) {
      throw new Refusal(
        102,
        `provider ${pid} is connected already, try again later: the limit is ${limitOf(this.#options, 'uns.max_connections_per_provider')}`,
      );
    }
    member.pid = pid;
    this.#strangers.delete(member);
    this.#perProvider.change(pid, 1);
  }

  #leave(member: Member): void {
    if (!this.#members.delete(member)) return;
    this.#strangers.delete(member);
    if (member.address !== '') this.#perAddress.change(member.address, -1);
    if (member.pid !== undefined) this.#perProvider.change(member.pid, -1);
  }
}
