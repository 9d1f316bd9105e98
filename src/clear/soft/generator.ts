/**
 * Asks the load balancer of a target for a page under a name that no cache has. Only a whole page counts:
 * status 200, a length that was stated and came, neither empty nor larger than permitted, and, where a
 * pattern is set, one that has it.
 */
import type { FetchEngine } from '../../fetch/engine.js';
import type { FetchOutcome } from '../../fetch/outcome.js';
import { MemorySink } from '../../fetch/sink.js';
import type { Clock } from '../../lib/clock.js';
import { clearEngine, pageOn } from '../engine.js';
import { withHost } from '../host-header.js';
import type { ClearOptions, SenderLimits } from '../options.js';
import { outcomeOf } from '../outcomes.js';
import type { TargetMap } from '../target-map.js';

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

export interface PageSource {
  generate(origin: PageOrigin, url: string): Promise<Generated>;
  /** Gives up what is under way, and closes connections. */
  close(): void;
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

export class Generator implements PageSource {
  readonly #limits: ClearOptions['soft'];
  readonly #engine: FetchEngine;

  constructor(limits: ClearOptions['soft'], connect: SenderLimits, clock: Clock) {
    this.#limits = limits;
    const { connectTimeoutMs, keepAliveMs } = connect;
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

  /** Resolves whatever happens. */
  generate({ lbUrl, host }: PageOrigin, url: string): Promise<Generated> {
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

  close(): void {
    this.#engine.close();
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
