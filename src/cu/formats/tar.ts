/**
 * Archives that tar(1) restores: a file a page, at the path of `archive/path.ts` with the time of the
 * document, and lists of what is gone (`archive/deleted.ts`). Cut ones lack the end that tar looks for,
 * compressed ones that of the compression.
 */
import type { ColumnValue } from '../../db/cache/fields.js';
import { gzipInto, zstdInto } from '../archive/compress.js';
import { DeletedPaths } from '../archive/deleted.js';
import { archivePath } from '../archive/path.js';
import { TAR_END, tarHeader, tarPadding } from '../archive/tar.js';
import type { EncodedSink, StreamSink } from '../sink.js';
import { WHOLE_BYTES, type StoredContent } from '../stored-content.js';
import { markdownOf } from '../../text/markdown/page.js';
import { readText, SOURCE_COLUMNS, sourceOf, whenThere, type Later, type ReadText } from './read-text.js';
import { CONTENT_COLUMNS, type Format, type FormatContext, type Part, type RowWriter } from './types.js';

const COLUMNS = [
  ...CONTENT_COLUMNS,
  'op',
  'seq',
  'burl',
  'mtime',
  'fetched_time',
  'deleted_time',
  ...SOURCE_COLUMNS,
] as const;

function tarFormat(encode?: (sink: StreamSink) => EncodedSink): Format {
  return {
    sides: ['held', 'gone'],
    // Deletions are listed, many in one member.
    independent: ['held'],
    takesFields: false,
    keyedByUrl: true,
    takesMarkdown: true,
    carriesContent: true,
    needsFormerTypes: true,
    open,
    ...(encode === undefined ? {} : { encode }),
  };
}

export const tar = tarFormat();
export const tarGz = tarFormat(gzipInto);
export const tarZst = tarFormat(zstdInto);

function open(context: FormatContext): RowWriter {
  // Name of a page as Markdown.
  const extension = context.markdown === undefined ? '' : '.md';
  let withoutText = 0;
  const deleted = new DeletedPaths();
  return {
    columns: COLUMNS,
    record(values) {
      const [op, seq, burl, mtime, fetchedS, deletedS, mimetype] = values.slice(CONTENT_COLUMNS.length);
      const [url, type] = [String(burl), String(mimetype)];
      const path = archivePath(url, type) + extension;
      const number = Number(seq);
      const former = formerPaths(context, url, type, extension);
      if (op === 'delete') return deleted.add([path, ...former], number, Number(deletedS));
      const timeS = Number(fetchedS);
      if (context.markdown !== undefined) {
        return whenThere(markdownFile(context, values), ({ made, problem, isReplaced }) => {
          if (isReplaced === true) return '';
          if (made === undefined) {
            if (problem === undefined) withoutText++;
            // A first archive has nothing to forget.
            const gone = context.beginsWithAll ? [] : [path, ...former];
            return Buffer.concat(deleted.add(gone, number, timeS));
          }
          const header = tarHeader(path, made.length, timeOf(mtime, fetchedS));
          return Buffer.concat([
            ...deleted.add(former, number, timeS),
            header,
            made,
            tarPadding(made.length),
          ]);
        });
      }
      const content = context.openContent(values);
      if (content === undefined) return '';
      return member(path, timeOf(mtime, fetchedS), content, deleted.add(former, number, timeS));
    },
    tail() {
      if (withoutText > 0) context.note(`${withoutText} rows without text in them were left out`);
      return Buffer.concat([...deleted.take(), TAR_END]);
    },
  };
}

/** A page as Markdown, what is known of it in front. */
function markdownFile(context: FormatContext, values: readonly ColumnValue[]): Later<ReadText<Buffer>> {
  const [md5] = values.slice(CONTENT_COLUMNS.indexOf('md5'));
  const [, , url, mtime, , , ...source] = values.slice(CONTENT_COLUMNS.length);
  return readText(context, values, sourceOf(source), (bytes, from) => {
    const page = markdownOf(bytes, from, context.markdown);
    if (page === undefined) return undefined;
    const { title, description = null, language = null, hash } = page;
    const front = { url, title, description, language, mtime, md5, hash };
    const lines = Object.entries(front).map(([key, value]) => `${key}: ${JSON.stringify(value)}\n`);
    return Buffer.from(`---\n${lines.join('')}---\n\n${page.markdown}`);
  });
}

/** Where an earlier archive may have put the page, which then had another mimetype. */
function formerPaths(context: FormatContext, url: string, mimetype: string, extension: string): string[] {
  const path = archivePath(url, mimetype);
  if (context.formerTypes === undefined) return [];
  // Most paths follow from the URL alone.
  if (path === archivePath(url, mimetype === 'text/html' ? 'text/plain' : 'text/html')) return [];
  const paths = context.formerTypes(url, mimetype).map(type => archivePath(url, type));
  return [...new Set(paths)].filter(each => each !== path).map(each => each + extension);
}

/** The document's own time, else when it was fetched. */
function timeOf(mtime: ColumnValue | undefined, fetchedS: ColumnValue | undefined): number {
  const ms = typeof mtime === 'string' ? Date.parse(mtime) : NaN;
  return Number.isNaN(ms) ? Number(fetchedS) : Math.floor(ms / 1000);
}

/** @param before whole members before it */
function member(path: string, timeS: number, content: StoredContent, before: Part[]): Iterable<Part> {
  const header = tarHeader(path, content.length, timeS);
  const padding = tarPadding(content.length);
  if (content.length > WHOLE_BYTES) return inPieces([...before, header], content, padding);
  const bytes = content.bytes();
  content.close();
  return [...before, header, bytes, padding];
}

function* inPieces(before: Part[], content: StoredContent, padding: Part): Generator<Part> {
  try {
    yield* before;
    yield* content.chunks();
    yield padding;
  } finally {
    content.close();
  }
}
