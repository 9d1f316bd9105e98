/** Gets documents, one at a time: from public addresses, and from the hosts that were named by the user. A
 * site that asks for patience gets it, for as long as is worth waiting for. */
import { createReadStream } from 'node:fs';
import { FetchEngine, type EngineOptions } from '../fetch/engine.js';
import type { FetchFailure } from '../fetch/failure.js';
import type { FetchOutcome } from '../fetch/outcome.js';
import { ContentMemory, SpoolSink } from '../fetch/spool-sink.js';
import { stayFor, type Clock } from '../lib/clock.js';
import { LccError, reasonOf, type ErrorCode } from '../lib/errors.js';
import type { DocumentPlace } from './places.js';

export interface Validators {
  lastModified?: string | undefined;
  etag?: string | undefined;
}

/** A document as it came. Of one whose transfer failed there may be a beginning. */
export interface DocumentContent extends Validators {
  pieces: AsyncIterable<Uint8Array>;
  /** Where it was found in the end. */
  url: string | undefined;
  bytes: number;
  failure?: LccError;
  /** Nothing but the end of the connection says that it is whole. */
  isOpenEnded?: boolean;
  release(): void;
}

type DocumentAnswer = { kind: 'content'; content: DocumentContent } | { kind: 'unchanged' };

interface FetcherOptions {
  engine: Omit<EngineOptions, 'clock'>;
  maxRetryAfterMs: number;
  clock: Clock;
  /** For documents that are too large for memory. */
  dir: string;
  explain: ((what: string) => void) | undefined;
}

/** Times that a site's wish to be asked later is followed. */
const MOST_WAITS = 2;
const BUSY = [429, 503];
const GONE = [404, 410];
const NEVER = new AbortController().signal;
/** Larger documents go into a file. */
const MEMORY_BYTES = 1024 * 1024;

export class SourceFetcher {
  readonly #engine: FetchEngine;
  readonly #options: FetcherOptions;
  readonly #memory = new ContentMemory(MEMORY_BYTES);

  constructor(options: FetcherOptions) {
    this.#options = options;
    this.#engine = new FetchEngine({ ...options.engine, clock: options.clock });
  }

  /** @throws LccError `input.missing`, `peer.busy`, `peer.unavailable`, `io` where nothing of it came */
  async get(place: DocumentPlace, validators: Validators = {}): Promise<DocumentAnswer> {
    if (place.kind !== 'url') return { kind: 'content', content: contentOf(place) };
    for (let waits = 0; ; waits++) {
      const spool = new KeptSpool({
        memory: this.#memory,
        maxMemoryBytes: MEMORY_BYTES,
        dir: this.#options.dir,
      });
      const outcome = await this.#ask(place.url, validators, spool);
      if (outcome.status === 'unchanged') return { kind: 'unchanged' };
      if (outcome.status === 'ok')
        return {
          kind: 'content',
          content: { ...contentIn(spool, outcome, place.url), isOpenEnded: outcome.completeness !== 'whole' },
        };
      const { failure } = outcome;
      const waitMs = waits < MOST_WAITS ? this.#patienceOf(failure) : undefined;
      if (waitMs === undefined) return this.#failed(place.url, failure, spool);
      spool.release();
      this.#options.explain?.(`${place.url}: asked for patience, waits ${Math.ceil(waitMs / 1000)} s`);
      await stayFor(this.#options.clock, waitMs, NEVER);
    }
  }

  close(): void {
    this.#engine.close();
  }

  #ask(url: string, { lastModified, etag }: Validators, spool: KeptSpool): Promise<FetchOutcome> {
    const job = {
      url,
      roots: [],
      ...(lastModified !== undefined && { lastModified }),
      ...(etag !== undefined && { etag }),
    };
    return new Promise(done => void this.#engine.fetch(job, spool, { done }));
  }

  /** How long to wait before asking again; undefined: not worth it, or nobody says. */
  #patienceOf(failure: FetchFailure): number | undefined {
    if (failure.kind !== 'status' || !BUSY.includes(failure.status)) return undefined;
    const { retryAfterMs } = failure;
    return retryAfterMs !== undefined && retryAfterMs <= this.#options.maxRetryAfterMs
      ? retryAfterMs
      : undefined;
  }

  #failed(url: string, failure: FetchFailure, spool: KeptSpool): DocumentAnswer {
    const error = errorOf(failure);
    if (failure.kind === 'status' || spool.length === 0) {
      spool.release();
      throw error;
    }
    const content = contentIn(spool, {}, url);
    return { kind: 'content', content: { ...content, failure: error } };
  }
}

function contentIn(
  spool: KeptSpool,
  { finalUrl, lastModified, etag }: Validators & { finalUrl?: string | undefined },
  url: string,
): DocumentContent {
  return {
    pieces: spool.pieces(),
    url: finalUrl ?? url,
    bytes: spool.length,
    lastModified,
    etag,
    release: () => spool.release(),
  };
}

function contentOf(place: Exclude<DocumentPlace, { kind: 'url' }>): DocumentContent {
  const stream = place.kind === 'file' ? createReadStream(place.path) : place.input();
  async function* pieces(): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      yield* stream as AsyncIterable<Buffer>;
    } catch (error) {
      if (error instanceof LccError) throw error;
      const isThere = !/ENOENT|ENOTDIR|EISDIR/.test(String(error));
      throw new LccError(isThere ? 'io' : 'input.missing', reasonOf(error), { cause: error });
    }
  }
  return { pieces: pieces(), url: undefined, bytes: 0, release: () => void stream.destroy() };
}

/** The answer is an error, in the site's words. */
export class StatusError extends LccError {
  readonly status: number;
  constructor(code: ErrorCode, status: number) {
    super(code, `the answer is status ${status}`);
    this.name = 'StatusError';
    this.status = status;
  }
}

/** In front stands the document, in what is said of it: not here. */
function errorOf(failure: FetchFailure): LccError {
  if (failure.kind === 'status') {
    const { status } = failure;
    const code = GONE.includes(status)
      ? 'input.missing'
      : BUSY.includes(status)
        ? 'peer.busy'
        : 'peer.unavailable';
    return new StatusError(code, status);
  }
  if (failure.kind === 'sink' || failure.kind === 'source')
    return new LccError('io', `its content cannot be kept: ${reasonOf(failure.error)}`);
  const guard = failure.kind === 'guard' ? '; --allow-address permits addresses that are not public' : '';
  if (failure.kind === 'too-large')
    return new LccError('limit', `it is larger than permitted: ${failure.detail}`);
  return new LccError('peer.unavailable', `${failure.kind}: ${failure.detail}${guard}`);
}

/** The content of an answer, also of one that was cut: what has come of it may count. */
class KeptSpool extends SpoolSink {
  /** A fetch that fails gives up its content; here that is for the reader to say. */
  override discard(): void {
    // See `release`.
  }

  /** The bytes that have come, in pieces. */
  async *pieces(): AsyncGenerator<Uint8Array, void, undefined> {
    if (!this.isSpooled) return yield* this.chunks;
    for (let at = 0; at < this.length;) {
      const piece = await this.piece(at);
      if (piece.length === 0) return;
      at += piece.length;
      yield piece;
    }
  }

  /** The content goes, with its file. */
  release(): void {
    super.discard();
  }
}
