/**
 * Looks of operators at this LCC, for a Registration Server that asks: the other daemons, and the queue, out
 * of the database by a thread. However often it is asked, there is one look at a time, and what it saw is
 * good for a while.
 *
 *     asked ──what was seen last is young──▶ that
 *       ╰──▶ daemons and database are looked at ──▶ answered, all who ask meanwhile alike
 */
import type { Slots } from '../config/hours.js';
import { formatDuration, formatUntil } from '../config/words.js';
import { daemonsIn, lookAt, type DaemonStatus, type Look } from '../daemon/ask.js';
import { listOf } from '../daemon/figures.js';
import type { ProviderStanding, QueueSummary } from '../db/queue/shape.js';
import type { Clock } from '../lib/clock.js';
import { LccError } from '../lib/errors.js';
import { Thread, threadFile } from '../lib/thread.js';
import { MAX_RS_ANSWER_LENGTH, type RsAnswer } from '../wire/qm-rs.js';
import {
  type RsDaemon,
  type RsLook,
  type RsMachine,
  type RsOverview,
  type RsProviderPage,
} from '../wire/rs-looks.js';
import type { Dispatcher } from './dispatch.js';
import type { DatabaseLook, QueueLook } from './look-thread.js';

/** A daemon that hangs keeps an answer back no longer. */
const DAEMON_TIMEOUT_MS = 1000;
/** The thread rests for this many times as long as its last look took. */
const REST_PER_LOOK = 20;
/** Bytes of an answer around its content; and the bytes of characters that take more than one. */
const ROUND_BYTES = 64 * 1024;
/** Providers of which the dispatcher is asked. */
const MAX_TOLD = 1000;

/** Values about a provider that the dispatcher has, and the database has not. */
export interface ToldOfProvider {
  fetching?: number;
  failure?: string;
  retryAtMs?: number;
  wait?: { state: ReturnType<Dispatcher['waiting']>[number][1]; until_ms?: number };
}

/** The words of lccstat. */
export interface LookWords {
  reasons: (looks: readonly Look[], queue: QueueSummary, nowMs: number) => string[];
  summary: (queue: QueueSummary, nowMs: number) => string;
  daemon: (status: DaemonStatus, away: readonly string[]) => string;
  provider: (provider: ProviderStanding, told: ToldOfProvider, nowMs: number, slots: Slots) => string;
}

export interface RsLooksOptions {
  dbPath: string;
  runDir: string;
  slots: Slots;
  /** For which an overview is good. */
  overviewMs: number;
  dispatcher: Pick<Dispatcher, 'fetching' | 'failures' | 'retrying' | 'waiting'>;
  words: LookWords;
  clock: Clock;
}

type ThreadAnswer = QueueLook | RsProviderPage;

export class RsLooks {
  readonly #options: RsLooksOptions;
  #thread: Thread<DatabaseLook, ThreadAnswer> | undefined;
  readonly #asked: { resolve: (answer: ThreadAnswer) => void; reject: (error: Error) => void }[] = [];
  #overview: Promise<RsOverview> | undefined;
  #goodUntilMs = -Infinity;

  constructor(options: RsLooksOptions) {
    this.#options = options;
  }

