/** Hosts that are this machine. */
import { BlockList, isIP } from 'node:net';

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8);
LOOPBACK.addAddress('::1', 'ipv6');

/** True if a host, as it stands in an endpoint or a url, is this machine; `::ffff:127.0.0.1` is. */
export function isLoopback(host: string): boolean {
  const literal = host.replace(/^\[|\]$/g, '');
  const family = isIP(literal);
  return literal === 'localhost' || (family !== 0 && LOOPBACK.check(literal, family === 6 ? 'ipv6' : 'ipv4'));
}
