/** The one interface of all output formats; a format is one file beside this and one row in `index.ts`. */
import type { ColumnName, ColumnValue, TableSide } from '../../db/cache/fields.js';
import type { LineTemplate } from '../../db/cache/template.js';
import type { Converter } from '../../text/convert/converter.js';
import type { TextWanted } from '../../text/html.js';
import type { FieldName } from '../fields.js';
import type { EncodedSink, StreamSink } from '../sink.js';
import type { StoredContent } from '../stored-content.js';

/** The parts and the manner of records. */
export interface Asked {
  /** As asked for; undefined: the format's own choice. */
  fields?: readonly FieldName[] | undefined;
  /** Records carry the content, where the format leaves the choice (`takesContent`). */
  content?: boolean | undefined;
  /** They carry this text of it instead (`takesText`). */
  text?: TextWanted | undefined;
  /** Or this text as Markdown (`takesMarkdown`). */
  markdown?: TextWanted | undefined;
  /** Characters of a piece at most (`takesChunkSize`); undefined: the usual. */
  chunkSize?: number | undefined;
  /** Makes text of documents that are none; undefined: nothing does. */
  converter?: Converter | undefined;
  /** Absolute path of the store on this machine. */
  storeDir: string;
  /** Content that is longer has no text (`cu.max_text_bytes`): all of it would be in memory, several times
   * over. */
  maxTextBytes: number;
  /** When it was asked: milliseconds since 1970. */
  nowMs: number;
}

/** The view of a format on the run. */
export interface FormatContext extends Asked {
  storeId: string;
  /** The stream holds the changes after this number of the change sequence; 0: everything. */
  sinceSeq: number;
  /** True if the stream is a part by time or number, which nobody may take for all there is. */
  isPart?: boolean | undefined;
  /** The stream begins with everything: its reader may forget what it has. */
  beginsWithAll: boolean;
  /**
   * The verified content of a row; close it when the record is made. Undefined where it is missing, altered
   * or on another machine: that has been reported, and the record is left out or says that the row holds
   * nothing.
   * @param values those of `CONTENT_COLUMNS`, in that order
   * @param tell for a record that is written without content: is told what is wrong, but for a row that was
   *   replaced meanwhile, which comes again
   */
  openContent(values: readonly ColumnValue[], tell?: (problem: string) => void): StoredContent | undefined;
  /**
   * Other mimetypes under which a following consumer may know the page of a browse URL: of rows that were
   * shown under it since the stream began, and of those held besides. Undefined where deletions are not told.
   */
  formerTypes?: ((burl: string, mimetype: string) => string[]) | undefined;
  /** A row that could not be written as it should: reported, and the exit status says so. */
  reject(message: string): void;
  /** Something worth knowing that is no fault. */
  note(message: string): void;
}

/** Columns that `openContent` looks at: formats with content put these first among their columns. */
export const CONTENT_COLUMNS = [
  'curl',
  'localfileid',
  'fetched_machineid',
  'md5',
] as const satisfies readonly ColumnName[];

/** A piece of a record: text goes out as UTF-8. Bytes may be overwritten once the next piece is asked for. */
export type Part = string | Uint8Array;

export type Made = Part | Iterable<Part> | AsyncIterable<Part>;

interface Framed {
  /** Before the first record. */
  head?: Part;
  /** After the last record; `reachedSeq`: all changes up to this number have been written. */
  tail?(reachedSeq: number): Part;
}

/** Lines that SQLite puts together: fastest, for formats without content. */
interface LineWriter extends Framed {
  template: LineTemplate;
}

/** Records made here, one row at a time. */
export interface RowWriter extends Framed {
  columns: readonly ColumnName[];
  /**
   * The record of one row, whose values stand in the order of `columns`: in one piece, '' for none, or piece
   * by piece as the consumer has room. What a generator opened it closes in a `finally`: it may be given up
   * half-way. A promise is one that is made in another thread or process; the next ones are begun meanwhile,
   * and they are written in order.
   */
  record(values: readonly ColumnValue[]): Made | Promise<Made>;
}

export type Writer = LineWriter | RowWriter;

export interface Format {
  /** Sides that the format can show: deletions only where it has a way to say them. */
  sides: readonly TableSide[];
  takesFields: boolean;
  /** Sides whose records each follow from their own row, with nothing kept from one to the next: ranges of
   * them can be made apart (ranges.ts). Default: none. */
  independent?: readonly TableSide[];
  /** True if `--content` means something: formats that always or never carry content do not take it. */
  takesContent?: boolean;
  /** True if `--text` means something. */
  takesText?: boolean;
  /** True if `--markdown` means something. */
  takesMarkdown?: boolean;
  /** Records hold the content itself, whatever its type. */
  carriesContent?: boolean;
  /** True if it asks for `formerTypes`. */
  needsFormerTypes?: boolean;
  /** True if `--chunk-size` does. */
  takesChunkSize?: boolean;
  /** A stream that begins with everything says so, were it without a record. */
  tellsBeginning?: boolean;
  /** Only rows with their content on this machine. */
  local?: boolean;
  /** Only rows with a browse URL. */
  browsable?: boolean;
  /**
   * Records are known by their browse URL, not by their row: URLs that are gone while their row lives on are
   * deletions, and what is shown under one URL is told once (db/cache/pages.ts). Not for lines that SQLite
   * puts together.
   */
  keyedByUrl?: boolean;
  /** Records are files that were let go of (`CacheReader.oldPaths`); its only column is `localfileid`. */
  ofOldPaths?: boolean;
  /**
   * The consumer remembers how far it is and refuses a gap, so it is also told of changes none of which were
   * selected: by a stream without a record.
   */
  tellsReached?: boolean;
  /** Written after each of several streams, one after the other: '' where their own end shows it. Undefined:
   * they cannot be told apart. */
  betweenStreams?: string;
  /** A compression of the whole stream; its end is written only after a complete stream. */
  encode?(sink: StreamSink): EncodedSink;
  open(context: FormatContext): Writer;
}
