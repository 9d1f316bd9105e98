/**
 * The messages about a fetch, the same on every edge that a request passes, QM ↔ BM, BM ↔ BM and BM ↔ BOT
 * (lcc-protocol(5)):
 *
 *     down: <fetch id="17" lane="7" url="http://…" roots="http://…" …/>
 *           <fetch id="21" … accept="text/*" redirects="report"/>   what nobody announced
 *           <fetch id="22" … inline="512000"/>            its first bytes are wanted, and not stored
 *           <recall lane="7"/>                            what of the lane has not begun is to come back
 *           <recall lane="7" begun="yes"/>                and what has begun is to be given up
 *     up:   <fetched id="17" status="ok" http="200" md5="…" len="5123" mtime="…" mimetype="text/html" …/>
 *           <fetched id="18" status="error" code="404" reach="real" time="0.010">Not Found</fetched>
 *           <fetched id="20" status="recalled"/>          not begun when its lane was recalled
 *           <fetched id="21" status="redirect" http="301" location="http://…"/>
 *           <part id="22">VXNlci1hZ2V…</part>             base64, as many as it takes, then
 *           <fetched id="22" status="inline" http="200"/>
 *
 * Each edge adds what only it knows: a Bot Manager tells a robot the `file` to write, and its source the
 * `machineid` and `fileid` of what was stored. Times are seconds with decimals; `mtime` is the validator as
 * the server sent it, `furl` the URL to which redirects led. An attribute without a value counts as missing.
 */
import { LccError } from '../lib/errors.js';
import { escapeText, formatAttribute } from '../lib/xml/escape.js';
import type { Attributes } from '../lib/xml/types.js';
import {
  optionalCharset,
  optionalFlag,
  optionalInteger,
  optionalSeconds,
  requiredInteger,
  requiredPath,
  requiredText,
  requiredWord,
} from './fields.js';
import { asksForPatience } from './left-alone.js';
import {
  MAX_INLINE_BYTES,
  type ErrorReach,
  type FetchInline,
  type FetchRequest,
  type FetchResult,
  type FetchTerms,
  type RobotOk,
  type RobotRequest,
  type RobotResult,
} from './fetch.js';

const REACHES: readonly ErrorReach[] = ['provider', 'url', 'real'];
const STATUSES: readonly FetchResult['status'][] = [
  'ok',
  'unchanged',
  'error',
  'recalled',
  'redirect',
  'inline',
];

/** @param file where a robot is to write */
export function formatFetch(id: number, request: FetchTerms & { lane?: string }, file?: string): string {
  return (
    `<fetch id="${id}"` +
    formatAttribute('lane', request.lane) +
    formatAttribute('url', request.url) +
    formatAttribute('file', file) +
    formatAttribute('mtime', request.lastModified) +
    formatAttribute('etag', request.etag) +
    formatAttribute('mimetype', request.mimetype) +
    formatAttribute('md5', request.md5) +
    formatAttribute('len', request.len) +
    formatAttribute('maxlen', request.maxBytes) +
    formatAttribute('timeout', request.timeoutMs === undefined ? undefined : request.timeoutMs / 1000) +
    (request.roots.length === 0 ? '' : formatAttribute('roots', formatRoots(request.roots))) +
    (request.enforce === true ? ' enforce="yes"' : '') +
    (request.takesContradicted === true ? ' contradicted="yes"' : '') +
    formatAttribute('useragent', request.userAgent) +
    formatAttribute('login', request.login) +
    (request.accept === undefined ? '' : formatAttribute('accept', request.accept.join(' '))) +
    formatAttribute('redirects', request.redirects) +
    formatAttribute('inline', request.inline) +
    '/>\n'
  );
}

/** A request as a source sends it. @throws LccError `peer.protocol` */
export function readFetch(attributes: Attributes): FetchRequest {
  const element = 'fetch';
  return withTerms(attributes, {
    id: requiredInteger(element, attributes, 'id'),
    lane: requiredText(element, attributes, 'lane'),
    url: requiredText(element, attributes, 'url'),
    roots: readRoots(attributes['roots']),
  });
}

/** A request as a robot gets it. @throws LccError `peer.protocol` */
export function readRobotFetch(attributes: Attributes): RobotRequest {
  const element = 'fetch';
  const request: RobotRequest = {
    id: requiredInteger(element, attributes, 'id'),
    url: requiredText(element, attributes, 'url'),
    file: attributes['inline'] === undefined ? requiredPath(element, attributes, 'file') : '',
    roots: readRoots(attributes['roots']),
  };
  const { lane } = attributes;
  if (lane !== undefined && lane !== '') request.lane = lane;
  return withTerms(attributes, request);
}

