/** One answer: from a snapshot of the LCC DB, through a format, into a sink. */
import type { Advance } from '../lib/progress.js';
import type { ColumnValue, TableSide } from '../db/cache/fields.js';
import type { CacheReader, Selection } from '../db/cache/read.js';
import { giveBack } from '../lib/memory.js';
import { Answer } from './answer.js';
import type { Format, FormatContext, Writer } from './formats/types.js';
import { contentOpener } from './missing-content.js';
import type { Bringer } from './peers/bringer.js';
import { Rejects, type RejectTalk } from './rejects.js';
import type { StreamSink } from './sink.js';
import type { RangeThread } from './ranges.js';
import type { Query } from './types.js';
import { ReadBuffer } from './stored-content.js';
import type { RowWindow } from './windows.js';

export type { Query } from './types.js';

/** Reports about single rows and the progress. */
export interface QueryTalk extends RejectTalk {
  note(message: string): void;
  advance?: Advance | undefined;
}

export interface QueryResult {
  records: number;
  /** Rows that could not be written as they should; each was reported. */
  rejected: number;
  /** Rows left out because they were replaced, or deleted, after the query began: they come with the next
   * one. */
  replaced: number;
  /** Every change up to this number has been written, or was not asked for. */
  reachedSeq: number;
}

/**
 * Writes the whole answer. The sink is asked for when the first record is there; with `whenEmpty` also when
 * there is none, so that an empty answer is a complete document.
 * @param thread makes part of it; it has looked at what `reader` looks at
 * @throws LccError `data.cut` when content was altered while it was written: what the sink has is no whole
 * stream
 */
export function runQuery(
  reader: CacheReader,
  query: Query,
  { open, whenEmpty }: { open: () => StreamSink; whenEmpty: boolean },
  talk: QueryTalk,
  thread?: RangeThread,
): Promise<QueryResult> {
  const stream = new Stream(query, rejects => contextOf(reader, query, rejects, talk), open, talk);
  return stream.whole(() => stream.write(allOf(reader, query, stream, thread)), whenEmpty);
}

/** One stream of records, and what became of them. */
export class Stream {
  readonly answer: Answer;
  readonly rejects: Rejects;
  readonly talk: QueryTalk;
  readonly #query: Query;
  records = 0;
  reachedSeq: number;

  constructor(
    query: Query,
    context: (rejects: Rejects) => FormatContext,
    open: () => StreamSink,
    talk: QueryTalk,
  ) {
    this.#query = query;
    this.talk = talk;
    this.rejects = new Rejects(talk);
    this.reachedSeq = query.selection.sinceSeq ?? 0;
    this.answer = new Answer(query.format, context(this.rejects), open);
  }

  /** Writes what is in windows. @param stop ends it after the one that is being written */
  async write(windows: Iterable<RowWindow> | AsyncIterable<RowWindow>, stop?: AbortSignal): Promise<void> {
    for await (const { items, count, reachedSeq } of windows) {
      for (const item of items) {
        const written = addItem(this.answer, item);
        if (written !== undefined) await written;
      }
      this.records += count;
      if (count > 0) this.talk.advance?.(count);
      this.reachedSeq = reachedSeq;
      if (stop?.aborted === true) return;
    }
  }

