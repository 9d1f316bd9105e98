/** The rules of origins, each compiled once from what is kept of its robots.txt. */
import type { OriginPause, RobotsStore, StoredRobots } from '../../db/queue/robots-txt.js';
import { UNPERMITTED } from '../../wire/codes.js';
import { NO_RULES, readRobots, type RobotsRules } from '../../robots/robots-txt.js';
import { isStale, meaningOf } from '../../robots/answer.js';

/** Origins whose rules are in memory, and characters of rules of all of them. */
const MAX_ORIGINS = 4096;
const MAX_RULES_BYTES = 8 * 1024 * 1024;

/** Row of an origin that did not answer before its robots.txt was asked for. */
const NOT_ASKED = { http: 0, body: null, etag: null, lastmodified: null, fetched: 0 };

interface Compiled {
  row: StoredRobots | undefined;
  /** By the name of the robot; undefined until one is asked for. */
  rules: Map<string, RobotsRules>;
  bytes: number;
}

export class OriginRules {
  readonly #store: Pick<RobotsStore, 'find'>;
  readonly #startS: number;
  /** The one used last at the end. */
  readonly #origins = new Map<string, Compiled>();
  #bytes = 0;

  /** @param startS since when the settings are those of now */
  constructor(store: Pick<RobotsStore, 'find'>, startS: number) {
    this.#store = store;
    this.#startS = startS;
  }

  /** The kept robots.txt of an origin. */
  row(origin: string): StoredRobots | undefined {
    return this.#compiled(origin).row;
  }

  /**
   * The rules for a robot; undefined: its robots.txt must be asked for first.
   * @param token name of the robot, as `productToken` has it
   */
  find(origin: string, token: string, nowS: number): RobotsRules | undefined {
    const compiled = this.#compiled(origin);
    const { row } = compiled;
    if (row === undefined || isStale(row, nowS)) return undefined;
    if (row.http === UNPERMITTED && row.checked < this.#startS) return undefined;
    if (meaningOf(row, nowS) === 'none' || row.body === null) return NO_RULES;
    const known = compiled.rules.get(token);
    if (known !== undefined) return known;
    const rules = readRobots(Buffer.from(row.body), token);
    compiled.rules.set(token, rules);
    compiled.bytes += rules.bytes;
    this.#bytes += rules.bytes;
    this.#trim();
    return rules;
  }

  /** An origin must be left alone, or need not be any more; its rules are what they were. */
  paused(origin: string, pause: OriginPause, nowS: number): void {
    const compiled = this.#compiled(origin);
    compiled.row = { ...(compiled.row ?? { ...NOT_ASKED, checked: nowS }), ...pause };
  }

  /** The kept robots.txt has changed. */
  forget(origin: string): void {
    const compiled = this.#origins.get(origin);
    if (compiled === undefined) return;
    this.#origins.delete(origin);
    this.#bytes -= compiled.bytes;
  }

  /** Any kept robots.txt may have changed. */
  forgetAll(): void {
    this.#origins.clear();
    this.#bytes = 0;
  }

  #compiled(origin: string): Compiled {
    const compiled = this.#origins.get(origin) ?? {
      row: this.#store.find(origin),
      rules: new Map<string, RobotsRules>(),
      bytes: 0,
    };
    this.#origins.delete(origin);
    this.#origins.set(origin, compiled);
    this.#trim();
    return compiled;
  }

  #trim(): void {
    for (const origin of this.#origins.keys()) {
      const isFine = this.#origins.size <= MAX_ORIGINS && this.#bytes <= MAX_RULES_BYTES;
      if (isFine || this.#origins.size === 1) return;
      this.forget(origin);
    }
  }
}