/** The request with what may be missing. */
function withTerms<Request extends FetchTerms>(attributes: Attributes, request: Request): Request {
  const element = 'fetch';
  const { mtime, etag, mimetype, md5, len, maxlen, timeout, enforce, useragent, login } = attributes;
  const { accept, redirects, inline, contradicted } = attributes;
  if (mtime !== undefined && mtime !== '') request.lastModified = mtime;
  if (etag !== undefined && etag !== '') request.etag = etag;
  if (mimetype !== undefined && mimetype !== '') request.mimetype = mimetype;
  if (md5 !== undefined && md5 !== '') request.md5 = md5.toLowerCase();
  // Calls that never happen are not compiled either, which takes V8 long here.
  if (len !== undefined && len !== '') request.len = requiredInteger(element, attributes, 'len');
  if (maxlen !== undefined && maxlen !== '')
    request.maxBytes = requiredInteger(element, attributes, 'maxlen');
  const timeoutMs = timeout === undefined ? undefined : optionalSeconds(element, attributes, 'timeout');
  if (timeoutMs !== undefined) request.timeoutMs = timeoutMs;
  if (enforce !== undefined && optionalFlag(element, attributes, 'enforce') === true) request.enforce = true;
  if (contradicted !== undefined && optionalFlag(element, attributes, 'contradicted') === true)
    request.takesContradicted = true;
  if (useragent !== undefined && useragent !== '') request.userAgent = useragent;
  if (login !== undefined && login !== '') request.login = login;
  if (accept !== undefined && accept.trim() !== '') request.accept = accept.trim().split(/\s+/);
  if (redirects !== undefined) request.redirects = requiredWord(element, attributes, 'redirects', ['report']);
  if (inline !== undefined)
    request.inline = Math.min(requiredInteger(element, attributes, 'inline'), MAX_INLINE_BYTES);
  return request;
}

export function formatFetched(result: FetchResult | RobotResult): string {
  const { id, status } = result;
  if (status === 'recalled') return `<fetched id="${id}" status="recalled"/>\n`;
  const cost = ` wirebytes="${result.wireBytes}" time="${(Math.round(result.elapsedMs) / 1000).toFixed(3)}"`;
  switch (status) {
    case 'ok':
      return (
        `<fetched id="${id}" status="ok" http="${result.http}"` +
        ` md5="${result.md5}" len="${result.len}"` +
        formatAttribute('mtime', result.lastModified) +
        formatAttribute('modifiednow', result.modifiedNow) +
        formatAttribute('mimetype', result.mimetype) +
        formatAttribute('charset', result.charset) +
        formatAttribute('furl', result.finalUrl) +
        formatAttribute('etag', result.etag) +
        formatAttribute('robots', result.robots) +
        (result.completeness === 'whole' ? '' : ' verified="no"') +
        cost +
        ('fileId' in result
          ? formatAttribute('machineid', result.machineId) + formatAttribute('fileid', result.fileId)
          : '') +
        '/>\n'
      );
    case 'unchanged':
      return (
        `<fetched id="${id}" status="unchanged" http="304"` +
        formatAttribute('mtime', result.lastModified) +
        formatAttribute('etag', result.etag) +
        `${cost}/>\n`
      );
    case 'redirect':
      return (
        `<fetched id="${id}" status="redirect" http="${result.http}"` +
        `${formatAttribute('location', result.location)}${cost}/>\n`
      );
    case 'inline':
      return (
        `<fetched id="${id}" status="inline" http="${result.http}"` +
        formatAttribute('mtime', result.lastModified) +
        formatAttribute('furl', result.finalUrl) +
        formatAttribute('etag', result.etag) +
        `${result.isCut ? ' cut="yes"' : ''}${cost}/>\n`
      );
    case 'error':
      return (
        `<fetched id="${id}" status="error" code="${result.code}" reach="${result.reach}"` +
        formatAttribute(
          'retryafter',
          result.retryAfterMs === undefined ? undefined : result.retryAfterMs / 1000,
        ) +
        `${cost}>${escapeText(result.message)}</fetched>\n`
      );
  }
}

/** The content of a result, in front of it: in parts of at most this many characters. */
export function formatParts({ id, content }: FetchInline, maxChars: number): string[] {
  const { buffer, byteOffset, byteLength } = content;
  const bytes = Buffer.from(buffer, byteOffset, byteLength);
  // Three bytes are four characters.
  const partBytes = Math.max(1, Math.floor(maxChars / 4)) * 3;
  const parts: string[] = [];
  for (let at = 0; at < bytes.length; at += partBytes)
    parts.push(`<part id="${id}">${bytes.toString('base64', at, at + partBytes)}</part>\n`);
  return parts;
}

/**
 * A result as a Bot Manager sends it to its source: with the place of what was stored.
 * @param content of the parts that came before it
 * @throws LccError `peer.protocol`
 */
export function readFetched(attributes: Attributes, text: string, content?: Uint8Array): FetchResult {
  const result = readRobotFetched(attributes, text, content);
  if (result.status !== 'ok') return result;
  const machineId = requiredText('fetched', attributes, 'machineid');
  return Object.assign(result, { machineId, fileId: requiredText('fetched', attributes, 'fileid') });
}

