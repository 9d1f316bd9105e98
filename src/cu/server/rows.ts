/** The answer to a query that names columns: rows for a program that makes records of them itself
 * (`lccq --from`). */
import { COLUMNS, type ColumnName, type ColumnValue } from '../../db/cache/fields.js';
import type { CacheReader, Selection } from '../../db/cache/read.js';
import { LccError } from '../../lib/errors.js';
import { formatAttributes } from '../../lib/xml/escape.js';
import type { CuQuery } from '../../wire/cu.js';
import { AWAY, FORMER_TYPES, PROBLEM, REPLACED } from '../../wire/cu-rows.js';
import { isWanted } from '../content-wanted.js';
import { base64Of } from '../formats/base64.js';
import type { Part } from '../formats/types.js';
import { contentOf } from '../missing-content.js';
import { BRING_COLUMNS, type Bringer, type FoundThere } from '../peers/bringer.js';
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
  bringer?: Bringer,
): Generator<Omit<Window<unknown>, 'items'> & { items: Iterable<Part | Promise<Part>> }> {
  const columns = columnsAsked(query.fields ?? []);
  const hasFormer = query.fields?.includes(FORMER_TYPES) === true;
  const all = [...OWN, ...columns, ...(bringer === undefined ? [] : BRING_COLUMNS)];
  const kind = query.by === 'url' ? 'pages' : 'rows';
  const { content } = query;
  function* elements(rows: readonly ColumnValue[][]): Generator<Part | Promise<Part>> {
    for (const [, ...values] of rows) {
      const [, , , mimetype, op, burl] = values;
      const attributes: Record<string, string | number | undefined> = {};
      for (const [i, name] of columns.entries()) attributes[name] = values[OWN.length + i] ?? undefined;
      if (hasFormer)
        attributes[FORMER_TYPES] = reader
          .typesUnder(selection, String(burl))
          .filter(type => type !== mimetype)
          .join(' ');
      // The writer of the pieces waits for one that is promised.
      const coming = bringer?.bring(content, values.slice(-BRING_COLUMNS.length));
      if (coming !== undefined) yield coming.then(() => '');
      if (isWanted(content, String(mimetype)) && op !== 'delete')
        yield* withContent(reader, storeDir, values, attributes, bringer);
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
  bringer?: Bringer,
): Generator<Part> {
  const found = contentOf(reader, storeDir, [fileid, md5], { bringer });
  if ('why' in found) return yield `<url${formatAttributes({ ...attributes, ...whyOf(found) })}/>\n`;
  const { content } = found;
  try {
    yield `<url${formatAttributes(attributes)}>`;
    yield* base64Of(content);
    yield '</url>\n';
  } finally {
    content.close();
  }
}

/** Attributes that say why there is no content; where nothing was brought, it is the row that says so. */
function whyOf({ why, isReplaced }: Exclude<FoundThere, { content: unknown }>): Record<string, string> {
  if (isReplaced === true) return { [REPLACED]: 'yes' };
  if (why instanceof LccError) return { [AWAY]: why.message };
  return why === undefined ? {} : { [PROBLEM]: why };
}
