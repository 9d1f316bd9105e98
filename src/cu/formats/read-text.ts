/** Text made from the content of a row, for all formats that hold text: or why there is none. */
import type { ColumnValue } from '../../db/cache/fields.js';
import { limitText } from '../../config/settings/index.js';
import { holdsText, type TextSource } from '../../text/content.js';
import type { Converter } from '../../text/convert/converter.js';
import type { MarkdownSource } from '../../text/markdown/page.js';
import { WHOLE_BYTES, type StoredContent } from '../stored-content.js';
import type { FormatContext } from './types.js';

/** Neither: there is no text in it, which is no fault. */
export interface ReadText<T> {
  made?: T | undefined;
  /** The problem, which has been reported. */
  problem?: string | undefined;
  /** True if the content was replaced or deleted meanwhile, which comes as another change. */
  isReplaced?: boolean;
}

/** Columns that Markdown is made from, besides the content. */
export const SOURCE_COLUMNS = ['mimetype', 'http_charset', 'furl', 'finalurl'] as const;

/** @param values those of `SOURCE_COLUMNS` */
export function sourceOf([mimetype, charset, furl, finalurl]: readonly ColumnValue[]): MarkdownSource {
  return {
    mimetype: String(mimetype),
    charset: charset === null ? undefined : String(charset),
    url: String(finalurl ?? furl),
  };
}

/**
 * @param values those of `CONTENT_COLUMNS`, and others
 * @param make undefined for content that is no text, whatever its type says
 * @returns a promise where a program makes the text
 */
export function readText<T, S extends TextSource>(
  context: FormatContext,
  values: readonly ColumnValue[],
  source: S,
  make: (bytes: Buffer, source: S) => T | undefined,
): Later<ReadText<T>> {
  const { mimetype } = source;
  const isText = holdsText(mimetype);
  const converter = isText || context.converter?.takes(mimetype) !== true ? undefined : context.converter;
  if (!isText && converter === undefined) return {};
  let problem: string | undefined;
  const left = (why: string) => {
    context.reject(`${values[0]}: left without text: ${why}`);
    return { problem: why };
  };
  const content = context.openContent(values, why => (problem = why));
  if (content === undefined) return problem === undefined ? { isReplaced: true } : { problem };
  if (converter !== undefined)
    return converted(converter, mimetype, content).then(found =>
      'problem' in found
        ? left(found.problem)
        : { made: make(found.bytes, { ...source, mimetype: found.mimetype, charset: 'utf-8' }) },
    );
  try {
    const { maxTextBytes } = context;
    if (content.length > maxTextBytes)
      return left(`${content.length} bytes, more than ${limitText('cu.max_text_bytes', maxTextBytes)}`);
    return { made: make(content.bytes(), source) };
  } finally {
    content.close();
  }
}

async function converted(
  converter: Converter,
  mimetype: string,
  content: StoredContent,
): ReturnType<Converter['convert']> {
  try {
    // A content that is read in one piece is overwritten by the next row's.
    const whole = content.length <= WHOLE_BYTES ? [Buffer.from(content.bytes())] : undefined;
    return await converter.convert(mimetype, () => whole ?? content.chunks());
  } finally {
    content.close();
  }
}

export type Later<T> = T | Promise<T>;

/** Goes on at once where it can. */
export function whenThere<T, U>(value: Later<T>, goOn: (value: T) => U): Later<U> {
  return value instanceof Promise ? value.then(goOn) : goOn(value);
}
