/** Reads documents and what they list, one after the other, to the end. What cannot be read is made up for by
 * the last good reading, if that is not too old; otherwise what is read in all is a part. */
import { amount, formatDuration } from '../config/words.js';
import { LccError } from '../lib/errors.js';
import { isNoRobots } from '../robots/answer.js';
import { entriesOf, type Copies, type Copy, type CopyWriter, type Listed } from './copies.js';
import { together, type Coverage } from '../wire/coverage.js';
import { readDocument } from './document.js';
import type { Entry } from './entry-lines.js';
import { StatusError, type DocumentContent, type SourceFetcher } from './fetcher.js';
import type { Extras } from './found.js';
import { nameOf, type DocumentPlace } from './places.js';
import { DocumentReading, type DocumentReadingOptions } from './reading.js';
import { readSitemapLines } from '../robots/robots-txt.js';

interface WalkOptions extends DocumentReadingOptions {
  extras: Extras;
  /** feed2url. */
  feedsOnly: boolean;
  /** How old the last good reading may be that stands for a document. */
  staleMs: number;
  nowMs: number;
  explain: ((what: string) => void) | undefined;
}

interface Task {
  place: DocumentPlace;
  /** 1: at the top. */
  depth: number;
  /** Lists are read of it, it is none. */
  isRobots: boolean;
}

export class Walk {
  readonly #fetcher: SourceFetcher;
  readonly #copies: Copies | undefined;
  readonly #take: (entry: Entry) => void;
  readonly #options: WalkOptions;
  readonly #tasks: Task[] = [];
  readonly #seen = new Set<string>();
  #most = 0;
  /** Lists at the top that were read, or stood in for. */
  #goodTops = 0;
  #firstFailure: LccError | undefined;
  /** Pages that were read where no list at the top was good. */
  #taken = 0;
  /** Beyond the limit of documents. */
  #beyond = 0;
  #coverage: Coverage = 'all';
  /** Documents that could not be read. */
  failed = 0;
  /** Entries that were left out. */
  leftOut = 0;
  documents = 0;

