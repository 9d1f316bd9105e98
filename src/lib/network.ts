/** Networks as operators write them: `192.0.2.0/24`, `2001:db8::/32`, or one address. */
import ipaddr from 'ipaddr.js';
import { LccError } from './errors.js';

export type Address = ipaddr.IPv4 | ipaddr.IPv6;
export type Network = readonly [Address, number];

/**
 * A network's base and the bits of it that count.
 * @throws LccError `usage` naming what is no network
 */
export function parseNetwork(text: string): Network {
  try {
    if (text.includes('/')) return ipaddr.parseCIDR(text);
    const address = ipaddr.parse(text);
    return [address, address.kind() === 'ipv4' ? 32 : 128];
  } catch (error) {
    throw new LccError('usage', `network "${text}": write it as 192.0.2.0/24 or 2001:db8::/32`, {
      cause: error,
    });
  }
}

/** True if an address lies in one of the networks. */
export function isIn(networks: readonly Network[], address: Address): boolean {
  return networks.some(([base, bits]) => base.kind() === address.kind() && address.match(base, bits));
}

/**
 * True if a network, as its address and bits, is of this machine, or one that the internet does not reach.
 */
export function isPrivateNetwork(cidr: string): boolean {
  if (!ipaddr.isValidCIDR(cidr)) return false;
  const [base] = ipaddr.parseCIDR(cidr);
  return ['loopback', 'private', 'uniqueLocal', 'linkLocal'].includes(base.range());
}
