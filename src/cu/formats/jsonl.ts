/**
 * One JSON object a line (jsonlines.org) with all fields, null where a row has none. With content: `text` where it is
 * text once decoded, else `base64`, the last key, so that a line that was cut is no object. With text: `title`,
 * `language`, `charset` and the readable `text` of it, or all of it, null where there is none.
 */
import type { ColumnValue } from '../../db/cache/fields.js';
import { fieldValue, FIELDS, USUAL_FIELDS } from '../fields.js';
import type { StoredContent } from '../stored-content.js';
import { decodedOf, holdsText, textOf, type DocumentText, type TextSource } from '../../text/content.js';
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
  let problem: string | undefined;
  const content = context.openContent(values, why => (problem = why));
  if (content === undefined) return problem === undefined ? '' : `${object},"text":null${told(problem)}}\n`;
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
  const keys = (found: Partial<DocumentText>, problem?: string) =>
    `${object},"title":${orNull(found.title)},"language":${orNull(found.language)},` +
    `"charset":${orNull(found.charset)},"text":${orNull(found.text)}${told(problem)}}\n`;
  if (!holdsText(source.mimetype)) return keys({});
  let problem: string | undefined;
  const content = context.openContent(values, why => (problem = why));
  if (content === undefined) return problem === undefined ? '' : keys({}, problem);
  try {
    if (content.length <= context.maxTextBytes)
      return keys(textOf(content.bytes(), source, context.text) ?? {});
    context.reject(tooLong(values, content, context));
    return keys({}, 'longer than text is made of');
  } finally {
    content.close();
  }
}

function orNull(text: string | undefined): string {
  return text === undefined ? 'null' : JSON.stringify(text);
}

/** Why there is nothing where content should be. */
function told(problem: string | undefined): string {
  return problem === undefined ? '' : `,"problem":${JSON.stringify(problem)}`;
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
