/** One answer: from a snapshot of the LCC DB, through a format, into a sink. */
import type { Advance } from '../lib/progress.js';
import type { ColumnName, ColumnValue } from '../db/cache/fields.js';
import type { CacheReader, Selection } from '../db/cache/read.js';
import { giveBack } from '../lib/memory.js';
import { Answer } from './answer.js';
import type { Format, FormatContext, Writer } from './formats/types.js';
import { contentOpener } from './missing-content.js';
import type { Bringer } from './peers/bringer.js';
import { Rejects, type RejectTalk } from './rejects.js';
import type { StreamSink } from './sink.js';
import type { MadeRange, RangeThread } from './ranges.js';
import type { Query } from './types.js';
import { ReadBuffer } from './stored-content.js';

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
export async function runQuery(
  reader: CacheReader,
  query: Query,
  output: { open(): StreamSink; whenEmpty: boolean },
  talk: QueryTalk,
  thread?: RangeThread,
): Promise<QueryResult> {
  const rejects = new Rejects(talk);
  const answer = new Answer(query.format, contextOf(reader, query, rejects, talk), () => output.open());
  try {
    let records = 0;
    let lastSeq = 0;
    for (const { made, query: part } of partsOf(reader, query, thread)) {
      if (made !== undefined) {
        made.rejects.forEach(rejects.add);
        for (const [curl, machine] of made.elsewhere) rejects.elsewhere(curl, machine);
        rejects.replaced += made.replaced;
        made.notes.forEach(message => talk.note(message));
        records += made.count;
        if (made.count > 0) talk.advance?.(made.count);
        if (made.bytes.length > 0) await answer.addLines(made.bytes);
        continue;
      }
      for (const item of itemsOf(reader, part, answer.writer)) {
        records += item.count;
        lastSeq = item.lastSeq;
        const written = addItem(answer, item, talk);
        if (written !== undefined) await written;
      }
    }
    const reachedSeq = records === query.limit ? lastSeq : reader.highWater;
    if (records > 0 || output.whenEmpty || isReachedTold(query, reachedSeq)) await answer.open();
    await answer.finish(reachedSeq);
    rejects.tellRest();
    return { records, rejected: rejects.count, replaced: rejects.replaced, reachedSeq };
  } catch (error) {
    answer.destroy();
    throw error;
  }
}

/** Records to write, in order: read here, or in ranges some of which a thread has made. */
function* partsOf(
  reader: CacheReader,
  query: Query,
  thread: RangeThread | undefined,
): Generator<{ query: Query; made?: MadeRange | undefined }, void> {
  if (thread === undefined) return yield { query };
  const all = { since: reader.startOf(query.selection), to: reader.highWater };
  for (const { since, to, made } of thread.ranges(all))
    yield { query: { ...query, selection: { ...query.selection, sinceSeq: since, toSeq: to } }, made };
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

/** Some lines, or one row. */
type Item = { count: number; lastSeq: number } & ({ bytes: Uint8Array } | { values: ColumnValue[] });

export function addItem(answer: Answer, item: Item, talk: QueryTalk): void | Promise<void> {
  if (item.count === 0) return;
  talk.advance?.(item.count);
  return 'bytes' in item ? answer.addLines(item.bytes) : answer.addRow(item.values);
}

/** Items to write, `query.limit` records at most. */
export function* itemsOf(reader: CacheReader, query: Query, writer: Writer): Generator<Item, void> {
  const selection = selectionOf(query);
  if ('template' in writer) {
    for (const { bytes, count, lastSeq } of reader.lines(selection, writer.template, query.limit)) {
      yield { bytes, count, lastSeq };
      // The consumer is done with it.
      giveBack(bytes);
    }
    return;
  }
  const columns: ColumnName[] = ['seq', ...writer.columns];
  const rows = reader[kindOf(query.format)](selection, columns);
  let left = query.limit ?? Infinity;
  for (const row of rows) {
    if (left-- <= 0) break;
    yield { values: row.slice(1), count: 1, lastSeq: Number(row[0]) };
  }
}

/** The part of the reader that a format's records come from. */
export function kindOf(format: Format): 'rows' | 'pages' | 'oldPaths' {
  return format.ofOldPaths ? 'oldPaths' : format.keyedByUrl ? 'pages' : 'rows';
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
export function isReachedTold({ format, selection }: Query, reachedSeq: number): boolean {
  const since = selection.sinceSeq ?? 0;
  return (
    (format.tellsReached === true || (format.tellsBeginning === true && since === 0)) && reachedSeq > since
  );
}
