/** `[web]`: what a daemon serves over HTTP. */
import { HOUR, KB, MB, SECOND } from '../amounts.js';
import { bytes, count, ms, type Section } from './rows.js';

export const WEB = {
  'web.max_connections': count(200, 1, 60_000, 'connections of a daemon at a time, each for one request'),
  'web.max_connections_per_address': count(20, 1, 60_000, 'of these from one address'),
  'web.headers_timeout_ms': ms(10 * SECOND, 10, HOUR, 'time from connecting to the end of the headers'),
  'web.request_timeout_ms': ms(20 * SECOND, 10, HOUR, 'time from connecting to the end of the answer'),
  'web.max_url_bytes': bytes(8 * KB, 100, MB, 'address in a request, with its query'),
  'web.max_header_bytes': bytes(16 * KB, KB, MB, 'first line and headers of a request'),
  'web.max_body_bytes': bytes(16 * KB, 0, 16 * MB, 'body of a request'),
} as const satisfies Section<'web'>;
