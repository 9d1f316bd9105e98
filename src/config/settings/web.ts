/** `[web]`: what a daemon serves over HTTP. */
import { count, type Section } from './rows.js';

export const WEB = {
  'web.max_connections': count(200, 1, 60_000, 'connections of a daemon at a time, each for one request'),
  'web.max_connections_per_address': count(20, 1, 60_000, 'of these from one address'),
} as const satisfies Section<'web'>;
