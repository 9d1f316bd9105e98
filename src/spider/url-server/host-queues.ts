/**
 * Urls that wait, by host, for politeness: a host with as many urls under way as allowed is skipped, and
 * nothing waits for it.
 *
 *     a host:  idle ──add──▶ ready ──take──▶ (ready, while it has more and may have more under way)
 *                ▲             ▲ ╰──▶ busy ──ended──▶ resting ──its pause is over──╮
 *                ╰─────────────┼───────────────────────────────────────────────────┤
 *                              ╰───────────────────────────────────────────────────╯
 *
 * `busy`: its places are taken, or all that waits does so for a robots.txt. An idle host, with nothing that
 * waits, is forgotten when its pause is over.
 */
import { DueQueue } from '../../lib/due-queue.js';
import { Fifo } from '../../lib/fifo.js';
import { transitions, type StateOf } from '../../lib/states.js';
import type { SpiderUrl } from './spider-url.js';

export interface Politeness {
  /** Urls of a host under way at a time. */
  perHost: number;
  /** From the end of one to the beginning of the next. */
  hostDelayMs: number;
  /** The same as a host itself wishes for it; the longer one counts. */
  wishedDelayMs?: ((hostName: string) => number) | undefined;
  /** Takes hosts, and the urls of a host, in any order; left out: in theirs. */
  random?: (() => number) | undefined;
}

const hostBecomes = transitions('host', {
  idle: ['ready', 'resting'],
  ready: ['idle', 'busy', 'resting'],
  busy: ['idle', 'ready', 'resting'],
  resting: ['idle', 'ready', 'busy'],
});

type HostState = StateOf<typeof hostBecomes>;

type Line<T> = Pick<Fifo<T>, 'length' | 'push' | 'shift'>;

interface Host {
  readonly name: string;
  state: HostState;
  readonly urls: Line<SpiderUrl>;
  /** Sent before: first of all. */
  readonly again: Fifo<SpiderUrl>;
  out: number;
  /** The robots.txt of their origins is asked for. */
  readonly asked: Fifo<SpiderUrl>;
  restsUntilMs: number;
  /** True if the host is, or was, in the line of those that are ready. */
  isListed: boolean;
  /** True if the host is, or was, among those that rest. */
  isTimed: boolean;
}

export class HostQueues {
  readonly #politeness: Politeness;
  readonly #hosts = new Map<string, Host>();
  readonly #ready: Line<Host>;
  readonly #resting = new DueQueue<Host>();
  #waiting = 0;

  constructor(politeness: Politeness) {
    this.#politeness = politeness;
    this.#ready = this.#line();
  }

  /** Urls that wait. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Hosts with urls that wait or are under way, and those whose pause is not over. */
  get hosts(): number {
    return this.#hosts.size;
  }

  /** When a host has rested; undefined when none rests. */
  get nextMs(): number | undefined {
    return this.#resting.nextMs;
  }

  add(url: SpiderUrl, nowMs: number): void {
    const host = this.#hosts.get(url.hostName) ?? this.#open(url.hostName);
    host.urls.push(url);
    this.#waiting++;
    this.#settle(host, nowMs);
  }

  /** The next url of the next host that may have one more under way; undefined when there is none. */
  take(nowMs: number): SpiderUrl | undefined {
    for (let host; (host = this.#resting.shift(nowMs)) !== undefined;) {
      host.isTimed = false;
      if (this.#hosts.get(host.name) === host) this.#settle(host, nowMs);
    }
    for (let host; (host = this.#ready.shift()) !== undefined;) {
      host.isListed = false;
      // The host may have ceased to be ready since it was put there.
      if (host.state !== 'ready') continue;
      const url = host.again.shift() ?? host.urls.shift();
      if (url === undefined) continue;
      this.#waiting--;
      host.out++;
      host.state = hostBecomes(host.state, 'busy', host.name);
      this.#settle(host, nowMs);
      return url;
    }
    return undefined;
  }

  /** A url that was taken has ended. @param isPaused left out: its host rests now */
  ended(url: SpiderUrl, nowMs: number, isPaused = true): void {
    const host = this.#of(url);
    host.out--;
    if (isPaused) this.#rest(host, nowMs);
    this.#settle(host, nowMs);
  }

  /** A url that was taken waits again, before all others of its host. */
  putBack(url: SpiderUrl, nowMs: number): void {
    this.#of(url).again.push(url);
    this.#waiting++;
    this.ended(url, nowMs);
  }

  /** A url that was taken waits until its host has been `heard`; no other does. */
  ask(url: SpiderUrl, nowMs: number): void {
    this.#of(url).asked.push(url);
    this.#waiting++;
    this.ended(url, nowMs, false);
  }

  /** Robots.txt of one of the host's origins was read: urls that wait for another origin are asked about
   * again. */
  heard(hostName: string, nowMs: number): void {
    const host = this.#hosts.get(hostName);
    if (host === undefined) return;
    for (let url; (url = host.asked.shift()) !== undefined;) host.again.push(url);
    this.#rest(host, nowMs);
    this.#settle(host, nowMs);
  }

  #rest(host: Host, nowMs: number): void {
    const { hostDelayMs, wishedDelayMs } = this.#politeness;
    host.restsUntilMs = nowMs + Math.max(hostDelayMs, wishedDelayMs?.(host.name) ?? 0);
  }

  #open(name: string): Host {
    const host: Host = {
      name,
      state: 'idle',
      urls: this.#line(),
      again: new Fifo(),
      out: 0,
      asked: new Fifo(),
      restsUntilMs: 0,
      isListed: false,
      isTimed: false,
    };
    this.#hosts.set(name, host);
    return host;
  }

  #of({ hostName }: SpiderUrl): Host {
    const host = this.#hosts.get(hostName);
    if (host === undefined) throw new Error(`${hostName}: has nothing under way`);
    return host;
  }

  /** Puts a host where it belongs now. */
  #settle(host: Host, nowMs: number): void {
    const state = this.#stateOf(host, nowMs);
    if (state !== host.state) host.state = hostBecomes(host.state, state, host.name);
    if (state === 'ready' && !host.isListed) {
      host.isListed = true;
      this.#ready.push(host);
    } else if (state === 'resting' && !host.isTimed) {
      host.isTimed = true;
      this.#resting.push(host.restsUntilMs, host);
    } else if (state === 'idle') this.#hosts.delete(host.name);
  }

  #stateOf(host: Host, nowMs: number): HostState {
    if (host.out >= this.#politeness.perHost) return 'busy';
    if (host.restsUntilMs > nowMs) return 'resting';
    if (host.urls.length + host.again.length > 0) return 'ready';
    return host.out + host.asked.length > 0 ? 'busy' : 'idle';
  }

  #line<T>(): Line<T> {
    const { random } = this.#politeness;
    return random === undefined ? new Fifo<T>() : new Bag<T>(random);
  }
}

/** As a Fifo, but any of them is first. */
class Bag<T> {
  readonly #items: T[] = [];
  readonly #random: () => number;

  /** @param random from 0 to 1, as Math.random */
  constructor(random: () => number) {
    this.#random = random;
  }

  get length(): number {
    return this.#items.length;
  }

  push(item: T): void {
    this.#items.push(item);
  }

  /** Takes one of them, each as likely as any other; undefined when there is none. */
  shift(): T | undefined {
    const items = this.#items;
    const at = Math.floor(this.#random() * items.length);
    const last = items.pop();
    if (last === undefined || at >= items.length) return last;
    const taken = items[at];
    items[at] = last;
    return taken;
  }
}
