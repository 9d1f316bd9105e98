/** What is made of the content of a row, for all formats that hold text: or why there is none. */
import type { ColumnValue } from '../../db/cache/fields.js';
import { limitText } from '../../config/settings/index.js';
import { holdsText, type TextSource } from '../../text/content.js';
import type { StoredContent } from '../stored-content.js';
import type { FormatContext } from './types.js';

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
 */
export function readText<T>(
  context: FormatContext,
  values: readonly ColumnValue[],
  source: TextSource,
  make: (bytes: Buffer, source: TextSource) => T | undefined,
): ReadText<T> {
  if (!holdsText(source.mimetype)) return {};
  let problem: string | undefined;
  const content = context.openContent(values, why => (problem = why));
  if (content === undefined) return problem === undefined ? { isReplaced: true } : { problem };
  try {
    if (content.length > context.maxTextBytes) return { problem: tooLong(values, content, context) };
    return { made: make(content.bytes(), source) };
  } finally {
    content.close();
  }
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
