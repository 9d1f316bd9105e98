/**
 * One JSON object a line (jsonlines.org) with all fields, null where a row has none. With content: `text` where it is
 * text once decoded, else `base64`, the last key, so that a line that was cut is no object. With text: `title`,
 * `language`, `charset` and the readable `text` of it, or all of it, null where there is none.
 */
import type { ColumnValue } from '../../db/cache/fields.js';
import { fieldValue, FIELDS, USUAL_FIELDS } from '../fields.js';
import type { StoredContent } from '../stored-content.js';
import { decodedOf, holdsText, textOf, type TextSource } from '../../text/content.js';
import { base64Of } from './base64.js';
import { tooLong } from './page.js';
import { CONTENT_COLUMNS, type Format, type FormatContext, type Part } from './types.js';

export const jsonl: Format = {
  sides: ['held', 'gone'],
  independent: ['held', 'gone'],
  takesFields: true,
  takesContent: true,
  takesText: true,
  // An empty line: no record is one.
  betweenStreams: '\n',
  open(context) {
    const names = context.fields ?? USUAL_FIELDS;
    const keys = names.map((name, i) => `${i === 0 ? '{' : ','}${JSON.stringify(name)}:`);
    const objectOf = (values: readonly ColumnValue[]) => {
      let line = '';
      for (const [i, name] of names.entries()) {
        line += keys[i] + JSON.stringify(fieldValue(name, values[i] ?? null, context.storeDir));
      }
      return line;
    };
    const columns = names.map(name => FIELDS[name]);
    if (!context.content && context.text === undefined)
      return { columns, record: values => `${objectOf(values)}}\n` };
    const before = [...CONTENT_COLUMNS, 'op', 'mimetype', 'http_charset'] as const;
    return {
      columns: [...before, ...columns],
      record(values) {
        const [op, mimetype, charset] = values.slice(CONTENT_COLUMNS.length);
        const object = objectOf(values.slice(before.length));
        if (op === 'delete') return `${object}}\n`;
        const withIt = context.text !== undefined ? withText : withContent;
        const source = {
          mimetype: String(mimetype),
          charset: charset === null ? undefined : String(charset),
        };
        return withIt(context, values, object, source);
      },
    };
  },
};

function withContent(
  context: FormatContext,
  values: readonly ColumnValue[],
  object: string,
  source: TextSource,
): Part | Iterable<Part> {
  const content = context.openContent(values);
  if (content === undefined) return '';
  const text = content.length > context.maxTextBytes ? undefined : decodedText(content, source);
  if (text === undefined) return inBase64(object, content);
  content.close();
  return `${object},"text":${JSON.stringify(text)}}\n`;
}

/** What is too long to be decoded is reported: it is no page for readers. */
function withText(
  context: FormatContext,
  values: readonly ColumnValue[],
  object: string,
  source: TextSource,
): Part {
  const keys = (title: string | null, language: string | null, charset: string | null, text: string | null) =>
    `${object},"title":${JSON.stringify(title)},"language":${JSON.stringify(language)},` +
    `"charset":${JSON.stringify(charset)},"text":${JSON.stringify(text)}}\n`;
  if (!holdsText(source.mimetype)) return keys(null, null, null, null);
  const content = context.openContent(values);
  if (content === undefined) return '';
  try {
    if (content.length > context.maxTextBytes) {
      context.reject(tooLong(values, content, context));
      return keys(null, null, null, null);
    }
    const found = textOf(content.bytes(), source, context.text);
    if (found === undefined) return keys(null, null, null, null);
    return keys(found.title, found.language ?? null, found.charset, found.text);
  } finally {
    content.close();
  }
}

function* inBase64(object: string, content: StoredContent): Generator<Part> {
  try {
    yield `${object},"base64":"`;
    yield* base64Of(content);
    yield '"}\n';
  } finally {
    content.close();
  }
}

/** undefined where it is none: bytes that no text holds, or of a type that is not text and not in UTF-8 either. */
function decodedText(content: StoredContent, source: TextSource): string | undefined {
  const bytes = content.bytes();
  if (holdsText(source.mimetype)) return decodedOf(bytes, source)?.text;
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return text.includes('\0') ? undefined : text;
  } catch {
    return undefined;
  }
}
