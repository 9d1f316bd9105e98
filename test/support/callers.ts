/** Content providers that send sets all the time, to whichever UNS takes them, and remember what was accepted. */
import { connect } from 'node:net';
import { pause, systemClock, within } from '../../src/lib/clock.js';
import { BOUND_MS, until } from './until.js';

/** Between a set that was not accepted and the same set again. */
const AGAIN_MS = 50;
/** A UNS of a machine that is frozen says nothing. */
const SILENCE_MS = 3000;

export interface Caller {
  pid: number;
  password: string;
  /** Its urls are below it; ends with a slash. */
  root: string;
}

/** A set that was accepted, and when its caller had begun with it and heard so. */
export interface AcceptedSet {
  urls: readonly string[];
  beganMs: number;
  heardMs: number;
}

/** Pages of a caller before it takes the oldest of them back. */
const KEPT_PAGES = 12;

export class Callers {
  readonly sets: AcceptedSet[] = [];
  /** Urls that were taken back in a set that was accepted. */
  readonly removed: string[] = [];
  /** How often each error was heard, by its code. */
  readonly errors = new Map<string, number>();
  readonly #callers: readonly Caller[];
  /** Sockets of the UNSes. */
  readonly #doors: readonly string[];
  readonly #pauseMs: number;
  readonly #removes: boolean;
  #isOver = false;
  #running: Promise<void>[] = [];
  #made = 0;

  /** @param doors paths of sockets @param how.pauseMs between two sets of one caller @param how.removes sets take back pages, too */
  constructor(
    callers: readonly Caller[],
    doors: readonly string[],
    { pauseMs = 100, removes = false }: { pauseMs?: number; removes?: boolean } = {},
  ) {
    this.#callers = callers;
    this.#doors = doors;
    this.#pauseMs = pauseMs;
    this.#removes = removes;
  }

  start(): void {
    this.#isOver = false;
    this.#running = this.#callers.map((caller, i) => this.#send(caller, i));
  }

  /** Resolves when every set that was begun is accepted; none is begun any more. */
  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#running);
  }

  of(pid: number): Caller {
    const found = this.#callers.find(caller => caller.pid === pid);
    if (found === undefined) throw new Error(`no caller ${pid}`);
    return found;
  }

  /** All urls that were accepted and not taken back. */
  get urls(): string[] {
    const removed = new Set(this.removed);
    return this.sets.flatMap(({ urls }) => urls).filter(url => !removed.has(url));
  }

  /** The first set that was begun after that moment and is accepted. */
  after(momentMs: number): Promise<AcceptedSet> {
    return until('a set that was begun later is accepted', () =>
      this.sets.find(({ beganMs }) => beganMs > momentMs),
    );
  }

  async #send(caller: Caller, i: number): Promise<void> {
    let door = i;
    const held: string[] = [];
    while (!this.#isOver) {
      const pages = Array.from({ length: 1 + (this.#made % 3) }, () => `p${++this.#made}.html`);
      const gone = this.#removes && held.length > KEPT_PAGES ? held.splice(0, 1) : [];
      const tags = [...pages.map(page => tagOf(page)), ...gone.map(page => tagOf(page, ' op="delete"'))];
      const set = `<lococa:set set="partial" urlprefix="${caller.root}">${tags.join('')}</lococa:set>`;
      const beganMs = performance.now();
      while (!(await this.#offer(caller, set, this.#doors[door % this.#doors.length] ?? ''))) {
        if (performance.now() - beganMs > BOUND_MS)
          throw new Error(`no machine takes a set of ${caller.pid}`);
        door++;
        await pause(systemClock, AGAIN_MS, new AbortController().signal);
      }
      held.push(...pages);
      this.removed.push(...gone.map(page => caller.root + page));
      this.sets.push({ urls: pages.map(page => caller.root + page), beganMs, heardMs: performance.now() });
      await pause(systemClock, this.#pauseMs, new AbortController().signal);
    }
  }

  /** @returns false: nothing was said, or an error that passes */
  async #offer({ pid, password }: Caller, set: string, door: string): Promise<boolean> {
    const login = `<lococa:init><provider id="${pid}" passwd="${password}"/></lococa:init>`;
    let reply = '';
    const socket = connect(door, () => void socket.write(login + set));
    socket.setEncoding('utf8').on('data', (more: string) => (reply += more));
    // An error is followed by 'close'; what was said until then decides.
    const closed = new Promise<void>(resolve => socket.on('error', () => undefined).on('close', resolve));
    await within(systemClock, closed, SILENCE_MS);
    socket.destroy();
    for (const [, code = ''] of reply.matchAll(/<(?:reason|set_rejected) code="(\d+)"/g))
      this.errors.set(code, (this.errors.get(code) ?? 0) + 1);
    return reply.includes('<set_accepted');
  }
}

function tagOf(page: string, more = ''): string {
  return `<url curl="${page}" mimetype="text/html"${more}/>`;
}
