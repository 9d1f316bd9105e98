/** The answer to a query that names columns: rows for a program that makes records of them itself
 * (`lccq --from`). */
import { COLUMNS, type ColumnName, type ColumnValue } from '../../db/cache/fields.js';
import type { CacheReader, Selection } from '../../db/cache/read.js';
import { LccError } from '../../lib/errors.js';
import { formatAttributes } from '../../lib/xml/escape.js';
import { holdsText } from '../../text/content.js';
import type { CuQuery } from '../../wire/cu.js';
import { FORMER_TYPES, PROBLEM, REPLACED } from '../../wire/cu-rows.js';
import { base64Of } from '../formats/base64.js';
import type { Part } from '../formats/types.js';
import { openNamed } from '../stored-content.js';
import { rowWindows, type Range, type Window } from '../windows.js';

/** Always read: what content is found by, and what former types are of. */
const OWN = ['curl', 'localfileid', 'md5', 'mimetype', 'op', 'burl'] as const;

/** @throws LccError `usage` for a column that there is not */
export function columnsAsked(fields: readonly string[]): ColumnName[] {
  return fields
    .filter(name => name !== FORMER_TYPES)
    .map(name => {
      if (Object.hasOwn(COLUMNS, name)) return name as ColumnName;
      throw new LccError('usage', `fields: no column ${name.slice(0, 40)}`);
    });
}

/** The part of a selection that is told, and in which way. */
export function shown(query: CuQuery, selection: Selection): Selection {
  const { by = 'row', cursor } = query;
  return {
    ...selection,
    browsable: by !== 'row',
    moved: by === 'url',
    streamSinceSeq: cursor?.seq ?? 0,
  };
}

/** Windows whose items are `<url>` elements in pieces. */
export function* rowElements(
  reader: CacheReader,
  query: CuQuery,
  selection: Selection,
  range: Range,
  storeDir: string,
): Generator<Omit<Window<unknown>, 'items'> & { items: Iterable<Part> }> {
  const columns = columnsAsked(query.fields ?? []);
  const hasFormer = query.fields?.includes(FORMER_TYPES) === true;
  const all = [...OWN, ...columns];
  const kind = query.by === 'url' ? 'pages' : 'rows';
  function* elements(rows: readonly ColumnValue[][]): Generator<Part> {
    for (const [, ...values] of rows) {
      const [, , , mimetype, op, burl] = values;
      const attributes: Record<string, string | number | undefined> = {};
      for (const [i, name] of columns.entries()) attributes[name] = values[OWN.length + i] ?? undefined;
      if (hasFormer)
        attributes[FORMER_TYPES] = reader
          .typesUnder(selection, String(burl))
          .filter(type => type !== mimetype)
          .join(' ');
      const isWanted = query.content === true || (query.content === 'text' && holdsText(String(mimetype)));
      if (isWanted && op !== 'delete') yield* withContent(reader, storeDir, values, attributes);
      else yield `<url${formatAttributes(attributes)}/>\n`;
    }
  }
  for (const { items, count, reachedSeq } of rowWindows(reader, selection, range, all, kind))
    yield { items: elements(items), count, reachedSeq };
}

function* withContent(
  reader: CacheReader,
  storeDir: string,
  [, fileid, md5]: readonly ColumnValue[],
  attributes: Record<string, string | number | undefined>,
): Generator<Part> {
  // On another machine: it is the row that says so.
  if (typeof fileid !== 'string') return yield `<url${formatAttributes(attributes)}/>\n`;
  const opened = openNamed(storeDir, fileid, String(md5));
  if (!opened.ok) {
    const why = reader.isHeldNow(fileid) ? { [PROBLEM]: opened.why } : { [REPLACED]: 'yes' };
    return yield `<url${formatAttributes({ ...attributes, ...why })}/>\n`;
  }
  try {
    yield `<url${formatAttributes(attributes)}>`;
    yield* base64Of(opened.content);
    yield '</url>\n';
  } finally {
    opened.content.close();
  }
}
