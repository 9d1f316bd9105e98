/** `[cu]`: content users, and the server for them. */
import { DAY, HOUR, KB, MB, SECOND } from '../amounts.js';
import { ENDPOINT, HTTP_URL, METRICS_ENDPOINT, ORIGIN } from '../forms.js';
import { bytes, count, flag, list, ms, text, type Section } from './rows.js';

export const CU = {
  'cu.listen': list(
    [],
    'endpoints content users connect to; lccd starts lccd-cu where there are any',
    ENDPOINT,
  ),
  'cu.http_listen': list(
    [],
    'endpoints of the change feed over HTTP; lccd starts lccd-cu where there are any',
    ENDPOINT,
  ),
  'cu.url': text(
    '',
    'public address of the change feed with its base path; empty: its paths begin at /',
    HTTP_URL,
  ),
  'cu.http_origins': list(
    [],
    'origins of web pages elsewhere that may read the change feed in a browser',
    ORIGIN,
  ),
  'cu.max_streams': count(200, 1, 60_000, 'readers of the change feed at a time, those that wait included'),
  'cu.max_streams_per_address': count(16, 1, 60_000, 'of these from one address'),
  'cu.stream_ms': ms(HOUR, 10, DAY, 'longest stream of events; its reader connects again'),
  'cu.readers_file': text('', 'file of the clients that may read over TCP and TLS; empty: $LCC_HOME/readers'),
  'cu.anonymous': flag(false, 'let clients over TCP and TLS read without credentials'),
  'cu.max_connections': count(256, 1, 60_000, 'connections at a time'),
  'cu.max_connections_per_address': count(32, 1, 60_000, 'connections at a time from one address'),
  'cu.stall_timeout_ms': ms(60 * SECOND, 10, HOUR, 'time without a byte that the client reads'),
  'cu.answer_timeout_ms': ms(
    6 * HOUR,
    10,
    30 * DAY,
    'longest answer; the client goes on from the last url it got',
  ),
  'cu.max_text_bytes': bytes(
    16 * MB,
    1 * KB,
    256 * MB,
    'length of content that text is made of; what is longer is left without text',
  ),
  'cu.metrics_listen': text('', 'endpoint where the metrics of lccd-cu are read', METRICS_ENDPOINT),
} as const satisfies Section<'cu'>;
