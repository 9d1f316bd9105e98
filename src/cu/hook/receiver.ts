/**
 * Who is called: one POST at a time, again until it is taken.
 *
 *     sending ──2xx──▶ taken        sending ──410──▶ refused: nobody is there any more
 *        ▲  ╰──all else──▶ waiting ──given up──▶ later
 *        ╰──────its time──────╯
 */
import { lookup } from 'node:dns';
import { HOUR, KB, MINUTE, SECOND } from '../../config/amounts.js';
import { amount } from '../../config/words.js';
import { FetchEngine, type EngineOptions } from '../../fetch/engine.js';
import type { FetchFailure } from '../../fetch/failure.js';
import type { FetchOutcome } from '../../fetch/outcome.js';
import { CallbackSink } from '../../fetch/sink.js';
import { backoffMs } from '../../lib/backoff.js';
import { stayFor, type Clock } from '../../lib/clock.js';
import { LccError } from '../../lib/errors.js';
import { idOf, readSecrets, signed } from './secret.js';

const CONNECT_MS = 10 * SECOND;
const ANSWER_MS = 30 * SECOND;
/** Read of an answer, which nobody looks at. */
const MAX_ANSWER_BYTES = 64 * KB;
const WAITS = { minMs: SECOND, maxMs: 5 * MINUTE };
const MAX_RETRY_AFTER_MS = HOUR;
const GONE = 410;

export interface ReceiverOptions extends Pick<EngineOptions, 'allowAddresses' | 'ca'> {
  url: URL;
  secretFile: string;
  /** From the first try of a POST to the last. */
  giveUpMs: number;
  clock: Clock;
  /** 0 to 1. */
  random: () => number;
  /** Called for each try that failed, and of the one that ends that. */
  note: (message: string) => void;
}

export class Receiver {
  readonly #options: ReceiverOptions;
  readonly #engine: FetchEngine;
  readonly #over = new AbortController();
  /** As messages name it: the rest of the url may be a secret. */
  readonly #name: string;

  /** @throws LccError `usage` for a malformed network, as `readSecrets` */
  constructor(options: ReceiverOptions) {
    const { url, allowAddresses, ca, secretFile, clock } = options;
    this.#options = options;
    this.#name = url.origin;
    readSecrets(secretFile);
    this.#engine = new FetchEngine({
      connectTimeoutMs: CONNECT_MS,
      headersTimeoutMs: ANSWER_MS,
      idleTimeoutMs: ANSWER_MS,
      totalTimeoutMs: CONNECT_MS + ANSWER_MS,
      drainTimeoutMs: SECOND,
      keepAliveMs: 0,
      minRateBytesPerS: 0,
      minRateText: 'any',
      minRateWindowMs: ANSWER_MS,
      slowAfterMs: ANSWER_MS,
      maxContentBytes: MAX_ANSWER_BYTES,
      contentLimitText: '64 KB',
      maxHeaderBytes: MAX_ANSWER_BYTES,
      headerLimitText: '64 KB',
      maxRedirects: 0,
      redirectLimitText: '0',
      userAgent: 'lcchook/1',
      allowAddresses,
      // Plain text stays where its owner said that it may go.
      onlyAllowed: url.protocol === 'http:',
      maxIdleConnections: 0,
      maxConnectionsPerHost: 1,
      resolve: lookup,
      clock,
      ...(ca !== undefined && { ca }),
    });
  }

  /**
   * Resolves when the receiver has taken it.
   * @throws LccError `auth.refused` at 410, `try.later` when it is given up, as `readSecrets`
   */
  async deliver(body: string): Promise<void> {
    const { clock, giveUpMs, secretFile, random, note } = this.#options;
    const untilMs = clock.monotonicMs() + giveUpMs;
    const id = idOf(body);
    for (let failures = 1; ; failures++) {
      const outcome = await this.#post(body, signed(id, body, readSecrets(secretFile), clock.nowMs()));
      if (outcome.status !== 'error') {
        if (failures > 1) note(`${this.#name}: takes again, after ${amount(failures - 1, 'failure')}`);
        return;
      }
      const { failure } = outcome;
      if (failure.kind === 'status' && failure.status === GONE)
        throw new LccError('auth.refused', `${this.#name}: 410: it wants no more; stop calling it`);
      const askedMs = failure.kind === 'status' ? (failure.retryAfterMs ?? 0) : 0;
      const waitMs =
        askedMs > 0 ? Math.min(askedMs, MAX_RETRY_AFTER_MS) : backoffMs(WAITS, failures, random());
      const why = `${this.#name}: ${wordsOf(failure)}`;
      if (clock.monotonicMs() + waitMs > untilMs)
        throw new LccError('try.later', `${why}; given up (--give-up); run again, it is sent again`);
      note(`${why}; again in ${Math.ceil(waitMs / SECOND)} s`);
      await stayFor(clock, waitMs, this.#over.signal);
    }
  }

  #post(body: string, signature: readonly string[]): Promise<FetchOutcome> {
    const job = {
      url: this.#options.url.href,
      roots: [],
      redirects: 'report',
      method: 'POST',
      body: { bytes: Buffer.from(body) },
      headers: ['content-type', 'application/json', ...signature],
      isRaw: true,
      inline: MAX_ANSWER_BYTES,
    } as const;
    const sink = new CallbackSink(() => undefined, false);
    return new Promise(resolve => void this.#engine.fetch(job, sink, { done: resolve }));
  }

  close(): void {
    this.#over.abort();
    this.#engine.close();
  }
}

function wordsOf(failure: FetchFailure): string {
  if (failure.kind === 'status' && failure.status >= 300 && failure.status < 400)
    return `answered ${failure.status}, a redirect, which is not followed; give --url where it leads`;
  if (failure.kind === 'status') return `answered ${failure.status}`;
  if (failure.kind === 'guard')
    return `${'detail' in failure ? failure.detail : ''} is not public; --allow-address permits it`;
  return 'detail' in failure ? `${failure.kind}: ${failure.detail}` : failure.kind;
}