  /** Has all of it written; one that fails is left without an end. */
  async whole(write: () => Promise<void>, whenEmpty: boolean): Promise<QueryResult> {
    const { answer, rejects } = this;
    try {
      await write();
      const { records, reachedSeq } = this;
      if (records > 0 || whenEmpty || isReachedTold(this.#query, reachedSeq)) await answer.open();
      await answer.finish(reachedSeq);
      rejects.tellRest();
      return { records, rejected: rejects.count, replaced: rejects.replaced, reachedSeq };
    } catch (error) {
      answer.destroy();
      throw error;
    }
  }
}

/** All records in order: read here, or in ranges some of which a thread has made. */
function* allOf(
  reader: CacheReader,
  query: Query,
  { answer, rejects, talk }: Stream,
  thread: RangeThread | undefined,
): Generator<RowWindow, void> {
  const all = { since: reader.startOf(query.selection), to: reader.highWater };
  if (thread === undefined) {
    let records = 0;
    for (const window of itemsOf(reader, query, answer.writer)) {
      records += window.count;
      yield window;
    }
    if (records !== query.limit) yield { items: [], count: 0, reachedSeq: all.to };
    return;
  }
  for (const { since, to, made } of thread.ranges(all)) {
    const selection = { ...query.selection, sinceSeq: since, toSeq: to };
    if (made === undefined) yield* itemsOf(reader, { ...query, selection }, answer.writer);
    else {
      made.rejects.forEach(rejects.add);
      for (const [curl, machine] of made.elsewhere) rejects.elsewhere(curl, machine);
      rejects.replaced += made.replaced;
      made.notes.forEach(message => talk.note(message));
      const { bytes, count } = made;
      yield { items: bytes.length > 0 ? [{ bytes, count, lastSeq: to }] : [], count, reachedSeq: to };
    }
  }
  yield { items: [], count: 0, reachedSeq: all.to };
}

export function contextOf(
  reader: CacheReader,
  query: Query,
  rejects: Rejects,
  talk: QueryTalk,
  // A record is written, or has made its own of the content, before the next one is begun.
  buffer: ReadBuffer | null = new ReadBuffer(),
  bringer?: Bringer,
): FormatContext {
  return contextFor({ ...query, storeId: reader.storeId }, rejects, talk, {
    openContent: contentOpener(reader, query.storeDir, rejects, buffer, bringer),
    typesUnder: burl => reader.typesUnder(query.selection, burl),
  });
}

/** The same, wherever the rows come from. @param from how content and types are found there */
export function contextFor(
  query: Query & Pick<FormatContext, 'storeId'>,
  rejects: Rejects,
  talk: QueryTalk,
  from: Pick<FormatContext, 'openContent'> & { typesUnder: (burl: string) => string[] },
): FormatContext {
  return {
    ...query,
    sinceSeq: query.selection.sinceSeq ?? 0,
    isPart: isPart(query),
    beginsWithAll: beginsWithAll(query),
    openContent: from.openContent,
    formerTypes: query.selection.sides.includes('gone')
      ? (burl, mimetype) => from.typesUnder(burl).filter(type => type !== mimetype)
      : undefined,
    reject: rejects.add,
    note: message => talk.note(message),
  };
}

/** Providers, prefixes and mimetypes choose what somebody follows; of that, these leave something out. */
function isPart({ selection: { since, until, sides }, limit }: Query): boolean {
  return since !== undefined || until !== undefined || limit !== undefined || !sides.includes('held');
}

/** Who follows a part by provider, prefix or type has all of that. */
function beginsWithAll({ selection: { since, until, sinceSeq = 0, sides } }: Query): boolean {
  return sinceSeq === 0 && since === undefined && until === undefined && sides.includes('held');
}

/** Some lines, or a row with its `seq` in front. */
export function addItem(answer: Answer, item: RowWindow['items'][number]): void | Promise<void> {
  return 'bytes' in item ? answer.addLines(item.bytes) : answer.addRow(item.slice(1));
}

/** A promise for each would cost more than many a row. */
const SOME_ROWS = 50;

/** Items to write, `query.limit` records at most. */
export function* itemsOf(reader: CacheReader, query: Query, writer: Writer): Generator<RowWindow, void> {
  const selection = selectionOf(query);
  if ('template' in writer) {
    for (const block of reader.lines(selection, writer.template, query.limit)) {
      yield { items: [block], count: block.count, reachedSeq: block.lastSeq };
      // The consumer is done with it.
      giveBack(block.bytes);
    }
    return;
  }
  const rows = reader[kindOf(query.format)](selection, ['seq', ...writer.columns]);
  const { limit = Infinity } = query;
  let items: ColumnValue[][] = [];
  let records = 0;
  for (const row of rows) {
    items.push(row);
    if (++records < limit && items.length < SOME_ROWS) continue;
    yield { items, count: items.length, reachedSeq: Number(row[0]) };
    if (records === limit) return;
    items = [];
  }
  const [seq] = items.at(-1) ?? [];
  if (seq !== undefined) yield { items, count: items.length, reachedSeq: Number(seq) };
}

/** The part of the reader that a format's records come from. */
export function kindOf(format: Format): 'rows' | 'pages' | 'oldPaths' {
  return format.ofOldPaths ? 'oldPaths' : format.keyedByUrl ? 'pages' : 'rows';
}

/** A change stream has the deletions in it; a listing of what is held has none.
 * @param deleted as asked for */
export function sidesOf(deleted: 'yes' | 'no' | 'only' | undefined, isChangeStream: boolean): TableSide[] {
  if (deleted === 'only') return ['gone'];
  return deleted === 'yes' || (deleted !== 'no' && isChangeStream) ? ['held', 'gone'] : ['held'];
}

/** The selection, as far as the format can show it. */
export function selectionOf({ format, selection }: Pick<Query, 'format' | 'selection'>): Selection {
  return {
    ...selection,
    sides: selection.sides.filter(side => format.sides.includes(side)),
    local: format.local ?? false,
    browsable: format.browsable ?? format.keyedByUrl ?? false,
    moved: format.keyedByUrl ?? false,
  };
}

/** True if a stream must be written, were it without a record: there are changes, and it says how far it
 * came. */
function isReachedTold({ format, selection }: Query, reachedSeq: number): boolean {
  const since = selection.sinceSeq ?? 0;
  return (
    (format.tellsReached === true || (format.tellsBeginning === true && since === 0)) && reachedSeq > since
  );
}
