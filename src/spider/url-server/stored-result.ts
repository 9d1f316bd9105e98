/**
 * The result of a fetch for a Bot Manager, out of what a store server on this machine keeps: its row of the document says how the
 * fetch ended, and the document is put where the request says, under a name of its own first.
 *
 * A record says less than an answer of HTTP. The mimetype is what was announced; there is no validator, so every fetch brings the
 * document; and where redirects led to is known of permanent ones only: content that another redirect brought does not count
 * where roots say how far redirects may lead.
 */
import { createHash } from 'node:crypto';
import { rename, rm, writeFile } from 'node:fs/promises';
import { errnoOf, isNoRoom, messageOf } from '../../lib/errors.js';
import { codeText, STORE_FULL } from '../../wire/codes.js';
import type { RobotOk, RobotRequest, RobotResult } from '../../wire/fetch.js';
import { createRootCheck } from '../../wire/roots.js';
import { endOf, verdictOf } from './fetch-verdict.js';
import { failed } from './manager-source.js';

/** What a store server knows of a document. */
export interface StoredDocument {
  url: string;
  newUrl: string;
  isSuccess: boolean;
  reason: number;
  http: number;
  durationMs: number;
  /** Lower-case hex. */
  md5: string;
  /** @throws system errors, LccError `data.malformed` */
  content(): Uint8Array;
}

export interface CollectOptions {
  /** The row of a document as it is now; undefined: there is none. @throws LccError when it cannot be read */
  find: (docId: number) => StoredDocument | undefined;
  /** Content is on disk before its result is given. */
  syncContent: boolean;
}

/** Reads of a document that is replaced while it is read. */
const MAX_READS = 5;
let attempts = 0;

/** Rejects for a bug only. */
export async function collect(
  docId: number,
  request: RobotRequest,
  { find, syncContent }: CollectOptions,
): Promise<RobotResult> {
  const { id } = request;
  for (let reads = 1; ; reads++) {
    let found: StoredDocument | undefined;
    let content: Uint8Array = new Uint8Array();
    try {
      found = find(docId);
      if (found?.isSuccess === true) content = found.content();
    } catch (error) {
      if (errnoOf(error) === 'ENOENT' && reads < MAX_READS) continue;
      return failed(
        id,
        STORE_FULL,
        `the store server's documents cannot be read: ${messageOf(error)}`,
        'provider',
      );
    }
    if (found === undefined || found.url !== request.url)
      return failed(
        id,
        605,
        'a spider is done with it, and the store server has no record of it',
        'provider',
      );
    return place(request, found, content, syncContent);
  }
}

async function place(
  request: RobotRequest,
  found: StoredDocument,
  content: Uint8Array,
  syncContent: boolean,
): Promise<RobotResult> {
  const { id, file } = request;
  const { durationMs: elapsedMs, http } = found;
  const end = endOf(found.reason);
  const cost = { wireBytes: content.length, elapsedMs };
  if (!found.isSuccess) return { id, status: 'error', ...verdictOf(end, http), ...cost };
  const md5 = createHash('md5').update(content).digest('hex');
  const refusal = refusalOf(request, found, end, { md5, len: content.length });
  if (refusal !== undefined) return { ...refusal, ...cost };
  const temporary = `${file}.s${++attempts}.tmp`;
  try {
    await writeFile(temporary, content, { flush: syncContent });
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true });
    const reach = isNoRoom(error) || errnoOf(error) === 'EFBIG' ? 'url' : 'provider';
    return failed(id, STORE_FULL, `cannot write ${file}: ${messageOf(error)}`, reach);
  }
  const result: RobotOk = {
    id,
    status: 'ok',
    http: 200,
    md5,
    len: content.length,
    completeness: 'whole',
    ...cost,
  };
  if (request.mimetype !== undefined && !request.mimetype.includes('*')) result.mimetype = request.mimetype;
  if (found.newUrl !== '') result.finalUrl = found.newUrl;
  return result;
}

/** Why content that was fetched well does not count. */
function refusalOf(
  request: RobotRequest,
  found: StoredDocument,
  end: ReturnType<typeof endOf>,
  { md5, len }: { md5: string; len: number },
): ReturnType<typeof failed> | undefined {
  const { id, roots } = request;
  if (md5 !== found.md5) return failed(id, 605, 'the document of the store server is damaged', 'provider');
  if (end.cut) return failed(id, 606, 'longer than spiders take (spider.max_doc_size_bytes)', 'real');
  if (request.maxBytes !== undefined && len > request.maxBytes)
    return failed(id, 606, `${len} bytes, more than ${request.maxBytes}`, 'real');
  if (end.redirected && roots.length > 0 && (found.newUrl === '' || !createRootCheck(roots)(found.newUrl)))
    return failed(id, 609, found.newUrl === '' ? 'it is not known where it led' : found.newUrl, 'real');
  const differs =
    (request.md5 !== undefined && request.md5 !== md5) || (request.len !== undefined && request.len !== len);
  if (request.enforce === true && differs) return failed(id, 612, codeText(612), 'real');
  return undefined;
}