  /** @param take gets each entry */
  constructor(
    fetcher: SourceFetcher,
    copies: Copies | undefined,
    take: (entry: Entry) => void,
    options: WalkOptions,
  ) {
    this.#fetcher = fetcher;
    this.#copies = copies;
    this.#take = entry => {
      this.#taken += 1;
      take(entry);
    };
    this.#options = options;
  }

  /** How much of the site was read. */
  get coverage(): Coverage {
    return this.failed > 0 ? 'part' : this.#coverage;
  }

  /**
   * @param robots the robots.txt whose lists are read besides
   * @throws LccError what kept the first from being read, when nothing could be
   */
  async run(tops: readonly DocumentPlace[], robots: string | undefined): Promise<void> {
    this.#most = this.#options.limits.documents.most + (robots === undefined ? 0 : 1);
    if (robots !== undefined) this.#add({ place: { kind: 'url', url: robots }, depth: 0, isRobots: true });
    for (const place of tops) this.#add({ place, depth: 1, isRobots: false });
    for (let next = 0; next < this.#tasks.length; next++) await this.#visit(this.#tasks[next]!);
    const first = this.#firstFailure;
    if (first !== undefined && this.#goodTops === 0 && this.#taken === 0) throw first;
    if (first !== undefined) this.#options.complain(first.message);
    if (this.#beyond > 0) {
      this.failed += this.#beyond;
      const { text } = this.#options.limits.documents;
      this.#options.complain(`${amount(this.#beyond, 'document')} not read: the limit of a run is ${text}`);
    }
    if (this.failed === 0) this.#copies?.tidy(this.#options.nowMs - this.#options.staleMs);
  }

  #add(task: Task): void {
    if (task.place.kind === 'url') {
      const { url } = task.place;
      if (this.#seen.has(url)) return;
      if (this.#tasks.length >= this.#most) {
        this.#beyond += 1;
        return;
      }
      this.#seen.add(url);
    }
    this.#tasks.push(task);
  }

  async #visit(task: Task): Promise<void> {
    const { place } = task;
    const copy = place.kind === 'url' ? this.#copies?.of(place.url) : undefined;
    this.documents += 1;
    try {
      const answer = await this.#fetcher.get(place, copy);
      if (answer.kind === 'content') return await this.#read(task, answer.content, copy);
      if (copy === undefined) throw new LccError('peer.unavailable', 'status 304, though nothing is held');
      this.#copies?.confirm(copy, this.#options.nowMs);
      this.#options.explain?.(`${nameOf(place)}: as it was`);
      this.#takeCopy(task, copy);
    } catch (error) {
      if (!(error instanceof LccError) || error.code === 'io' || error.code === 'io.full') throw error;
      if (task.isRobots && error instanceof StatusError && isNoRobots(error.status)) this.#follow(task, []);
      else if (copy === undefined || !this.#isFresh(copy)) this.#fail(task, error);
      else this.#standIn(task, error, copy);
    }
  }

  /** @throws LccError where it is not whole; what was read of it counts, unless a copy may stand in */
  async #read(task: Task, content: DocumentContent, copy: Copy | undefined): Promise<void> {
    const { place } = task;
    const name = nameOf(place);
    const writer = place.kind === 'url' ? this.#copies?.begin(place.url) : undefined;
    const keep = writer && ((entry: Entry) => writer.add(entry));
    const sinks = keep === undefined ? { page: this.#take } : { page: keep, child: keep };
    const reading = new DocumentReading(
      name,
      sinks,
      task.depth <= this.#options.limits.depth.most,
      this.#options,
    );
    try {
      await this.#parse(task, content, reading);
      reading.conclude();
      this.leftOut += reading.leftOut;
      this.#options.explain?.(`${name}: ${amount(reading.entries, 'entry', 'entries')}`);
      if (writer === undefined) this.#good(task, reading.coverage, reading.children);
      else this.#takeCopy(task, writer.finish(reading.coverage, content, reading.leftOut, copy), false);
    } catch (error) {
      if (
        !(error instanceof LccError) ||
        (copy !== undefined && this.#isFresh(copy)) ||
        reading.entries === 0
      )
        throw error;
      reading.conclude();
      this.leftOut += reading.leftOut;
      this.#takeRest(task, writer, reading);
      throw new LccError(
        error.code,
        `${error.message} (after ${amount(reading.entries, 'entry', 'entries')})`,
      );
    } finally {
      writer?.discard();
      content.release();
    }
  }

  async #parse(task: Task, content: DocumentContent, reading: DocumentReading): Promise<void> {
    const isOpenEnded = content.isOpenEnded === true || content.failure !== undefined;
    if (task.isRobots) {
      if (content.failure !== undefined) throw content.failure;
      const { named, isWhole } = await readSitemapLines(content.pieces, isOpenEnded);
      for (const line of named) reading.child(line, content.url);
      if (!isWhole) reading.leave('its end is not there: lines that name sitemaps may be missing');
      return;
    }
    const { limits, extras, feedsOnly } = this.#options;
    const where = content.url;
    try {
      await readDocument(content.pieces, reading, { where, extras, limits, feedsOnly, isOpenEnded });
      if (content.failure === undefined) return;
    } catch (error) {
      if (content.failure === undefined) throw error;
    }
    // The content ended because the transfer did.
    throw content.failure;
  }

  /** Takes the entries that were read of a document that is not whole. */
  #takeRest(task: Task, writer: CopyWriter | undefined, reading: DocumentReading): void {
    for (const entry of writer?.entries() ?? []) if (entry.isList !== true) this.#take(entry);
    for (const url of reading.children) this.#addChild(task, url);
  }

  /** @param tells whether entries that were left out count */
  #takeCopy(task: Task, copy: Listed, tells = true): void {
    const { complain } = this.#options;
    const name = nameOf(task.place);
    if (copy.isMaking)
      complain(
        `${name}: nearly all urls have the time ${copy.common}, and another at each reading; it is ignored`,
      );
    if (tells && copy.left > 0) {
      this.leftOut += copy.left;
      complain(`${name}: ${amount(copy.left, 'entry', 'entries')} left out, as before`);
    }
    const children: string[] = [];
    for (const entry of entriesOf(copy))
      if (entry.isList === true) children.push(entry.curl);
      else this.#take(entry);
    this.#good(task, copy.coverage, children);
  }

  #standIn(task: Task, error: LccError, copy: Copy): void {
    const { complain, nowMs } = this.#options;
    const age = formatDuration(Math.max(0, nowMs - copy.knownMs) / 1000);
    complain(`${nameOf(task.place)}: ${error.message}; what it had ${age} ago is taken`);
    this.#copies?.keep(copy);
    this.#takeCopy(task, copy);
    // A page that other lists have no more may be in this one today.
    this.#coverage = 'part';
  }

  #good(task: Task, coverage: Coverage, children: readonly string[]): void {
    if (task.depth === 1) this.#goodTops += 1;
    this.#coverage = together(this.#coverage, coverage);
    this.#follow(task, children);
  }

  #follow(task: Task, children: readonly string[]): void {
    for (const url of children) this.#addChild(task, url);
    if (!task.isRobots || children.length > 0 || task.place.kind !== 'url') return;
    this.#addChild(task, new URL('/sitemap.xml', task.place.url).href);
  }

  #addChild(task: Task, url: string): void {
    this.#add({ place: { kind: 'url', url }, depth: task.depth + 1, isRobots: false });
  }

  #fail(task: Task, error: LccError): void {
    const message = `${nameOf(task.place)}: ${error.message}`;
    this.failed += 1;
    if (task.depth <= 1 && this.#firstFailure === undefined)
      // Said when it is known whether anything else could be read.
      this.#firstFailure = new LccError(error.code, message, { cause: error });
    else this.#options.complain(message);
  }

  #isFresh({ knownMs }: Copy): boolean {
    return this.#options.nowMs - knownMs <= this.#options.staleMs;
  }
}
