/** The one interface of all output formats; a format is one file beside this and one row in `index.ts`. */
import type { ColumnName, ColumnValue, TableSide } from '../../db/cache/columns.js';
import type { LineTemplate } from '../../db/cache/template.js';
import type { FieldName } from '../fields.js';

/** What a format may know of the run. */
export interface FormatContext {
  storeId: string;
  /** The stream holds the changes after this number of the change sequence; 0: everything. */
  sinceSeq: number;
  /** Absolute path of the store on this machine. */
  storeDir: string;
  /** As asked for; undefined: the format's own choice. */
  fields: readonly FieldName[] | undefined;
  /** A row that could not be written as it should: reported, and the exit status says so. */
  reject(message: string): void;
  /** Something worth knowing that is no fault. */
  note(message: string): void;
}

interface Framed {
  /** Before the first record. */
  head?: string;
  /** After the last record; `reachedSeq`: all changes up to this number have been written. */
  tail?(reachedSeq: number): string;
}

/** Lines that SQLite puts together: fastest, for formats without content. */
export interface LineWriter extends Framed {
  template: LineTemplate;
}

/** Records made here, one row at a time. */
export interface RowWriter extends Framed {
  columns: readonly ColumnName[];
  /** The record of one row, whose values stand in the order of `columns`; '' for none. */
  record(values: readonly ColumnValue[]): string;
}

export type Writer = LineWriter | RowWriter;

export interface Format {
  /** What it can show: deletions only where the format has a way to say them. */
  sides: readonly TableSide[];
  takesFields: boolean;
  /** Only rows with their content on this machine. */
  local?: boolean;
  /** Only rows with a browse URL. */
  browsable?: boolean;
  open(context: FormatContext): Writer;
}
