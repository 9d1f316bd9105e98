/** Content that stays as it is: a style sheet, a script, robots.txt. */
import { createHash } from 'node:crypto';
import type { Handler } from './routes.js';

/** Browsers keep it and ask whether it has changed: 304 when it has not. */
export function fixed(content: string | Buffer, type: string): Handler {
  const etag = `"${createHash('sha256').update(content).digest('base64url')}"`;
  const headers = { etag, 'cache-control': 'no-cache' };
  return ({ request }) =>
    isNamed(etag, request.headers['if-none-match'])
      ? { status: 304, headers }
      : { type, body: content, headers };
}

/** Whether If-None-Match names it (RFC 9110, section 13.1.2: weak and strong ones count as the same). */
function isNamed(etag: string, header = ''): boolean {
  return header.split(',').some(each => ['*', etag, `W/${etag}`].includes(each.trim()));
}
