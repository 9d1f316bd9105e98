/**
 * The lines of lccq(1) for one reader of the change feed, along the change sequence, as one answer
 * with a cursor at its end, or as events. Nothing of the database is held while the reader reads, or waits.
 */
import type { CacheReader, Selection } from '../../db/cache/read.js';
import { formatCuCursor, type CuCursor, type CuQuery } from '../../wire/cu.js';
import { beganOf, cursorAt, startOf } from '../cursor.js';
import { chunks } from '../formats/chunks.js';
import type { Made, Part, RowWriter } from '../formats/types.js';
import { contentWanted } from '../content-wanted.js';
import { BRING_COLUMNS, type Bringer } from '../peers/bringer.js';
import { contextOf } from '../query.js';
import { Rejects } from '../rejects.js';
import { selectionOf } from '../server/answer.js';
import type { CuParts } from '../server/session.js';
import type { Query } from '../types.js';
import { rowWindows } from '../windows.js';
import type { CommitWatch } from './commit-watch.js';
import type { FeedAsked } from './request.js';

/** Text of one piece. */
const PIECE_LENGTH = 32 * 1024;
/** Text kept of one window, for each reader that is slow. */
const WINDOW_LENGTH = 32 * 1024;
/** For so long text is made before others have their turn. */
const SLICE_MS = 10;
/** Silence after which a stream says that it is still there. */
const KEEP_MS = 15_000;

interface ChangeFeedParts extends Pick<CuParts, 'cache' | 'shipped' | 'clock' | 'options' | 'counted'> {
  /** Brings content of other machines. */
  bringer?: Bringer | undefined;
  commits: CommitWatch;
  /** The reader has gone, or the daemon stops. */
  over: AbortSignal;
}

export class ChangeFeed {
  readonly #asked: FeedAsked;
  readonly #parts: ChangeFeedParts;
  readonly #selection: Selection;
  readonly #storeId: string;
  readonly #began: number;
  #at: number;
  #left: number;
  #count = 0;
  #untilMs = Infinity;
  /** When something was told last. */
  #toldMs = 0;
  /** Seq that the reader of a stream goes on from. */
  #toldSeq: number;
  /** The beginning that the format has; '' once it has been told. */
  #head: string;
  #made: { reader: CacheReader; writer: RowWriter };

  /** @throws LccError `data.refused` where the cursor cannot be continued from; as SharedCache.reader */
  constructor(asked: FeedAsked, parts: ChangeFeedParts) {
    const { query, fromNow, isStream } = asked;
    const reader = parts.cache.reader();
    const highWater = reader.look();
    const { storeId } = reader;
    const cursor: CuCursor | undefined = fromNow ? { storeId, seq: highWater } : query.cursor;
    this.#asked = asked;
    this.#parts = parts;
    this.#storeId = storeId;
    this.#at = startOf('cursor', cursor, reader);
    this.#toldSeq = this.#at;
    this.#began = beganOf(cursor, reader);
    this.#left = query.limit ?? Infinity;
    // As lccq --follow: deletions are part of what goes on.
    const sides: CuQuery = { ...(isStream && { deleted: 'yes' }), ...query, ...(cursor && { cursor }) };
    this.#selection = selectionOf(sides, parts.clock.nowMs());
    this.#made = { reader, writer: this.#writer(reader) };
    this.#head = textOf(this.#made.writer.head ?? '');
  }

