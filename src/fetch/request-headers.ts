/** Headers of a request. */
import { acceptEncoding } from './decode.js';
import { isRead, type FetchJob } from './job.js';
import type { Wording } from './manners.js';
import { lengthOf } from './question.js';

/** To caches on the way. Many servers never answer 304 to the first; the second makes a cache look just as
 * well. */
const FRESH = 'no-cache';
const FRESH_OR_UNCHANGED = 'max-age=0';

/** Headers of every request for this type as this agent: the same as last time, mostly. */
let usual: { mimetype: string | undefined; agent: string; wording: Wording; headers: string[] } | undefined;

/**
 * Header names, in lower case, and values by turns; not to be changed.
 * @param origin what is asked
 * @param loginOrigin the only origin that gets the job's login
 * @param cookie '' for none
 */
export function requestHeaders(
  job: FetchJob,
  origin: string,
  loginOrigin: string,
  wording: Wording,
  cookie = '',
): string[] {
  const { mimetype, lastModified, etag, login, headers: more, body } = job;
  const agent = job.userAgent !== undefined && isPlain(job.userAgent) ? job.userAgent : wording.userAgent;
  if (
    usual === undefined ||
    usual.mimetype !== mimetype ||
    usual.agent !== agent ||
    usual.wording !== wording
  )
    usual = { mimetype, agent, wording, headers: usualHeaders(mimetype, agent, wording) };
  if (
    lastModified === undefined &&
    etag === undefined &&
    login === undefined &&
    more === undefined &&
    body === undefined &&
    cookie === ''
  )
    return usual.headers;
  const headers = [...usual.headers];
  const canBeUnchanged = isRead(job.method ?? 'GET');
  const fresh = headers.indexOf(FRESH);
  if (canBeUnchanged && fresh >= 0 && (lastModified ?? etag) !== undefined)
    headers[fresh] = FRESH_OR_UNCHANGED;
  if (canBeUnchanged && lastModified !== undefined && isPlain(lastModified))
    headers.push('if-modified-since', lastModified);
  if (canBeUnchanged && etag !== undefined && isPlain(etag)) headers.push('if-none-match', etag);
  if (login !== undefined && origin === loginOrigin) headers.push('authorization', basic(login));
  if (cookie !== '') headers.push('cookie', cookie);
  if (body !== undefined) headers.push('content-length', String(lengthOf(body)));
  if (more !== undefined) addPlain(headers, more);
  return headers;
}

/** Those of the pairs that can stand in a request as they are. */
function addPlain(headers: string[], more: readonly string[]): void {
  for (let i = 0; i + 1 < more.length; i += 2) {
    const [name = '', value = ''] = more.slice(i, i + 2);
    if (isPlain(value)) headers.push(name, value);
  }
}

function usualHeaders(mimetype: string | undefined, agent: string, wording: Wording): string[] {
  const wanted = mimetype !== undefined && isPlain(mimetype) ? `${mimetype},*/*;q=0.1` : '*/*';
  // The url was announced: a cache on the way may have what was there before.
  const { manners, isKept } = wording;
  const fresh = manners.asksFresh ? ['cache-control', FRESH] : [];
  const close = isKept ? [] : ['connection', 'close'];
  const coding = manners.codings === 'gzip' ? 'gzip' : acceptEncoding();
  return ['user-agent', agent, 'accept', wanted, 'accept-encoding', coding, ...fresh, ...close];
}

/** RFC 7617, section 2, with the charset that sites ask for if they ask for any. */
function basic(login: string): string {
  return `Basic ${Buffer.from(login).toString('base64')}`;
}

/** True for text that can stand in a header as it is. */
function isPlain(value: string): boolean {
  return /^[\t\x20-\x7e\x80-\xff]+$/.test(value);
}
