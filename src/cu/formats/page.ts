/** The common part of formats for indexers: the text of a row's page, or why there is none. */
import type { ColumnValue } from '../../db/cache/fields.js';
import { textOf, type DocumentText, type TextSource } from '../../text/content.js';
import { readText, whenThere, type Later } from './read-text.js';
import { CONTENT_COLUMNS, type FormatContext } from './types.js';

/** Columns of a page, in this order at the beginning of a format's own. */
export const PAGE_COLUMNS = [
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

/** The fields of a page on which its text depends. */
type ReadPage = Pick<Page, 'isGone' | 'burl' | 'mimetype' | 'charset'>;

/** @param values those of `PAGE_COLUMNS` */
export function pageOf(values: readonly ColumnValue[]) {
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

/** Gives out the text of pages, and counts those without. */
export class TextPages {
  readonly #context: FormatContext;
  #withoutText = 0;

  constructor(context: FormatContext) {
    this.#context = context;
  }

  /** Every word of a page; undefined as `read`. */
  textOf(page: ReadPage, values: readonly ColumnValue[]): Later<DocumentText | undefined> {
    return this.read(page, values, textOf);
  }

  /**
   * The result of `make` from the verified content; undefined where the page is gone or not shown, where
   * there is no text, or no content (which has been reported), or more of it than text is made of (which is
   * reported).
   * @param make undefined for content that is no text, whatever its type says
   */
  read<T>(
    { isGone, burl, mimetype, charset }: ReadPage,
    values: readonly ColumnValue[],
    make: (bytes: Buffer, source: TextSource) => T | undefined,
  ): Later<T | undefined> {
    if (isGone || burl === '') return undefined;
    const read = readText(this.#context, values, { mimetype, charset }, make);
    return whenThere(read, ({ made, problem, isReplaced }) => {
      if (made === undefined && problem === undefined && isReplaced !== true) this.#withoutText++;
      return made;
    });
  }

  /** Says how many there were without text: at the end of the stream. */
  end(): void {
    if (this.#withoutText > 0)
      this.#context.note(`${this.#withoutText} rows without text in them were not indexed`);
  }
}
