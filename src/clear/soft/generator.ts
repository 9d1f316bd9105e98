/**
 * Asks the load balancer of a target for a page under a name that no cache has. Only a whole page counts:
 * status 200, a length that was stated and came, neither empty nor larger than permitted, and, where a
 * pattern is set, one that has it.
 */
import type { FetchEngine } from '../../fetch/engine.js';
import type { FetchOutcome } from '../../fetch/outcome.js';
import { MemorySink } from '../../fetch/sink.js';
import type { Clock } from '../../lib/clock.js';
import { clearEngine, pageOn, withHost } from '../engine.js';
import type { ClearOptions, SenderLimits } from '../options.js';
import { outcomeOf } from '../outcomes.js';
import type { TargetMap } from '../target-map.js';
import type { ClearDatabase } from '../../db/clear/database.js';
import type { Commits } from '../rails/commits.js';

export type Generated =
  | { kind: 'page'; bytes: Buffer }
  /** The load balancer says that there is no such page. */
  | { kind: 'gone'; error: string }
  /** `afterMs`: not before. */
  | { kind: 'failed'; error: string; afterMs?: number };

/** The load balancer of an elementary target, which is asked. */
export interface PageOrigin {
  lbUrl: string;
  host: string | null;
}

const GONE: readonly number[] = [404, 410];

/** The load balancer of a target, or of the nearest group above that has one. */
export function originOf(map: TargetMap, target: string): PageOrigin | undefined {
  for (const name of [target, ...map.groupsAbove(target)]) {
    const row = map.get(name);
    if (row !== undefined && row.lbUrl !== null) return { lbUrl: row.lbUrl, host: row.host };
  }
  return undefined;
}

/** Notes in the database which load balancers know names with a timestamp. */
export class Generator {
  readonly #limits: ClearOptions['soft'];
  readonly #engine: FetchEngine;
  readonly #db: ClearDatabase;
  readonly #commits: Commits;
  readonly #proven = new Set<string>();

  constructor(
    limits: ClearOptions['soft'],
    { connectTimeoutMs, keepAliveMs }: SenderLimits,
    { db, commits, clock }: { db: ClearDatabase; commits: Commits; clock: Clock },
  ) {
    this.#limits = limits;
    this.#db = db;
    this.#commits = commits;
    const { answerTimeoutMs, totalTimeoutMs } = limits;
    this.#engine = clearEngine(
      { connectTimeoutMs, answerTimeoutMs, totalTimeoutMs, keepAliveMs },
      {
        maxContentBytes: limits.maxPageBytes,
        contentLimitText: limits.maxPageText,
        maxIdleConnections: limits.generators,
      },
      clock,
    );
  }

  /** Resolves whatever happens. @param tsUrl the name that `url` is generated under */
  async generate(origin: PageOrigin, tsUrl: string, url: string): Promise<Generated> {
    const said = await this.#ask(origin, tsUrl);
    if (said.kind === 'page') this.#prove(origin);
    if (said.kind !== 'gone' || this.#isProven(origin)) return said;
    const plain = await this.#ask(origin, url);
    if (plain.kind !== 'page') return plain;
    const error = `${said.error}, but there is ${url}: the site must answer names with a timestamp (lccrail-drivers(5)), the page stays`;
    return { kind: 'failed', error };
  }

  /** Gives up what is under way, and closes connections. */
  close(): void {
    this.#engine.close();
  }

  #isProven(origin: PageOrigin): boolean {
    const name = nameOf(origin);
    if (this.#proven.has(name)) return true;
    if (!this.#db.read(() => this.#db.numbers.isNoted(name))) return false;
    this.#proven.add(name);
    return true;
  }

  #prove(origin: PageOrigin): void {
    if (this.#isProven(origin)) return;
    const name = nameOf(origin);
    this.#proven.add(name);
    this.#commits.add(() => this.#db.numbers.note(name));
  }

  #ask({ lbUrl, host }: PageOrigin, url: string): Promise<Generated> {
    const sink = new MemorySink(false);
    return new Promise(resolve => {
      const asked = pageOn(lbUrl, url);
      this.#engine.fetch({ url: asked, roots: [], headers: withHost(host) }, sink, {
        done: outcome => {
          const made = this.#generatedOf(outcome, sink);
          resolve(made.kind === 'page' ? made : { ...made, error: `${made.error} (${asked})` });
        },
      });
    });
  }

  #generatedOf(outcome: FetchOutcome, sink: MemorySink): Generated {
    if (outcome.status !== 'ok') return failureOf(outcome);
    const refuse = (error: string): Generated => ({ kind: 'failed', error });
    if (outcome.http !== 200) return refuse(`status ${outcome.http}`);
    if (outcome.completeness !== 'whole') return refuse('it may be cut: the answer has no length');
    const bytes = sink.bytes();
    if (bytes.length === 0) return refuse('the page is empty');
    const { mustMatch } = this.#limits;
    if (mustMatch !== undefined && !mustMatch.test(bytes.toString('utf8')))
      return refuse(`the page has nothing that clear.soft_must_match demands`);
    return { kind: 'page', bytes };
  }
}

function failureOf(outcome: FetchOutcome): Generated {
  if (outcome.status === 'error' && outcome.failure.kind === 'status') {
    const { status } = outcome.failure;
    if (GONE.includes(status)) return { kind: 'gone', error: `status ${status}` };
  }
  const said = outcomeOf(outcome, 'refresh');
  if (said.kind === 'done') return { kind: 'failed', error: 'no page came' };
  const afterMs = said.kind === 'retry' ? said.afterMs : undefined;
  return { kind: 'failed', error: said.error, ...(afterMs !== undefined && { afterMs }) };
}

/** Another address, or another host, may be another site. */
function nameOf({ lbUrl, host }: PageOrigin): `names ${string}` {
  return `names ${lbUrl} ${host ?? ''}`;
}
