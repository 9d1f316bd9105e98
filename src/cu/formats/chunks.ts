/** Pages in pieces, for who embeds them: version 1 of lccq-models(5). The lines of a page follow each other,
 * and the last, its `delete`, says that it is whole and which pieces of it are no more. */
import { Chunks, DEFAULT_CHUNK_SIZE } from '../../text/chunks.js';
import { markdownOf, type MarkdownPage } from '../../text/markdown/page.js';
import { fieldValue, FIELDS } from '../fields.js';
import { readText, SOURCE_COLUMNS, sourceOf, whenThere } from './read-text.js';
import { CONTENT_COLUMNS, type Format, type Part } from './types.js';

const OWN_COLUMNS = ['op', 'id', 'seq', 'burl'] as const;
const COLUMNS = [...CONTENT_COLUMNS, ...OWN_COLUMNS, ...SOURCE_COLUMNS];
/** Every line has them. */
const OWN = new Set(['op', 'id', 'seq']);

export const chunks: Format = {
  sides: ['held', 'gone'],
  takesFields: true,
  takesChunkSize: true,
  tellsBeginning: true,
  // An empty line: no record is one.
  betweenStreams: '\n',
  open(context) {
    const fields = (context.fields ?? []).filter(name => !OWN.has(name));
    const size = context.chunkSize ?? DEFAULT_CHUNK_SIZE;
    return {
      ...(context.beginsWithAll
        ? { head: `${JSON.stringify({ op: 'reset', store: context.storeId })}\n` }
        : {}),
      columns: [...COLUMNS, ...fields.map(name => FIELDS[name])],
      record(values) {
        const [op, id, seq, burl, ...others] = values.slice(CONTENT_COLUMNS.length);
        const row = { doc: Number(id), seq: Number(seq) };
        if (op === 'delete' || burl === '') return gone(row);
        const rest = fields.map((name, i) => [
          name,
          fieldValue(name, others[SOURCE_COLUMNS.length + i] ?? null, context.storeDir),
        ]);
        const told = { ...row, url: String(burl), fields: Object.fromEntries(rest) as PieceRow['fields'] };
        return whenThere(
          readText(context, values, sourceOf(others), markdownOf),
          ({ made, problem, isReplaced }): Part | Iterable<Part> => {
            if (isReplaced === true) return '';
            return made === undefined ? gone(row, problem) : pieces(made, size, told);
          },
        );
      },
    };
  },
};

interface PieceRow {
  doc: number;
  seq: number;
  url: string;
  fields: Record<string, unknown>;
}

function* pieces(
  page: MarkdownPage,
  size: number,
  { doc, seq, url, fields }: PieceRow,
): Generator<Part, void> {
  const { title, language = null } = page;
  const all = new Chunks(page, size);
  let n = 0;
  for (const { headings, page: number, ...words } of all.all()) {
    const paged = number === undefined ? {} : { page_number: number };
    const head = { op: 'upsert', id: `${doc}.${n}`, doc, n, of: all.count, seq, url, title, language };
    yield `${JSON.stringify({ ...head, ...fields, headings, ...paged, ...words })}\n`;
    n++;
  }
  yield gone({ doc, seq }, undefined, n);
}

/** The line by which a page has no pieces from a number on. */
function gone({ doc, seq }: { doc: number; seq: number }, problem?: string, from = 0): string {
  return `${JSON.stringify({ op: 'delete', doc, from, seq, problem })}\n`;
}
