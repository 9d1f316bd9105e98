/**
 * One JSON object a line (jsonlines.org) with all fields, null where a row has none. With content: `text`
 * where it is text once decoded, else `base64`, the last key, so that a line that was cut is no object. With
 * text: `title`, `language`, `charset` and the readable `text` of it, or all of it, null where there is none.
 * With Markdown: lccq-models(5).
 */
import type { ColumnValue } from '../../db/cache/fields.js';
import { fieldValue, FIELDS, USUAL_FIELDS } from '../fields.js';
import type { StoredContent } from '../stored-content.js';
import { decodedOf, holdsText, textOf, type TextSource } from '../../text/content.js';
import { markdownOf, type MarkdownSource } from '../../text/markdown/page.js';
import { base64Of } from './base64.js';
import { readText, SOURCE_COLUMNS, sourceOf, whenThere, type Later } from './read-text.js';
import { CONTENT_COLUMNS, type Format, type FormatContext, type Part } from './types.js';

const TEXT_KEYS = ['title', 'language', 'charset', 'text'] as const;
const MARKDOWN_KEYS = ['title', 'language', 'charset', 'description', 'markdown', 'hash'] as const;

export const jsonl: Format = {
  sides: ['held', 'gone'],
  independent: ['held', 'gone'],
  takesFields: true,
  takesContent: true,
  takesText: true,
  takesMarkdown: true,
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
    const isText = context.text !== undefined || context.markdown !== undefined;
    if (!isText && context.content !== true) return { columns, record: values => `${objectOf(values)}}\n` };
    const withIt = isText ? withText : withContent;
    const before = [...CONTENT_COLUMNS, 'op', ...SOURCE_COLUMNS] as const;
    return {
      columns: [...before, ...columns],
      record(values) {
        const [op, ...source] = values.slice(CONTENT_COLUMNS.length);
        const object = objectOf(values.slice(before.length));
        if (op === 'delete') return `${object}}\n`;
        return withIt(context, values, object, sourceOf(source));
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

function withText(
  context: FormatContext,
  values: readonly ColumnValue[],
  object: string,
  source: MarkdownSource,
): Later<Part> {
  const { text, markdown } = context;
  const keys = markdown === undefined ? TEXT_KEYS : MARKDOWN_KEYS;
  const read = readText(
    context,
    values,
    source,
    (bytes, from): Partial<Record<(typeof keys)[number], string | undefined>> | undefined =>
      markdown === undefined ? textOf(bytes, from, text) : markdownOf(bytes, from, markdown),
  );
  return whenThere(read, ({ made, problem, isReplaced }) => {
    if (isReplaced === true) return '';
    const found = keys.map(key => `,"${key}":${JSON.stringify(made?.[key] ?? null)}`);
    return `${object}${found.join('')}${told(problem)}}\n`;
  });
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

/** undefined where it is none: bytes that no text holds, or of a type that is not text and not in UTF-8
 * either. */
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
