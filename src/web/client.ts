/** The address of the client that a request comes from. */
import type { IncomingMessage } from 'node:http';
import ipaddr from 'ipaddr.js';
import { isIn, type Network } from '../lib/network.js';
import { connectionOf } from './server.js';

/**
 * The address that the connection comes from, '' over a Unix socket; of a proxy that is believed, the one
 * that it forwards for: the last of X-Forwarded-For that is no proxy, for each of them has added the one
 * before it. The permission to connect to a Unix socket makes a proxy believed.
 * @param proxies networks that are believed; undefined: nobody is, not even at a Unix socket
 */
export function clientAddress(request: IncomingMessage, proxies: readonly Network[] | undefined): string {
  const { address } = connectionOf(request);
  if (proxies === undefined || !(address === '' || isProxy(address, proxies))) return address;
  const forwarded = [request.headers['x-forwarded-for'] ?? ''].flat().join(',').split(',');
  let client = address;
  for (const entry of forwarded.reverse()) {
    if (entry.trim() === '') continue;
    const before = addressIn(entry.trim());
    if (before === undefined) break;
    client = before;
    if (!isProxy(before, proxies)) break;
  }
  return client;
}

function isProxy(address: string, proxies: readonly Network[]): boolean {
  return ipaddr.isValid(address) && isIn(proxies, ipaddr.process(address));
}

/** Some proxies add the port: `192.0.2.1:5678`, `[2001:db8::1]:443`. */
function addressIn(entry: string): string | undefined {
  const [, v6, v4] = /^(?:\[([^\]]*)\](?::\d+)?|(\d+\.\d+\.\d+\.\d+):\d+)$/.exec(entry) ?? [];
  const text = v6 ?? v4 ?? entry;
  return ipaddr.isValid(text) ? ipaddr.process(text).toString() : undefined;
}
