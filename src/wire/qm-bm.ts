/**
 * QM ↔ BM, and BM ↔ BM: fetch requests and deletions down, results and slots up (lcc-protocol(5)).
 *
 *     up:   <lococa:bm machineid="m1" slots="64" store="…"/>  first, and again whenever that changes
 *           <lococa:bm machineid="m1 m2" slots="96" store="… …" relay="yes"/>   the same of a relay: all below it
 *           <fetched id="17" status="ok" md5="…" len="5123" … machineid="m1" fileid="ab/cd/1f.0"/>
 *           <fetched id="18" status="error" code="404" reach="real" …>Not Found</fetched>
 *           <fetched id="20" status="recalled"/>          not begun when its lane was recalled
 *           <deleted id="19" status="ok"/>  <checked …/>  <synced …/> (upkeep.ts)  <pong/>
 *     down: <fetch id="17" lane="7" url="http://…" roots="http://…" …/>
 *           <recall lane="7"/>                            whatever of the lane has not begun is to come back
 *           <recall lane="7" begun="yes"/>                and what has begun is to be given up
 *           <delete id="19" machineid="m1" fileid="ab/cd/1e.0"/>  <ping intervalms="15000"/>
 *           <check …/>  <sync …/> (upkeep.ts)
 *           <refuse machineid="m2">why</refuse>           to a relay: that machine is not to be one of this LCC
 *
 * Here are the messages as text; who sends which is in qm-bm-peers.ts.
 */
import { escapeText, formatAttribute } from '../lib/xml/escape.js';
import type { Attributes } from '../lib/xml/types.js';
import {
  optionalCharset,
  optionalFlag,
  optionalInteger,
  requiredInteger,
  requiredText,
  requiredWord,
} from './fields.js';
import type { ErrorReach, FetchOk, FetchRequest, FetchResult } from './fetch.js';

const REACHES: readonly ErrorReach[] = ['provider', 'url', 'real'];
const STATUSES: readonly FetchResult['status'][] = ['ok', 'unchanged', 'error', 'recalled'];

export function formatFetch(request: FetchRequest): string {
  return (
    `<fetch id="${request.id}"` +
    formatAttribute('lane', request.lane) +
    formatAttribute('url', request.url) +
    (request.roots.length === 0 ? '' : formatAttribute('roots', formatRoots(request.roots))) +
    formatAttribute('mimetype', request.mimetype) +
    formatAttribute('lastmodified', request.lastModified) +
    formatAttribute('etag', request.etag) +
    formatAttribute('md5', request.md5) +
    formatAttribute('len', request.len) +
    (request.enforce === true ? ' enforce="yes"' : '') +
    formatAttribute('maxbytes', request.maxBytes) +
    formatAttribute('timeoutms', request.timeoutMs) +
    formatAttribute('useragent', request.userAgent) +
    formatAttribute('login', request.login) +
    '/>\n'
  );
}

/** @throws LccError `peer.protocol` */
export function readFetch(attributes: Attributes): FetchRequest {
  const element = 'fetch';
  const request: FetchRequest = {
    id: requiredInteger(element, attributes, 'id'),
    lane: requiredText(element, attributes, 'lane'),
    url: requiredText(element, attributes, 'url'),
    roots: readRoots(attributes['roots']),
  };
  const { mimetype, lastmodified, etag, md5, useragent, login } = attributes;
  if (mimetype !== undefined) request.mimetype = mimetype;
  if (lastmodified !== undefined) request.lastModified = lastmodified;
  if (etag !== undefined) request.etag = etag;
  if (md5 !== undefined) request.md5 = md5.toLowerCase();
  const len = optionalInteger(element, attributes, 'len');
  if (len !== undefined) request.len = len;
  if (optionalFlag(element, attributes, 'enforce') === true) request.enforce = true;
  const maxBytes = optionalInteger(element, attributes, 'maxbytes');
  if (maxBytes !== undefined) request.maxBytes = maxBytes;
  const timeoutMs = optionalInteger(element, attributes, 'timeoutms');
  if (timeoutMs !== undefined) request.timeoutMs = timeoutMs;
  if (useragent !== undefined) request.userAgent = useragent;
  if (login !== undefined) request.login = login;
  return request;
}

