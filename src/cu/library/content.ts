/** The content of changes, for programs. */
import { SETTINGS } from '../../config/settings/index.js';
import { LccError } from '../../lib/errors.js';
import { REPLACED } from './changes.js';
import { inMemory, openStored, type StoredContent } from '../stored-content.js';
import { Chunks, DEFAULT_CHUNK_SIZE } from '../../text/chunks.js';
import { holdsText, textOf } from '../../text/content.js';
import { markdownOf, type MarkdownPage } from '../../text/markdown/page.js';
import { checkOptions, checkValue, CHUNKS_OPTIONS, oneOf } from './options.js';
import type { Change, PageChunk, PageMarkdown, Text } from './types.js';

/**
 * The content of a change, piece by piece. Its md5 is verified before the first piece is given out; each
 * piece is the caller's own.
 * @throws LccError `data.refused` for a deletion and for content on a machine that lcc.toml does not name,
 *   `try.later` where the url was replaced or deleted meanwhile (that comes as another change), where its
 *   machine does not answer, and where the file cannot be read for now, `input.missing` where it is gone or
 *   altered, `data.cut` where it is altered while it is read
 */
export async function* contentOf(change: Change): AsyncGenerator<Uint8Array, void> {
  const content = await (origins.get(change)?.fetch?.() ?? openContent(change));
  try {
    for (const chunk of content.chunks()) {
      yield Uint8Array.from(chunk);
      // A large file must not keep the program from everything else.
      await new Promise<void>(resolve => void setImmediate(resolve));
    }
  } finally {
    content.close();
  }
}

/**
 * Fetches the content of a change that is on another machine of the LCC: `bytesOf`, and what makes text, have
 * it then, in memory for as long as the program has the change. Nothing is done for content that is here.
 * @throws as `contentOf`
 */
export async function fetchContent(change: Change): Promise<void> {
  const content = fetched.has(change) ? undefined : await origins.get(change)?.fetch?.();
  if (content === undefined) return;
  try {
    fetched.set(change, Buffer.from(content.bytes()));
  } finally {
    content.close();
  }
}

const fetched = new WeakMap<Change, Buffer>();

/**
 * All of it at once. Content on another machine is fetched first: `fetchContent`.
 * @throws as `contentOf`; `data.refused` for content on another machine that was not
 */
export function bytesOf(change: Change): Uint8Array {
  const content = openContent(change);
  try {
    return Uint8Array.from(content.bytes());
  } finally {
    content.close();
  }
}

/**
 * Title, readable text and language of a page; undefined where there is none: its mimetype is none of text,
 * its bytes are not, or they are more than text is made of (`cu.max_text_bytes` in lcc.toml(5); `change.len`
 * says how many).
 * @param wanted `readable` (the default): the content of a page, a line per paragraph; `all`: every word, on
 * one line
 * @throws as `contentOf`; LccError `usage` when something else is wanted
 */
export function pageTextOf(change: Change, wanted: 'readable' | 'all' = 'readable'): Text | undefined {
  checkValue('wanted', wanted, oneOf('readable', 'all'));
  const { mimetype, httpCharset: charset } = change;
  if (!hasText(change)) return undefined;
  return textOf(bytesOf(change), { mimetype, charset }, wanted);
}

/**
 * A page as Markdown; undefined as `pageTextOf`. Documents of other types (PDF) are not converted here.
 * @param wanted `readable` (the default): the content of a page; `all`: all of it
 * @throws as `pageTextOf`
 */
export function pageMarkdownOf(
  change: Change,
  wanted: 'readable' | 'all' = 'readable',
): PageMarkdown | undefined {
  const page = markdownPageOf(change, wanted);
  if (page === undefined) return undefined;
  const { title, charset, language, description, markdown, hash } = page;
  return {
    title,
    charset,
    ...(language === undefined ? {} : { language }),
    ...(description === undefined ? {} : { description }),
    markdown,
    hash,
  };
}

/**
 * The readable text of a page in pieces, as lccq-models(5) has them; none where there is no text.
 * @param options `size`: characters of `text` of a piece at most, 200 to 100,000; default: 1500
 * @throws as `pageTextOf`
 */
export function chunksOf(change: Change, options: { size?: number } = {}): PageChunk[] {
  checkOptions(options, CHUNKS_OPTIONS);
  const page = markdownPageOf(change, 'readable');
  if (page === undefined) return [];
  return [...new Chunks(page, options.size ?? DEFAULT_CHUNK_SIZE).all()].map(
    ({ headings, markdown, text, hash }, n) => ({ n, headings, markdown, text, hash }),
  );
}

function markdownPageOf(change: Change, wanted: 'readable' | 'all'): MarkdownPage | undefined {
  checkValue('wanted', wanted, oneOf('readable', 'all'));
  const { mimetype, httpCharset: charset, furl, finalUrl } = change;
  if (!hasText(change)) return undefined;
  return markdownOf(bytesOf(change), { mimetype, charset, url: finalUrl ?? furl ?? undefined }, wanted);
}

function openContent(change: Change): StoredContent {
  const { curl, op, file, md5, machineId } = change;
  if (op === 'delete' || md5 === null)
    throw new LccError('data.refused', `${curl}: deleted: it has no content`);
  const brought = fetched.get(change);
  if (brought !== undefined) return inMemory(brought);
  if (file === null)
    throw new LccError(
      'data.refused',
      `${curl}: its content is on machine ${machineId}, not on this one; fetchContent brings it`,
    );
  const opened = openStored(file, md5);
  if (opened.ok) return opened.content;
  if (origins.get(change)?.isHeldNow(file) === false) throw new LccError('try.later', `${curl}: ${REPLACED}`);
  throw new LccError(
    'input.missing',
    `${curl}: ${file} is ${opened.why}; lccfsck --repair has it fetched again`,
  );
}

/** Where a change came from: a later reader of its content may find that it has been replaced. */
export interface ChangeOrigin {
  /** True if a row points to the file at this moment; true where that cannot be told any more. */
  isHeldNow(file: string): boolean;
  /** Content that is longer has no text. */
  maxTextBytes: number;
  /** Fetches the content of a change from the machine that has it. @throws LccError as `contentOf` */
  fetch?: (() => Promise<StoredContent>) | undefined;
}

const origins = new WeakMap<Change, ChangeOrigin>();

export function keepOrigin(change: Change, origin: ChangeOrigin): void {
  origins.set(change, origin);
}

/** True if text is made of the content, as the settings of its LCC say. */
function hasText(change: Change): boolean {
  const most = origins.get(change)?.maxTextBytes ?? SETTINGS['cu.max_text_bytes'].default;
  return holdsText(change.mimetype) && Number(change.len) <= most;
}
