/** The address of the client that a request comes from. */
import type { IncomingMessage } from 'node:http';
import ipaddr from 'ipaddr.js';
import { isIn, type Network } from '../lib/network.js';
import { connectionOf } from './server.js';

/**
 * The address that the connection comes from, '' over a Unix socket; of a proxy that is believed, the one that it forwards for: the
 * last of X-Forwarded-For, for the proxy itself has added that.
 * @param proxies networks that are believed
 */
export function clientAddress(request: IncomingMessage, proxies: readonly Network[]): string {
  const { address } = connectionOf(request);
  if (!ipaddr.isValid(address) || !isIn(proxies, ipaddr.parse(address))) return address;
  const forwarded = [request.headers['x-forwarded-for'] ?? ''].flat().join(',');
  const last = forwarded.split(',').at(-1)?.trim() ?? '';
  return ipaddr.isValid(last) ? ipaddr.process(last).toString() : address;
}
