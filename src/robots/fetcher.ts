/** Asks sites for their robots.txt. */
import { familyOf } from '../fetch/failure.js';
import { FetchEngine, type EngineOptions } from '../fetch/engine.js';
import type { FetchOutcome } from '../fetch/outcome.js';
import { MemorySink } from '../fetch/sink.js';
import type { Clock } from '../lib/clock.js';
import { isNoRobots } from './answer.js';
import { MAX_ROBOTS_BYTES } from './robots-txt.js';

/** RFC 9309, 2.3.1.2: at least five, whatever host they lead to. */
const MAX_REDIRECTS = 5;

/**
 * `none`: the site has none, and permits all. `trouble`: it cannot be known now; `isLasting`: nor soon;
 * `isSilent`: nobody is there to be left alone, and the next try may come sooner.
 */
export type RobotsAnswer =
  | { kind: 'rules'; content: Uint8Array }
  | { kind: 'none' }
  | { kind: 'trouble'; why: string; isLasting?: boolean; isSilent?: boolean };

export class RobotsFetcher {
  readonly #engine: FetchEngine;

  /** @param options of a spider's engine */
  constructor(options: Omit<EngineOptions, 'clock' | 'resolve'>, clock: Clock) {
    this.#engine = new FetchEngine({
      ...options,
      maxContentBytes: MAX_ROBOTS_BYTES,
      contentLimitText: `${MAX_ROBOTS_BYTES} bytes`,
      maxRedirects: MAX_REDIRECTS,
      redirectLimitText: String(MAX_REDIRECTS),
      clock,
    });
  }

  /** Resolves whatever happens. */
  ask(url: string): Promise<RobotsAnswer> {
    const sink = new MemorySink();
    return new Promise(resolve => {
      this.#engine.fetch({ url, roots: [] }, sink, { done: outcome => resolve(answerOf(outcome, sink)) });
    });
  }

  close(): void {
    this.#engine.close();
  }
}

function answerOf(outcome: FetchOutcome, sink: MemorySink): RobotsAnswer {
  switch (outcome.status) {
    case 'ok':
      return { kind: 'rules', content: sink.bytes() };
    case 'unchanged':
      return { kind: 'trouble', why: 'status 304' };
    case 'error': {
      const { failure } = outcome;
      if (failure.kind === 'guard')
        return { kind: 'trouble', why: `${failure.detail}; --allow-private permits it`, isLasting: true };
      // No content is no rules.
      if (failure.kind === 'unexpected-status' && [204, 205].includes(outcome.http ?? 0))
        return { kind: 'none' };
      if (failure.kind !== 'status') {
        const why = 'detail' in failure ? failure.detail : failure.kind;
        return failure.kind === 'dns'
          ? { kind: 'trouble', why, isLasting: true }
          : { kind: 'trouble', why, isSilent: familyOf(failure.kind) === 'no-connection' };
      }
      const { status } = failure;
      return isNoRobots(status) ? { kind: 'none' } : { kind: 'trouble', why: `status ${status}` };
    }
  }
}
