/** `[wire]`: messages between the daemons. */
import { HOUR, KB, MB, SECOND } from '../amounts.js';
import { bytes, ms, type Section } from './rows.js';

export const WIRE = {
  'wire.stall_timeout_ms': ms(60 * SECOND, 100, HOUR, 'time a peer may leave 4 MB of messages unread'),
  'wire.max_hello_bytes': bytes(
    128 * KB,
    4 * KB,
    16 * MB,
    'read of a peer before it has said who it is, be they comments or white space; of a CP also before its set',
  ),
  'wire.ping_interval_ms': ms(
    15 * SECOND,
    100,
    HOUR,
    'a Bot Manager, and a robot, is pinged this often; silent for three times this it is given up (1s with store.url)',
  ),
} as const satisfies Section<'wire'>;