/**
 * A robot written by others may leave out all but `id`, `status`, and what its status means.
 * @param content of the parts that came before it
 * @throws LccError `peer.protocol`
 */
export function readRobotFetched(attributes: Attributes, text: string, content?: Uint8Array): RobotResult {
  const element = 'fetched';
  const id = requiredInteger(element, attributes, 'id');
  const status = requiredWord(element, attributes, 'status', STATUSES);
  if (status === 'recalled') return { id, status };
  const wireBytes = optionalInteger(element, attributes, 'wirebytes');
  const elapsedMs = optionalSeconds(element, attributes, 'time') ?? 0;
  const { mtime, etag } = attributes;
  switch (status) {
    case 'ok': {
      const len = requiredInteger(element, attributes, 'len');
      const { mimetype, modifiednow, furl, robots } = attributes;
      const charset = optionalCharset(attributes);
      // Spreads of what may be missing cost 0.4 µs, and ten times the code to compile.
      const result: RobotOk = {
        id,
        status,
        http: optionalInteger(element, attributes, 'http') ?? 200,
        md5: requiredText(element, attributes, 'md5').toLowerCase(),
        len,
        wireBytes: wireBytes ?? len,
        elapsedMs,
        // A contradiction of the announced length or md5 matters to nobody who has taken the content.
        completeness: optionalFlag(element, attributes, 'verified') === false ? 'unverified' : 'whole',
      };
      if (mimetype !== undefined) result.mimetype = mimetype;
      if (charset !== undefined) result.charset = charset;
      if (mtime !== undefined) result.lastModified = mtime;
      if (modifiednow !== undefined) result.modifiedNow = modifiednow;
      if (etag !== undefined) result.etag = etag;
      if (furl !== undefined) result.finalUrl = furl;
      if (robots !== undefined) result.robots = robots;
      return result;
    }
    case 'redirect':
      return {
        id,
        status,
        http: optionalInteger(element, attributes, 'http') ?? 302,
        location: requiredText(element, attributes, 'location'),
        wireBytes: wireBytes ?? 0,
        elapsedMs,
      };
    case 'inline': {
      const { furl } = attributes;
      if (content === undefined)
        throw new LccError('peer.protocol', `<fetched id="${id}">: its content was not to come inline`);
      return {
        id,
        status,
        http: optionalInteger(element, attributes, 'http') ?? 200,
        content,
        isCut: optionalFlag(element, attributes, 'cut') ?? false,
        wireBytes: wireBytes ?? content.length,
        elapsedMs,
        ...(mtime === undefined ? undefined : { lastModified: mtime }),
        ...(etag === undefined ? undefined : { etag }),
        ...(furl === undefined ? undefined : { finalUrl: furl }),
      };
    }
    case 'unchanged':
      return {
        id,
        status,
        http: 304,
        wireBytes: wireBytes ?? 0,
        elapsedMs,
        ...(mtime === undefined ? undefined : { lastModified: mtime }),
        ...(etag === undefined ? undefined : { etag }),
      };
    case 'error': {
      const code = requiredInteger(element, attributes, 'code');
      const said = optionalSeconds(element, attributes, 'retryafter');
      const retryAfterMs = asksForPatience(code) ? said : undefined;
      const reach =
        attributes['reach'] === undefined ? 'url' : requiredWord(element, attributes, 'reach', REACHES);
      return {
        id,
        status,
        code,
        message: text,
        reach,
        wireBytes: wireBytes ?? 0,
        elapsedMs,
        ...(retryAfterMs === undefined ? undefined : { retryAfterMs }),
      };
    }
  }
}

/** @param begun what has begun must be given up, too */
export function formatRecall(lane: string, begun = false): string {
  return `<recall${formatAttribute('lane', lane)}${begun ? ' begun="yes"' : ''}/>\n`;
}

/** @throws LccError `peer.protocol` */
export function readRecall(attributes: Attributes): [lane: string, begun: boolean] {
  const element = 'recall';
  return [requiredText(element, attributes, 'lane'), optionalFlag(element, attributes, 'begun') === true];
}

/** Those read last: urls of one provider follow each other, and say the same. */
let lastRoots: { text: string; roots: readonly string[] } = { text: '', roots: [] };

/** Roots as one attribute value: urls hold no white space. */
function formatRoots(roots: readonly string[]): string {
  return roots.length === 1 && roots[0] !== undefined && !roots[0].includes(' ')
    ? roots[0]
    : roots.map(root => root.replaceAll(' ', '%20')).join(' ');
}

function readRoots(text: string | undefined): readonly string[] {
  if (text === undefined || text === '') return [];
  if (text !== lastRoots.text) lastRoots = { text, roots: text.trim().split(/\s+/) };
  return lastRoots.roots;
}
