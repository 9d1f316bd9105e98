/**
 * File names in, `<url>` lines out. The stream ends with the end instruction only if every name was looked
 * at: a listing that is not whole must not look like one, because what it lacks would be deleted downstream.
 */
import { amount } from '../config/words.js';
import { LccError } from '../lib/errors.js';
import type { Advance } from '../lib/progress.js';
import type { Output } from '../lib/stdio.js';
import { STREAM_END, streamHead } from '../wire/url-stream.js';
import { createDescribe, type DescribeOptions, type NameProblem } from './describe.js';
import type { BatchAnswer, HashPool } from './hash-pool.js';
import { NameSplitter } from './name-splitter.js';
import { displayName } from './url-path.js';

export interface ListingOptions extends DescribeOptions {
  progress?: Advance | undefined;
  separator: '\n' | '\0';
  /** Something else may stand among the names: what is not there may be none, and the listing not whole. */
  mayHoldOther?: boolean;
  /** True if lines are counted, and every name reported. */
  counts?: boolean;
  /** Threads that hash, used once there is work for them; undefined to hash here. */
  startPool?: ((take: (answer: BatchAnswer) => void) => HashPool) | undefined;
}

/** Names described at a time: small enough that output starts soon, large enough that a hand-over costs
 * nothing. */
const BATCH_NAMES = 256;
/** Names outside of the document root that are reported each; a find(1) elsewhere has all of them there. */
const OUTSIDE_NAMED = 5;
/** Names described here before threads are started: below, starting them costs more than they save. */
const NAMES_BEFORE_POOL = 1024;

export class Listing {
  readonly #splitter: NameSplitter;
  readonly #describe: ReturnType<typeof createDescribe>;
  readonly #options: ListingOptions;
  readonly #out: Output;
  readonly #complain: (message: string) => void;
  readonly #onProblem = (problem: NameProblem) => this.#report(problem);
  #pool: HashPool | undefined;
  #seen = 0;
  /** Files that have their line, where these are counted. */
  described = 0;
  #failed = 0;
  #outside = 0;
  /** Names that were refused or listed with less than was asked for. */
  rejected = 0;
  /** Names that were gone when looked at, or led nowhere. */
  vanished = 0;

  constructor(options: ListingOptions, out: Output, complain: (message: string) => void) {
    this.#options = options;
    this.#splitter = new NameSplitter(options.separator);
    this.#describe = createDescribe(options);
    this.#out = out;
    this.#complain = complain;
    out.write(streamHead({ from: 'file2url' }));
  }

  /** Names as bytes, cut anywhere. */
  push(chunk: Buffer): void {
    this.add(this.#splitter.push(chunk));
  }

  /** Whole names, as latin1 strings. */
  add(names: readonly string[]): void {
    for (let at = 0; at < names.length; at += BATCH_NAMES) {
      const batch = names.length <= BATCH_NAMES ? names : names.slice(at, at + BATCH_NAMES);
      this.#seen += batch.length;
      this.#options.progress?.(batch.length);
      const { startPool } = this.#options;
      if (startPool !== undefined && this.#seen > NAMES_BEFORE_POOL)
        this.#pool ??= startPool(answer => this.#take(answer));
      if (this.#pool === undefined) this.#write(this.#describe(batch, this.#onProblem));
      else this.#pool.push(batch);
    }
  }

  /**
   * Describes what is left and ends the stream.
   * @throws LccError `io` without ending it, when some name could not be looked at, or the last is only a
   * part of one; `abort` is next
   */
  end(): void {
    const unended = this.#splitter.end();
    this.#pool?.end();
    if (unended !== undefined) this.#addUnended(unended);
    if (this.#failed > 0)
      throw new LccError('io', `${this.#failed} names could not be read: the listing is incomplete`);
    this.#tellRest();
    this.#out.write(STREAM_END);
    this.#out.flush();
  }

  /** Leaves off: what was described so far is written, the stream stays without its end. */
  abort(): void {
    this.#pool?.stop();
    this.#tellRest();
    this.#out.flush();
  }

  /** The last name of a whole list may lack its end (`printf a.html`); that of a list which was cut is only a
   * part, and hardly ever the name of a file. */
  #addUnended(name: string): void {
    this.#options.progress?.(1);
    let isThere = false;
    const line = this.#describe([name], problem => {
      isThere = problem.kind === 'unread' || problem.kind === 'failed';
      if (isThere) this.#report(problem);
    });
    this.#write(line);
    if (line === '' && !isThere)
      throw new LccError(
        'io',
        `the list ends with ${displayName(name)}, which is no file of the site and has no end of a name after it: it was cut off; make it again`,
      );
  }

  #tellRest(): void {
    const rest = this.#outside - OUTSIDE_NAMED;
    if (rest > 0 && this.#options.counts !== true)
      this.#complain(
        `${amount(rest, 'more name', 'more names')} not below the document root ${displayName(this.#options.docroot)}; -v reports each`,
      );
  }

  #take(answer: BatchAnswer): void {
    for (const problem of answer.problems) this.#report(problem);
    this.#write(answer.text);
  }

  #write(lines: string): void {
    if (this.#options.counts === true)
      for (let at = lines.indexOf('\n'); at >= 0; at = lines.indexOf('\n', at + 1)) this.described += 1;
    this.#out.write(lines);
  }

  #report(problem: NameProblem): void {
    const name = displayName(problem.name);
    switch (problem.kind) {
      case 'gone':
        if (this.#options.mayHoldOther === true) {
          this.#failed += 1;
          return this.#complain(`${name}: there is no such file; does what -exec runs print?`);
        }
        this.vanished += 1;
        return this.#complain(`${name}: there is no such file, or none any more; skipped`);
      case 'dangling':
        this.vanished += 1;
        return this.#complain(`${name}: a symbolic link to nothing; skipped`);
      case 'loop':
        this.vanished += 1;
        return this.#complain(`${name}: symbolic links that lead in a circle; skipped`);
      case 'outside':
        this.rejected += 1;
        this.#outside += 1;
        if (this.#outside > OUTSIDE_NAMED && this.#options.counts !== true) return;
        return this.#complain(
          `${name}: not below the document root ${displayName(this.#options.docroot)}; see --docroot`,
        );
      case 'unread':
        this.rejected += 1;
        return this.#complain(`${name}: not readable; listed without md5`);
      case 'failed':
        this.#failed += 1;
        return this.#complain(`${name}: ${problem.errno ?? 'cannot be looked at'}`);
    }
  }
}