  /** All changes there are, or the first of them; where there are none, those of the next commit that has
   * any. Its last line is the cursor. */
  async *poll(): AsyncGenerator<string, void> {
    const { clock, commits, over } = this.#parts;
    const untilMs = clock.monotonicMs() + this.#asked.waitMs;
    for (;;) {
      const mark = commits.mark();
      yield* this.#news();
      const leftMs = untilMs - clock.monotonicMs();
      if (this.#count > 0 || leftMs <= 0 || over.aborted) break;
      await commits.after(mark, leftMs, over);
    }
    const more = await this.#hasMore();
    yield `${this.#head}${JSON.stringify({ cursor: this.#cursor(this.#at), more })}\n`;
  }

  /** Events without an end, for `lastMs` or as many as were asked for. */
  async *events(lastMs: number): AsyncGenerator<string, void> {
    const { clock, commits, over } = this.#parts;
    this.#toldMs = clock.monotonicMs();
    this.#untilMs = this.#toldMs + lastMs;
    // The reader knows at once that it is connected.
    yield '';
    if (this.#head !== '') yield this.#eventOf(this.#head, 'reset', undefined);
    this.#head = '';
    for (;;) {
      const mark = commits.mark();
      yield* this.#news();
      yield '';
      const nowMs = clock.monotonicMs();
      if (this.#left === 0 || nowMs >= this.#untilMs || over.aborted) return;
      const quietMs = this.#toldMs + KEEP_MS - nowMs;
      if (quietMs > 0) await commits.after(mark, Math.min(quietMs, this.#untilMs - nowMs), over);
      else yield this.#stillThere();
    }
  }

  /** Text of what has been committed since; nothing where nothing of it is selected. */
  async *#news(): AsyncGenerator<string, void> {
    const { clock, over, cache, bringer, counted } = this.#parts;
    const { reader, writer } = this.#current();
    const to = reader.look();
    // safeguard: the change feed waiting for the engine
    await this.#parts.shipped();
    let text = '';
    let sliceMs = clock.monotonicMs();
    const range = { since: this.#at, to, limit: this.#left, began: this.#began };
    const columns = ['op', ...writer.columns, ...BRING_COLUMNS] as const;
    const wanted = contentWanted(this.#asked, writer.columns);
    try {
      reading: for (const window of rowWindows(
        reader,
        this.#selection,
        range,
        columns,
        'rows',
        WINDOW_LENGTH,
      )) {
        for (const [seq, op, ...values] of window.items) {
          if (over.aborted || clock.monotonicMs() >= this.#untilMs) break reading;
          this.#count++;
          this.#left--;
          counted('urls_sent', 1);
          const place = values.splice(-BRING_COLUMNS.length);
          const coming = bringer?.bring(wanted, place);
          if (coming !== undefined) await coming;
          for (const line of this.#told(writer.record(values), String(op), Number(seq))) {
            text += line;
            if (text.length < PIECE_LENGTH) continue;
            yield text;
            text = '';
          }
          this.#at = Number(seq);
          if (clock.monotonicMs() - sliceMs < SLICE_MS) continue;
          await turn();
          sliceMs = clock.monotonicMs();
        }
        this.#at = window.reachedSeq;
        if (text === '' && this.#asked.isStream && clock.monotonicMs() >= this.#toldMs + KEEP_MS)
          yield this.#stillThere();
        await turn();
      }
    } catch (error) {
      throw cache.errorOf(reader, error);
    }
    if (text !== '') yield text;
  }

  /** The text of a row's record. */
  *#told(made: ReturnType<RowWriter['record']>, op: string, seq: number): Generator<string, void> {
    const { isStream } = this.#asked;
    if (this.#head !== '') yield this.#head;
    this.#head = '';
    let begins = true;
    for (const part of partsOf(made)) {
      const text = textOf(part);
      if (text === '') continue;
      yield isStream && begins ? this.#eventOf(text, op, seq) : text;
      begins = text.endsWith('\n');
      if (begins && isStream) yield '\n';
    }
  }

  /** The beginning of an event. A page in pieces is told when its last line is. */
  #eventOf(line: string, op: string, seq: number | undefined): string {
    const event = /^\{"op":"(\w+)"/.exec(line)?.[1] ?? op;
    const isWhole = this.#asked.format !== chunks || event === 'delete';
    this.#toldMs = this.#parts.clock.monotonicMs();
    let id = '';
    if (seq !== undefined && isWhole) {
      this.#toldSeq = seq;
      id = `id: ${this.#cursor(seq)}\n`;
    }
    return `${id}event: ${event}\ndata: ${line}${seq === undefined ? '\n' : ''}`;
  }

  /** A comment; an id without data moves the place that the reader goes on from, and is no event. */
  #stillThere(): string {
    this.#toldMs = this.#parts.clock.monotonicMs();
    const id = this.#at > this.#toldSeq ? `id: ${this.#cursor(this.#at)}\n` : '';
    this.#toldSeq = this.#at;
    return `:\n${id}\n`;
  }

  #cursor(seq: number): string {
    return formatCuCursor(cursorAt(this.#storeId, seq, this.#began));
  }

  /** True if something that is selected is there after the last line; where not, the place is after all. */
  async #hasMore(): Promise<boolean> {
    const { reader } = this.#current();
    const to = reader.look();
    await this.#parts.shipped();
    const range = { since: this.#at, to, limit: 1, began: this.#began };
    for (const window of rowWindows(reader, this.#selection, range, [])) {
      if (window.count > 0) return true;
      this.#at = window.reachedSeq;
    }
    return false;
  }

  /** @throws LccError `data.refused` where the database is another since, as SharedCache.reader */
  #current(): { reader: CacheReader; writer: RowWriter } {
    const reader = this.#parts.cache.reader();
    startOf('cursor', cursorAt(this.#storeId, this.#at, this.#began), reader);
    if (reader !== this.#made.reader) this.#made = { reader, writer: this.#writer(reader) };
    return this.#made;
  }

  #writer(reader: CacheReader): RowWriter {
    const { options, bringer, clock, counted } = this.#parts;
    const { storeDir, maxTextBytes } = options;
    const { query: _, fromNow: __, waitMs: ___, isStream: ____, ...asked } = this.#asked;
    const selection = { ...this.#selection, sinceSeq: this.#at };
    const query: Query = { ...asked, selection, storeDir, maxTextBytes, nowMs: clock.nowMs() };
    const talk = {
      reject: () => counted('urls_omitted', 1),
      elsewhere: () => counted('urls_omitted', 1),
      note: () => undefined,
    };
    // Many records are in the making at a time: each content has memory of its own.
    const writer = asked.format.open(contextOf(reader, query, new Rejects(talk), talk, null, bringer));
    if ('template' in writer) throw new TypeError('a format of the change feed makes records of rows');
    return writer;
  }
}

/** Lets others have their turn of the event loop. */
const turn = () => new Promise<void>(resolve => void setImmediate(resolve));

/** Text is made here, without a program that converts: at once. */
function partsOf(made: Made | Promise<Made>): Iterable<Part> {
  if (typeof made === 'string' || made instanceof Uint8Array) return [made];
  if (Symbol.iterator in made) return made;
  throw new TypeError('a record of the change feed is made at once');
}

const textOf = (part: Part): string => (typeof part === 'string' ? part : Buffer.from(part).toString());
