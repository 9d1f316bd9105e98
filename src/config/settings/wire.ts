/** `[wire]`: messages between the daemons. */
import { GB, HOUR, KB, MB, SECOND } from '../amounts.js';
import { bytes, count, ms, type Section } from './rows.js';

export const WIRE = {
  'wire.max_pending_bytes': bytes(8 * MB, 64 * KB, GB, 'messages waiting for a peer to read them'),
  'wire.stall_timeout_ms': ms(60 * SECOND, 100, HOUR, 'time a peer may leave half of that unread'),
  'wire.hello_timeout_ms': ms(60 * SECOND, 100, HOUR, 'time from connecting to saying who is there'),
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
  'wire.max_controls': count(100, 1, 60_000, 'connections to the control socket of a daemon at a time'),
} as const satisfies Section<'wire'>;
