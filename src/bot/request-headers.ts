/** What a server is told with a request. */
import { ACCEPT_ENCODING } from './decode.js';
import type { FetchJob } from './job.js';

/**
 * Header names, in lower case, and values by turns.
 * @param loginOrigin the only origin that gets the job's login
 */
export function requestHeaders(job: FetchJob, url: URL, loginOrigin: string, userAgent: string): string[] {
  const { mimetype, lastModified, etag, login } = job;
  const wanted = mimetype !== undefined && isPlain(mimetype) ? `${mimetype},*/*;q=0.1` : '*/*';
  const headers = [
    'user-agent',
    job.userAgent !== undefined && isPlain(job.userAgent) ? job.userAgent : userAgent,
    'accept',
    wanted,
    'accept-encoding',
    ACCEPT_ENCODING,
  ];
  if (lastModified !== undefined && isPlain(lastModified)) headers.push('if-modified-since', lastModified);
  if (etag !== undefined && isPlain(etag)) headers.push('if-none-match', etag);
  if (login !== undefined && url.origin === loginOrigin) headers.push('authorization', basic(login));
  return headers;
}

/** RFC 7617, section 2, with the charset that sites ask for if they ask for any. */
function basic(login: string): string {
  return `Basic ${Buffer.from(login).toString('base64')}`;
}

/** What can stand in a header as it is. */
function isPlain(value: string): boolean {
  return /^[\t\x20-\x7e\x80-\xff]+$/.test(value);
}
