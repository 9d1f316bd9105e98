/** One run of lccq: from a snapshot of the LCC DB, through a format, into standard output or a consumer. */
import type { Advance } from '../lib/progress.js';
import type { CacheReader, Selection } from '../db/cache/read.js';
import type { FieldName } from './fields.js';
import type { Format, FormatContext, Writer } from './formats/types.js';

export interface Query {
  selection: Selection;
  format: Format;
  fields?: readonly FieldName[] | undefined;
  /** At most that many records. */
  limit?: number | undefined;
  /** Absolute path of the store on this machine. */
  storeDir: string;
}

/** Where the bytes go; a promise where it has to wait. */
export interface Sink {
  write(chunk: string | Uint8Array): void | Promise<void>;
}

export interface QueryResult {
  records: number;
  /** Rows that could not be written as they should; each was reported. */
  rejected: number;
  /** Every change up to this number has been written, or was not asked for. */
  reachedSeq: number;
}

/** Text written at a time by formats that make records one by one. */
const CHUNK_LENGTH = 64 * 1024;

/**
 * Writes the whole answer. The sink is asked for when the first record is there; with `whenEmpty` also when there is
 * none, so that an empty answer is a complete document.
 * @param report a row that could not be written as it should
 */
export async function runQuery(
  reader: CacheReader,
  query: Query,
  output: { open(): Sink; whenEmpty: boolean },
  talk: { reject(message: string): void; note(message: string): void; advance?: Advance | undefined },
): Promise<QueryResult> {
  let rejected = 0;
  const context: FormatContext = {
    storeId: reader.storeId,
    sinceSeq: query.selection.sinceSeq ?? 0,
    storeDir: query.storeDir,
    fields: query.fields,
    reject: message => {
      rejected++;
      talk.reject(message);
    },
    note: message => talk.note(message),
  };
  const writer = query.format.open(context);
  let sink: Sink | undefined;
  const open = async () => {
    sink = output.open();
    if (writer.head !== undefined) await sink.write(writer.head);
    return sink;
  };
  let records = 0;
  let lastSeq = 0;
  for (const chunk of chunksOf(reader, query, writer, message => context.reject(message))) {
    records += chunk.records;
    talk.advance?.(chunk.records);
    lastSeq = chunk.lastSeq;
    await (sink ?? (await open())).write(chunk.data);
  }
  if (sink === undefined && output.whenEmpty) sink = await open();
  const reachedSeq = records === query.limit ? lastSeq : reader.highWater;
  const tail = writer.tail?.(reachedSeq);
  if (sink !== undefined && tail !== undefined) await sink.write(tail);
  return { records, rejected, reachedSeq };
}

interface Chunk {
  data: string | Uint8Array;
  records: number;
  lastSeq: number;
}

function* chunksOf(
  reader: CacheReader,
  query: Query,
  writer: Writer,
  reject: (message: string) => void,
): Generator<Chunk> {
  const damaged = (id: number) =>
    reject(`row ${id} does not agree with its checksum and is left out; lccfsck --repair removes it`);
  const sides = query.selection.sides.filter(side => query.format.sides.includes(side));
  const selection: Selection = {
    ...query.selection,
    sides,
    local: query.format.local ?? false,
    browsable: query.format.browsable ?? false,
  };
  if ('template' in writer) {
    for (const block of reader.lines(selection, writer.template, damaged, query.limit)) {
      yield { data: block.bytes, records: block.count, lastSeq: block.lastSeq };
    }
    return;
  }
  let chunk: Chunk = { data: '', records: 0, lastSeq: 0 };
  let left = query.limit ?? Infinity;
  for (const [seq, ...values] of reader.rows(selection, ['seq', ...writer.columns], damaged)) {
    if (left-- <= 0) break;
    chunk.data += writer.record(values);
    chunk.records++;
    chunk.lastSeq = Number(seq);
    if (chunk.data.length < CHUNK_LENGTH) continue;
    yield chunk;
    chunk = { data: '', records: 0, lastSeq: 0 };
  }
  if (chunk.records > 0) yield chunk;
}