  /** @throws LccError when the database cannot be read */
  async answer(look: RsLook): Promise<RsAnswer> {
    return { ok: { ...(look.op === 'overview' ? await this.#shared() : await this.#ask(look)) } };
  }

  stop(): void {
    this.#thread?.stop();
    for (const { reject } of this.#asked.splice(0)) reject(new LccError('peer.unavailable', 'stopped'));
  }

  #shared(): Promise<RsOverview> {
    const { clock, overviewMs } = this.#options;
    if (this.#overview === undefined || clock.monotonicMs() >= this.#goodUntilMs) {
      this.#goodUntilMs = Infinity;
      this.#overview = this.#look();
      this.#overview.then(
        ({ took_ms: tookMs }) =>
          (this.#goodUntilMs = clock.monotonicMs() + Math.max(overviewMs, tookMs * REST_PER_LOOK)),
        () => (this.#goodUntilMs = clock.monotonicMs() + overviewMs),
      );
    }
    return this.#overview;
  }

  async #look(): Promise<RsOverview> {
    const { clock, slots, runDir, words } = this.#options;
    const nowMs = clock.nowMs();
    const [looks, seen] = await Promise.all([
      lookAt(runDir, daemonsIn(runDir), DAEMON_TIMEOUT_MS),
      this.#ask({ op: 'overview', nowMs }) as Promise<QueueLook>,
    ]);
    const { summary, shape, ageMinutes, sites, tookMs } = seen;
    const told = this.#told();
    const away = looks.flatMap(look => ('problem' in look ? [look.name] : []));
    const overview: RsOverview = {
      at_ms: nowMs,
      took_ms: Math.ceil(tookMs),
      summary: words.summary(summary, nowMs),
      reasons: words.reasons(looks, summary, nowMs),
      providers: summary.providers,
      sites,
      queue: {
        age_minutes: [...ageMinutes],
        total: shape.total,
        left_off: shape.left_off,
        providers: shape.providers.map(provider => {
          const { pid, waiting, ages, exact } = provider;
          const state = words.provider(provider, told.get(pid) ?? {}, nowMs, slots);
          return { pid, waiting, ages, exact, state };
        }),
      },
      daemons: looks.map(look => daemonOf(look, words, away)),
      machines: machinesOf(looks, nowMs),
    };
    return withinLength(overview);
  }

  #told(): Map<number, ToldOfProvider> {
    const { dispatcher } = this.#options;
    const told = new Map<number, ToldOfProvider>();
    const add = (pid: number, more: ToldOfProvider) => void told.set(pid, { ...told.get(pid), ...more });
    for (const [pid, fetching] of dispatcher.fetching(MAX_TOLD)) add(pid, { fetching });
    for (const [pid, code, host] of dispatcher.failures(MAX_TOLD))
      add(pid, { failure: `${code} at ${host}` });
    for (const [pid, retryAtMs] of dispatcher.retrying(MAX_TOLD)) add(pid, { retryAtMs });
    for (const [pid, state, untilMs] of dispatcher.waiting(MAX_TOLD))
      add(pid, { wait: { state, ...(untilMs !== null && { until_ms: untilMs }) } });
    return told;
  }

  /** Asks the thread, which begins with the first question. */
  #ask(look: DatabaseLook): Promise<ThreadAnswer> {
    const { dbPath, slots } = this.#options;
    if (this.#thread === undefined || this.#thread.isOver)
      this.#thread = new Thread<DatabaseLook, ThreadAnswer>({
        script: threadFile('look-worker.cjs'),
        data: { path: dbPath, slots },
        answered: answer => this.#asked.shift()?.resolve(answer),
        lost: error => {
          for (const { reject } of this.#asked.splice(0)) reject(error);
        },
      });
    const answer = new Promise<ThreadAnswer>((resolve, reject) => void this.#asked.push({ resolve, reject }));
    this.#thread.ask(look);
    return answer;
  }
}

function daemonOf(look: Look, words: LookWords, away: readonly string[]): RsDaemon {
  if ('problem' in look) return look;
  const { name, status } = look;
  const { idle, up_s: upS, rss_bytes: rssBytes } = status;
  return {
    name,
    idle,
    up_s: upS,
    rss_bytes: rssBytes,
    doing: words.daemon(status, away),
    figures: figuresOf(status),
  };
}

/** Out of the status of the Queue Manager. */
function machinesOf(looks: readonly Look[], nowMs: number): RsMachine[] {
  const own = looks.find(({ name }) => name === 'lccd-qm');
  if (own === undefined || !('status' in own)) return [];
  const here = listOf(own.status, 'bot_managers').map(({ machines, peer, slots, silent_ms, reason }) => ({
    name: Array.isArray(machines) && machines.length > 0 ? machines.join(', ') : String(peer),
    isHere: true,
    slots: Number(slots),
    note: [
      typeof reason === 'string' ? reason : '',
      typeof silent_ms === 'number' ? `silent for ${formatDuration(Math.floor(silent_ms / 1000))}` : '',
    ]
      .filter(part => part !== '')
      .join('; '),
  }));
  const away = listOf(own.status, 'machines_away').map(({ machine, since_ms: sinceMs }) => ({
    name: String(machine),
    isHere: false,
    slots: 0,
    note: typeof sinceMs === 'number' ? `away since ${formatUntil(sinceMs, nowMs)}` : 'away',
  }));
  return [...here, ...away];
}

/**
 * Values that are no list and no secret: lists, with addresses of peers in them, are given as their lengths.
 */
function figuresOf(status: Readonly<Record<string, unknown>>): Record<string, number | string | boolean> {
  const figures: Record<string, number | string | boolean> = {};
  for (const [name, value] of Object.entries(status))
    if (Array.isArray(value)) figures[name] = value.length;
    else if (['number', 'string', 'boolean'].includes(typeof value))
      figures[name] = value as number | string | boolean;
    else if (name === 'disk')
      for (const [part, bytes] of Object.entries(Object(value) as Record<string, unknown>))
        if (typeof bytes === 'number') figures[`disk_${part}`] = bytes;
  return figures;
}

function withinLength(overview: RsOverview): RsOverview {
  const isTooLong = (text: string) => text.length > MAX_RS_ANSWER_LENGTH - ROUND_BYTES;
  if (!isTooLong(JSON.stringify(overview))) return overview;
  const daemons = overview.daemons.map(({ name }) => ({
    name,
    problem: 'too much to be shown here; lccstat',
  }));
  return { ...overview, daemons, reasons: overview.reasons.slice(0, MAX_TOLD) };
}
