/** What is made of the content of a row, for all formats that hold text: or why there is none. */
import type { ColumnValue } from '../../db/cache/fields.js';
import { limitText } from '../../config/settings/index.js';
import { holdsText, type TextSource } from '../../text/content.js';
import type { Converter } from '../../text/convert/converter.js';
import { WHOLE_BYTES, type StoredContent } from '../stored-content.js';
import type { FormatContext, Part } from './types.js';

/** Neither: there is no text in it, which is no fault. */
export interface ReadText<T> {
  made?: T | undefined;
  /** It has been reported. */
  problem?: string | undefined;
  /** It was replaced or deleted meanwhile, which comes as another change. */
  isReplaced?: boolean;
}

/**
 * @param values those of `CONTENT_COLUMNS`, and others
 * @param make undefined for content that is no text, whatever its type says
 * @returns a promise where a program makes the text
 */
export function readText<T>(
  context: FormatContext,
  values: readonly ColumnValue[],
  source: TextSource,
  make: (bytes: Buffer, source: TextSource) => T | undefined,
): Later<ReadText<T>> {
  const { converter } = context;
  const isText = holdsText(source.mimetype);
  if (!isText && converter?.takes(source.mimetype) !== true) return {};
  let problem: string | undefined;
  const content = context.openContent(values, why => (problem = why));
  if (content === undefined) return problem === undefined ? { isReplaced: true } : { problem };
  if (!isText && converter !== undefined)
    return convertedText(context, converter, values, content, source, make);
  try {
    if (content.length > context.maxTextBytes) return { problem: tooLong(values, content, context) };
    return { made: make(content.bytes(), source) };
  } finally {
    content.close();
  }
}

async function convertedText<T>(
  context: FormatContext,
  converter: Converter,
  [curl]: readonly ColumnValue[],
  content: StoredContent,
  { mimetype }: TextSource,
  make: (bytes: Buffer, source: TextSource) => T | undefined,
): Promise<ReadText<T>> {
  try {
    // What is read in one piece is read over by the next row.
    const whole = content.length <= WHOLE_BYTES ? [Buffer.from(content.bytes())] : undefined;
    const converted = await converter.convert(mimetype, () => whole ?? content.chunks());
    if ('bytes' in converted)
      return { made: make(converted.bytes, { mimetype: converted.mimetype, charset: 'utf-8' }) };
    context.reject(`${curl}: left without text: ${converted.problem}`);
    return { problem: converted.problem };
  } finally {
    content.close();
  }
}

export type Later<T> = T | Promise<T>;

/** A record whose beginning was waited for. */
export function inOnePiece(parts: Iterable<Part>): Buffer {
  return Buffer.concat([...parts].map(part => (typeof part === 'string' ? Buffer.from(part) : part)));
}

/** Goes on at once where it can. */
export function whenThere<T, U>(value: Later<T>, goOn: (value: T) => U): Later<U> {
  return value instanceof Promise ? value.then(goOn) : goOn(value);
}

/** Reports it. @returns what is wrong */
function tooLong(
  [curl]: readonly ColumnValue[],
  { length }: StoredContent,
  { maxTextBytes, reject }: Pick<FormatContext, 'maxTextBytes' | 'reject'>,
): string {
  const problem = `${length} bytes, more than ${limitText('cu.max_text_bytes', maxTextBytes)}`;
  reject(`${curl}: left without text: ${problem}`);
  return problem;
}
