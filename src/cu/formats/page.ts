/** The common part of formats for indexers: a record of each row's page, with what is made of its text. */
import type { ColumnValue } from '../../db/cache/fields.js';
import type { TextSource } from '../../text/content.js';
import { readText, whenThere } from './read-text.js';
import { CONTENT_COLUMNS, type FormatContext, type Made, type RowWriter } from './types.js';

const COLUMNS = [
  ...CONTENT_COLUMNS,
  'op',
  'id',
  'burl',
  'mimetype',
  'mtime',
  'len',
  'changed_time',
  'http_charset',
] as const;

export type Page = ReturnType<typeof pageOf>;

/** @param values those of `COLUMNS` */
function pageOf(values: readonly ColumnValue[]) {
  const [op, id, burl, mimetype, mtime, len, changedTime, charset] = values.slice(CONTENT_COLUMNS.length);
  return {
    isGone: op === 'delete',
    id: Number(id),
    /** Without what a line cannot hold; '' where the row is not shown. */
    burl: onOneLine(String(burl)),
    mimetype: String(mimetype),
    /** RFC 3339; undefined where neither the provider nor the server said. */
    mtime: textOrNone(mtime),
    /** Bytes of the content. */
    len: Number(len),
    /** Seconds since 1970. */
    changedTime: Number(changedTime),
    /** The encoding that the server named. */
    charset: textOrNone(charset),
  };
}

function textOrNone(value: ColumnValue | undefined): string | undefined {
  return value === null || value === undefined ? undefined : String(value);
}

/** Control characters of a URL as a URL can hold them. */
function onOneLine(burl: string): string {
  // oxlint-disable-next-line no-control-regex -- they are what is looked for
  return burl.replace(/[\u0000-\u0020\u007f]/g, character => encodeURIComponent(character));
}

/**
 * A writer of pages, which says at its end how many there were without text.
 * @param make from the verified content; undefined for content that is no text, whatever its type says
 * @param record undefined is made where the page is gone or not shown, where there is no text, or no content
 *   (which has been reported), or more of it than text is made of (which is reported)
 */
export function pageWriter<T>(
  context: FormatContext,
  make: (bytes: Buffer, source: TextSource) => T | undefined,
  record: (page: Page, made: T | undefined) => Made,
  tail: (reachedSeq: number) => string = () => '',
): RowWriter {
  let withoutText = 0;
  return {
    columns: COLUMNS,
    record(values) {
      const page = pageOf(values);
      const { isGone, burl, mimetype, charset } = page;
      if (isGone || burl === '') return record(page, undefined);
      const read = readText(context, values, { mimetype, charset }, make);
      return whenThere(read, ({ made, problem, isReplaced }) => {
        if (made === undefined && problem === undefined && isReplaced !== true) withoutText++;
        return record(page, made);
      });
    },
    tail(reachedSeq) {
      if (withoutText > 0) context.note(`${withoutText} rows without text in them were not indexed`);
      return tail(reachedSeq);
    },
  };
}
