/** The addresses that may be fetched from. A robot stands inside a network and asks for what strangers name,
 * so only public unicast addresses are permitted, plus what the operator allows. */
import ipaddr from 'ipaddr.js';
import { isIn, parseNetwork, type Address } from '../lib/network.js';

/** Networks that are nobody's on the internet: what --allow-private permits. */
export const PRIVATE_NETWORKS = [
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '::1/128',
  'fc00::/7',
  'fe80::/10',
];

/** True if an IP address (text, as getaddrinfo or a socket gives it) may be connected to. */
export type AddressGuard = (address: string) => boolean;

/**
 * @param allowed networks (CIDR, or one address) permitted although they are not public
 * @param onlyAllowed true if public ones are not
 * @throws LccError `usage` naming a malformed network
 */
export function createAddressGuard(allowed: readonly string[], onlyAllowed = false): AddressGuard {
  const networks = allowed.map(parseNetwork);
  const permits = (address: Address): boolean => {
    if (isIn(networks, address)) return true;
    if (onlyAllowed) return false;
    if (address.kind() === 'ipv4') return address.range() === 'unicast';
    const inside = embeddedIPv4(address as ipaddr.IPv6);
    return inside === undefined ? isPublicIPv6(address as ipaddr.IPv6) : inside.every(permits);
  };
  return text => {
    const bare = text.replace(/%.*$/, '');
    return ipaddr.isValid(bare) && permits(ipaddr.parse(bare));
  };
}

/** Only what IANA hands out (2000::/3) and no special range within it: unknown space is refused, not
 * permitted. */
function isPublicIPv6(address: ipaddr.IPv6): boolean {
  return ((address.parts[0] ?? 0) & 0xe000) === 0x2000 && address.range() === 'unicast';
}

/** IPv4 addresses that packets to a translated or tunnelled IPv6 address would reach; undefined for all
 * others. */
function embeddedIPv4(address: ipaddr.IPv6): ipaddr.IPv4[] | undefined {
  const bytes = address.toByteArray();
  const at = (offset: number, mask = 0) =>
    new ipaddr.IPv4(bytes.slice(offset, offset + 4).map(byte => byte ^ mask));
  const range: string = address.range();
  switch (range) {
    case 'ipv4Mapped':
      return [at(12)];
    case '6to4':
      return [at(2)];
    case 'teredo':
      return [at(4), at(12, 0xff)];
    case 'rfc6052':
      // 64:ff9b::/96 only; 64:ff9b:1::/48 is for use inside a network and stays refused.
      return bytes[5] === 0 ? [at(12)] : undefined;
    default:
      return undefined;
  }
}
