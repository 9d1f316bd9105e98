/**
 * Telling the operator: a provider has fallen silent, or is heard of again.
 *
 *     looked at each minute ──something new──▶ told: events to the program ──exit 0──▶ noted in `told`
 *                                                  ╰──anything else──▶ told again, after a wait that doubles
 *
 * What was told stands in the file `told` of the home, written when the program has taken it: after a kill an
 * event may come twice, never not at all. Nothing waits for the program: it has a time, its output goes
 * nowhere, and the events of a round are bounded.
 */
import { join } from 'node:path';
import { readSilent, lastSetOf, type ProviderRhythm } from '../db/providers/silence.js';
import { openReadOnly, type Db } from '../db/sqlite/open.js';
import { doubledMs } from '../lib/backoff.js';
import type { Clock } from '../lib/clock.js';
import { writeFileDurably } from '../lib/durable.js';
import { messageOf } from '../lib/errors.js';
import type { Log } from '../lib/log.js';
import { readIfThere } from '../lib/read-if-there.js';
import { step } from '../lib/steps.js';
import { formatMtime } from '../wire/mtime.js';
import { describeSilence } from './look/reasons.js';

const LOOK_MS = 60_000;
const RETRY = { minMs: 60_000, maxMs: 3_600_000 };
/** Silent providers that are known at a time, and events of a round. */
const MOST_KNOWN = 1000;
const MOST_EVENTS = 100;

/** A line for the program. */
export interface AlertEvent {
  event: 'provider-silent' | 'provider-heard';
  /** When it was noticed, RFC 3339. */
  at: string;
  pid: number;
  last_set: string;
  /** Of a silent one: how long its sets usually take to come. */
  interval_s?: number;
  text: string;
}

export interface AlertsOptions {
  home: string;
  db: string;
  clock: Clock;
  log: Log;
  /** Resolves when the operator's program has taken the events, or says why not. */
  tell: (events: readonly AlertEvent[]) => Promise<string | undefined>;
}

export class Alerts {
  readonly #options: AlertsOptions;
  /** Silent providers that the operator knows of, and when their last set had come. */
  #told: ReadonlyMap<number, number>;
  #failures = 0;
  #cancel: (() => void) | undefined;
  #isOver = false;

  constructor(options: AlertsOptions) {
    this.#options = options;
    const lines = readIfThere(fileOf(options.home))?.split('\n') ?? [];
    this.#told = new Map(
      lines.flatMap(line => {
        const [, pid, lastset] = /^(\d{1,15}) (\d{1,15})$/.exec(line) ?? [];
        return pid === undefined ? [] : [[Number(pid), Number(lastset)] as const];
      }),
    );
    this.#after(0);
  }

  stop(): void {
    this.#isOver = true;
    this.#cancel?.();
  }

  #after(ms: number): void {
    if (!this.#isOver) this.#cancel = this.#options.clock.after(ms, () => void this.#look());
  }

  async #look(): Promise<void> {
    try {
      const { events, told, isChanged, isMore } = this.#news();
      const problem = events.length === 0 ? undefined : await this.#options.tell(events);
      if (problem !== undefined) throw new Error(problem);
      if (isChanged) {
        const lines = [...told].map(([pid, lastset]) => `${pid} ${lastset}\n`);
        writeFileDurably(fileOf(this.#options.home), lines.join(''), 0o640);
        step('lccd.alerts.told');
        this.#told = told;
      }
      this.#failures = 0;
      this.#after(isMore ? 0 : LOOK_MS);
    } catch (error) {
      this.#failures++;
      const waitMs = doubledMs(RETRY, this.#failures);
      if (!this.#isOver)
        this.#options.log.warn('operator not told: see lccd.alert_command', {
          error: messageOf(error),
          again_ms: waitMs,
        });
      this.#after(waitMs);
    }
  }

  /** What is new, and what the operator knows when that is told. @throws LccError */
  #news(): {
    events: AlertEvent[];
    told: ReadonlyMap<number, number>;
    isChanged: boolean;
    isMore: boolean;
  } {
    const nowMs = this.#options.clock.nowMs();
    const nowS = Math.floor(nowMs / 1000);
    const at = formatMtime(nowS);
    const db = openReadOnly(this.#options.db);
    try {
      const silent = readSilent(db, nowS, MOST_KNOWN);
      const all: News[] = [
        ...heardOf(db, this.#told, new Set(silent.map(({ pid }) => pid)), at),
        ...silent
          .filter(({ pid, lastset }) => this.#told.get(pid) !== lastset)
          .map(one => silence(one, nowMs, at)),
      ];
      const news = all.slice(0, MOST_EVENTS);
      const told = new Map(this.#told);
      for (const { pid, lastset } of news) {
        if (lastset === undefined) told.delete(pid);
        else told.set(pid, lastset);
      }
      return {
        events: news.flatMap(({ event }) => event ?? []),
        told,
        isChanged: news.length > 0,
        isMore: all.length > news.length,
      };
    } finally {
      db.close();
    }
  }
}

/** A change of what the operator knows; `lastset` undefined: nothing of it is known any more. */
interface News {
  pid: number;
  lastset?: number;
  event?: AlertEvent;
}

function* heardOf(
  db: Db,
  told: ReadonlyMap<number, number>,
  silent: ReadonlySet<number>,
  at: string,
): Generator<News> {
  for (const [pid, before] of told) {
    if (silent.has(pid)) continue;
    const lastset = lastSetOf(db, pid);
    // One that is gone or disabled, or whose rhythm is another by now, is not heard of.
    if (lastset === undefined || lastset <= before) {
      yield { pid };
      continue;
    }
    const text = `provider ${pid} is heard of again: a set has come`;
    yield {
      pid,
      event: { event: 'provider-heard', at, pid, last_set: formatMtime(lastset), text },
    };
  }
}

function silence(rhythm: ProviderRhythm, nowMs: number, at: string): News {
  const { pid, lastset, every } = rhythm;
  const last_set = formatMtime(lastset);
  const text = describeSilence(rhythm, nowMs);
  return {
    pid,
    lastset,
    event: { event: 'provider-silent', at, pid, last_set, interval_s: every, text },
  };
}

const fileOf = (home: string) => join(home, 'told');
