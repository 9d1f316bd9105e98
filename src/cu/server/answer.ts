/** The answer to one query, window by window: nothing of the database is held while the client reads. */
import type { CacheReader, Selection } from '../../db/cache/read.js';
import type { ColumnValue } from '../../db/cache/fields.js';
import { parseWhen } from '../../lib/when.js';
import { omitted, RESULT_END, resultLimited, resultStart, type CuQuery } from '../../wire/cu.js';
import { rowsStart } from '../../wire/cu-rows.js';
import { Batch } from '../batch.js';
import { beganOf, cursorAt, startOf } from '../cursor.js';
import { USUAL_FIELDS } from '../fields.js';
import type { FormatContext, RowWriter } from '../formats/types.js';
import { xml } from '../formats/xml.js';
import type { WhenShipped } from '../../daemon/when-shipped.js';
import type { StreamSink } from '../sink.js';
import { BRING_COLUMNS, Bringer } from '../peers/bringer.js';
import type { PeerContents } from '../peers/contents.js';
import { contentOf } from '../missing-content.js';
import { sidesOf } from '../query.js';
import { rowElements, shown } from './rows.js';
import { lineWindows, rowWindows, type Range } from '../windows.js';

/** Where files lie here, and the numbers they have, is nobody's business elsewhere. */
const FIELDS = USUAL_FIELDS.filter(name => !['file', 'id', 'fetched_fileid'].includes(name));

interface AnswerParts {
  reader: CacheReader;
  storeDir: string;
  nowMs: number;
  sink: StreamSink;
  /** Where content of other machines is had. */
  peers?: PeerContents | undefined;
  /** Resolves when what was looked at is in the engine. */
  shipped: WhenShipped;
  /** Lets others have their turn. */
  pause(): Promise<void>;
}

interface Answered {
  urls: number;
  /** Urls that could not be sent as asked for. */
  omitted: number;
}

/**
 * Writes the whole answer.
 * @throws LccError `data.refused` where the cursor cannot be continued from, `usage` for a time that is
 *   none; what the sink throws
 */
export async function answer(query: CuQuery, parts: AnswerParts): Promise<Answered> {
  const { reader } = parts;
  const highWater = reader.look();
  const { storeId } = reader;
  const since = startOf('cursor', query.cursor, reader);
  const selection = selectionOf(query, parts.nowMs);
  const began = beganOf(query.cursor, reader);
  const range: Range = { since, to: highWater, limit: query.limit ?? Infinity, began };
  const isRows = query.fields !== undefined;
  if (query.after !== undefined) {
    range.since = startOf('after', query.after, reader);
    range.began = beganOf(query.after, reader);
  }
  // safeguard: an answer with a cursor waiting for the engine
  await parts.shipped();
  const writing = new Writing(query, selection, range, parts);
  const batch = new Batch(() => Promise.resolve(parts.sink));
  await batch.add(
    isRows
      ? rowsStart(storeId, highWater, parts.storeDir)
      : resultStart(storeId, query.limit === undefined ? { storeId, seq: highWater } : undefined),
  );
  for await (const part of writing.parts()) {
    const written = batch.add(part);
    if (written !== undefined) await written;
  }
  if (isRows || query.limit !== undefined)
    await batch.add(resultLimited(cursorAt(storeId, writing.reachedSeq, range.began)));
  await batch.add(RESULT_END);
  await batch.flush();
  return { urls: writing.urls, omitted: writing.omitted };
}

class Writing {
  urls = 0;
  omitted = 0;
  reachedSeq: number;
  readonly #query: CuQuery;
  readonly #selection: Selection;
  readonly #range: Range;
  readonly #parts: AnswerParts;
  /** Rows left out since the last one, as they are told. */
  #told = '';
  #row: readonly ColumnValue[] = [];
  readonly #bringer: Bringer | undefined;

  constructor(query: CuQuery, selection: Selection, range: Range, parts: AnswerParts) {
    this.#query = query;
    this.#selection = selection;
    this.#range = range;
    this.#parts = parts;
    this.reachedSeq = range.since;
    // A reader of rows is told which are of a machine that is away.
    this.#bringer = parts.peers && new Bringer(parts.peers, query.fields !== undefined);
  }

  async *parts(): AsyncGenerator<string | Uint8Array, void> {
    const { reader, storeDir } = this.#parts;
    if (this.#query.fields !== undefined) {
      const selection = shown(this.#query, this.#selection);
      const windows = rowElements(reader, this.#query, selection, this.#range, storeDir, this.#bringer);
      for (const { items, count, reachedSeq } of windows) {
        yield* items;
        this.urls += count;
        this.reachedSeq = reachedSeq;
        await this.#parts.pause();
      }
      return;
    }
    const writer = xml.open(this.#context());
    const windows =
      'template' in writer
        ? lineWindows(reader, this.#selection, this.#range, writer.template)
        : rowWindows(reader, this.#selection, this.#range, [...writer.columns, ...BRING_COLUMNS]);
    for (const { items, count, reachedSeq } of windows) {
      for (const item of items) {
        if ('bytes' in item) yield item.bytes;
        else if ('columns' in writer) yield* this.#record(writer, item);
      }
      yield this.#toldSoFar();
      this.urls += count;
      this.reachedSeq = reachedSeq;
      await this.#parts.pause();
    }
  }

  async *#record(writer: RowWriter, row: readonly ColumnValue[]): AsyncGenerator<string | Uint8Array> {
    this.#row = row;
    await this.#bringer?.bring(this.#query.content, row.slice(-BRING_COLUMNS.length));
    const record = await writer.record(row.slice(1, -BRING_COLUMNS.length));
    if (typeof record === 'string' || record instanceof Uint8Array) yield record;
    else yield* record;
    yield this.#toldSoFar();
  }

  #toldSoFar(): string {
    const told = this.#told;
    this.#told = '';
    return told;
  }

  #context(): FormatContext {
    const { storeDir, reader, nowMs } = this.#parts;
    return {
      nowMs,
      storeId: reader.storeId,
      sinceSeq: this.#range.since,
      storeDir,
      fields: FIELDS,
      content: this.#query.content === true,
      beginsWithAll: false,
      // None is made.
      maxTextBytes: 0,
      // In the order of CONTENT_COLUMNS.
      openContent: ([curl, fileid, , md5]) => {
        const found = contentOf(reader, storeDir, [fileid, md5], { bringer: this.#bringer });
        if ('content' in found) return found.content;
        const { why, isReplaced } = found;
        // A content that was replaced since its window was read comes with the next answer.
        if (isReplaced === true) return undefined;
        this.omitted++;
        const url = { curl: String(curl), seq: Number(this.#row[0]) };
        this.#told += omitted(url, typeof why === 'string' ? why : 'on another machine');
        return undefined;
      },
      reject: () => undefined,
      note: () => undefined,
    };
  }
}

/** The rows that a query asks for, those before its cursor included. @throws LccError `usage` */
export function selectionOf(query: CuQuery, nowMs: number): Selection {
  const { since, until, pid, prefix, mime } = query;
  const at = (text: string | undefined) => (text === undefined ? undefined : parseWhen(text, nowMs));
  const sides = sidesOf(query.deleted, query.cursor !== undefined || since !== undefined);
  return { sides, since: at(since), until: at(until), pid, prefix, mime };
}