export function formatFetched(result: FetchResult): string {
  const { id, status } = result;
  if (status === 'recalled') return formatRecalled(id);
  const cost = ` wirebytes="${result.wireBytes}" elapsedms="${Math.round(result.elapsedMs)}"`;
  switch (status) {
    case 'ok':
      return (
        `<fetched id="${id}" status="ok" http="${result.http}"` +
        formatAttribute('md5', result.md5) +
        ` len="${result.len}"` +
        formatAttribute('mimetype', result.mimetype) +
        formatAttribute('charset', result.charset) +
        formatAttribute('lastmodified', result.lastModified) +
        formatAttribute('etag', result.etag) +
        formatAttribute('finalurl', result.finalUrl) +
        (result.verified ? '' : ' verified="no"') +
        cost +
        formatAttribute('machineid', result.machineId) +
        formatAttribute('fileid', result.fileId) +
        '/>\n'
      );
    case 'unchanged':
      return (
        `<fetched id="${id}" status="unchanged" http="304"` +
        formatAttribute('lastmodified', result.lastModified) +
        formatAttribute('etag', result.etag) +
        `${cost}/>\n`
      );
    case 'error':
      return (
        `<fetched id="${id}" status="error" code="${result.code}" reach="${result.reach}"${cost}` +
        formatAttribute('retryafterms', result.retryAfterMs) +
        `>${escapeText(result.message)}</fetched>\n`
      );
  }
}

/** Both conversations say it the same way, as they do `recall`. */
export function formatRecalled(id: number): string {
  return `<fetched id="${id}" status="recalled"/>\n`;
}

/** @param begun what has begun is to be given up, too */
export function formatRecall(lane: string, begun = false): string {
  return `<recall${formatAttribute('lane', lane)}${begun ? ' begun="yes"' : ''}/>\n`;
}

/** @throws LccError `peer.protocol` */
export function readRecall(attributes: Attributes): [lane: string, begun: boolean] {
  const element = 'recall';
  return [requiredText(element, attributes, 'lane'), optionalFlag(element, attributes, 'begun') === true];
}

/** @throws LccError `peer.protocol` */
export function readFetched(attributes: Attributes, text: string): FetchResult {
  const element = 'fetched';
  const id = requiredInteger(element, attributes, 'id');
  const status = requiredWord(element, attributes, 'status', STATUSES);
  if (status === 'recalled') return { id, status };
  const wireBytes = requiredInteger(element, attributes, 'wirebytes');
  const elapsedMs = requiredInteger(element, attributes, 'elapsedms');
  const { lastmodified, etag } = attributes;
  switch (status) {
    case 'ok': {
      const { mimetype, finalurl, machineid, fileid } = attributes;
      const charset = optionalCharset(attributes);
      // Spreads of what may be missing cost 0.4 µs, and ten times the code to compile.
      const result: FetchOk = {
        id,
        status,
        http: requiredInteger(element, attributes, 'http'),
        md5: requiredText(element, attributes, 'md5').toLowerCase(),
        len: requiredInteger(element, attributes, 'len'),
        wireBytes,
        elapsedMs,
        verified: optionalFlag(element, attributes, 'verified') ?? true,
      };
      if (mimetype !== undefined) result.mimetype = mimetype;
      if (charset !== undefined) result.charset = charset;
      if (lastmodified !== undefined) result.lastModified = lastmodified;
      if (etag !== undefined) result.etag = etag;
      if (finalurl !== undefined) result.finalUrl = finalurl;
      if (machineid !== undefined) result.machineId = machineid;
      if (fileid !== undefined) result.fileId = fileid;
      return result;
    }
    case 'unchanged':
      return {
        id,
        status,
        http: 304,
        wireBytes,
        elapsedMs,
        ...(lastmodified === undefined ? undefined : { lastModified: lastmodified }),
        ...(etag === undefined ? undefined : { etag }),
      };
    case 'error': {
      const retryAfterMs = optionalInteger(element, attributes, 'retryafterms');
      return {
        id,
        status,
        code: requiredInteger(element, attributes, 'code'),
        message: text,
        reach: requiredWord(element, attributes, 'reach', REACHES),
        wireBytes,
        elapsedMs,
        ...(retryAfterMs === undefined ? undefined : { retryAfterMs }),
      };
    }
  }
}

/** Those read last: urls of one provider follow each other, and say the same. */
let lastRoots: { text: string; roots: readonly string[] } = { text: '', roots: [] };

/** Roots as one attribute value: urls hold no white space. */
export function formatRoots(roots: readonly string[]): string {
  return roots.length === 1 && roots[0] !== undefined && !roots[0].includes(' ')
    ? roots[0]
    : roots.map(root => root.replaceAll(' ', '%20')).join(' ');
}

export function readRoots(text: string | undefined): readonly string[] {
  if (text === undefined || text === '') return [];
  if (text !== lastRoots.text) lastRoots = { text, roots: text.trim().split(/\s+/) };
  return lastRoots.roots;
}
