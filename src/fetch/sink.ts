/** Where the content of a fetch goes: a file, or whoever wants it piece by piece. */
import { createHash } from 'node:crypto';
import { ContentFile, type WholeContent } from './file-sink.js';
import type { FetchJob } from './job.js';

export interface Content {
  /** Bytes so far. */
  readonly length: number;
  /** @throws whatever keeps it from taking the bytes */
  write(chunk: Uint8Array): void;
  /** Lower-case hex; once, after the last write. */
  md5(): string;
  /** The content, given away, when somebody else can put it in place. */
  takeWhole(): WholeContent | undefined;
  commit(): void;
  commitDurably(done: (error: unknown) => void): void;
  discard(): void;
}

/** @param attempt unique among all attempts ever made */
export function contentOf(job: FetchJob, attempt: string): Content {
  return job.sink === undefined ? new ContentFile(job.file, attempt) : new SunkContent(job.sink);
}

/** Where the content of a job goes, for messages. */
export function placeOf(job: FetchJob): string {
  return job.sink === undefined ? job.file : `the content of ${job.url}`;
}

class SunkContent implements Content {
  readonly #sink: (chunk: Uint8Array) => void;
  readonly #hash = createHash('md5');
  #length = 0;

  constructor(sink: (chunk: Uint8Array) => void) {
    this.#sink = sink;
  }

  get length(): number {
    return this.#length;
  }

  write(chunk: Uint8Array): void {
    this.#length += chunk.length;
    this.#hash.update(chunk);
    this.#sink(chunk);
  }

  md5(): string {
    return this.#hash.digest('hex');
  }

  takeWhole(): undefined {
    return undefined;
  }

  commit(): void {
    // It has been given away already.
  }

  commitDurably(done: (error: unknown) => void): void {
    done(null);
  }

  discard(): void {
    // The result says that it does not count.
  }
}
