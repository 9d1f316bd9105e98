/**
 * Connections to permitted addresses only. An address literal is checked before connecting (no lookup is made
 * for it), a name while it is looked up: what was checked is what is connected to, so a name that resolves
 * differently the next moment changes nothing. The address really connected to is checked once more.
 */
import { lookup as systemLookup, type LookupAddress } from 'node:dns';
import { isIP, Socket, type LookupFunction } from 'node:net';
import { checkServerIdentity, type PeerCertificate } from 'node:tls';
import type { buildConnector } from 'undici';
import connectorOf from 'undici/lib/core/connect.js';
import { connectFailure, fail, FetchError } from './failure.js';
import type { AddressGuard } from './public-addresses.js';
import { ReceivingEnd } from './receiving-end.js';

/** Resolves a name to all its addresses; dns.lookup but in tests. */
export type Resolve = (
  hostname: string,
  options: { all: true },
  callback: (error: Error | null, addresses: LookupAddress[]) => void,
) => void;

interface ConnectorOptions {
  permits: AddressGuard;
  /** True if a host may be connected to wherever it is: the user named it. */
  trusts?: ((host: string) => boolean) | undefined;
  connectTimeoutMs: number;
  /** Certificates (PEM) of those who may sign a server's, instead of those Node comes with. */
  ca?: Buffer | string | undefined;
  /** Certificate and key (PEM) that this client shows to servers that ask. */
  identity?: ClientIdentity | undefined;
  /** A server's certificate is not looked at. */
  isInsecure?: boolean | undefined;
  resolve?: Resolve | undefined;
  /** Called with the address of each connection that is made. */
  connected?: ((address: string) => void) | undefined;
}

export interface ClientIdentity {
  cert: string | Buffer;
  key: string | Buffer;
}

/**
 * @param options with the address that is connected to, where that is not what `hostname` resolves to
 * @returns what is being connected, for who gives up; nothing where nothing is
 */
export type Connector = (
  options: buildConnector.Options & { address?: string | undefined },
  callback: (error: Error | null, connected: ReceivingEnd | null) => void,
) => Socket | undefined;

/** Makes what undici connects with. Errors are FetchErrors. */
export function createConnector(options: ConnectorOptions): Connector {
  const { permits, trusts = () => false } = options;
  const settings = {
    ...(options.ca !== undefined && { ca: options.ca }),
    ...(options.isInsecure === true && { rejectUnauthorized: false }),
    ...options.identity,
    // A backstop: undici's timer is coarse, the fetch has its own.
    timeout: options.connectTimeoutMs + 1000,
    lookup: guardedLookup(permits, trusts, options.resolve ?? systemLookup),
    // Node's default of 250 ms would give up on distant addresses of hosts that have several.
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: Math.max(250, Math.floor(options.connectTimeoutMs / 4)),
  };
  const connectToHost = connectorOf(settings);

  return ({ address, ...asked }, callback) => {
    const target = address === undefined ? asked : { ...asked, hostname: address };
    const peer = `${target.hostname}:${target.port || (target.protocol === 'https:' ? 443 : 80)}`;
    const isTrusted = trusts(bareHost(target.hostname));
    if (isIP(target.hostname) !== 0 && !isTrusted && !permits(target.hostname)) {
      callback(notPermitted(target.hostname), null);
      return undefined;
    }
    // The certificate of a name is asked for, and checked, whatever is connected to. An address is no name:
    // the one in the url must be the certificate's.
    const connect =
      address === undefined || asked.protocol !== 'https:' || isIP(asked.hostname) === 0
        ? connectToHost
        : connectorOf({
            ...settings,
            checkServerIdentity: (_host: string, shown: PeerCertificate) =>
              checkServerIdentity(asked.hostname, shown),
          });
    const connecting: unknown = connect(target, (error, socket) => {
      if (error !== null) {
        callback(new FetchError(connectFailure(error, peer, target.protocol === 'https:')), null);
        return;
      }
      if (!isTrusted && !permits(socket.remoteAddress ?? '')) {
        socket.destroy();
        callback(notPermitted(socket.remoteAddress ?? peer), null);
        return;
      }
      options.connected?.(socket.remoteAddress ?? '');
      callback(null, new ReceivingEnd(socket));
    });
    // Not among its types.
    return connecting instanceof Socket ? connecting : undefined;
  };
}

/** An address of IPv6 stands in brackets in urls. */
function bareHost(hostname: string): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}

function guardedLookup(
  permits: AddressGuard,
  trusts: (host: string) => boolean,
  resolve: Resolve,
): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, found) => {
      if (error !== null) {
        callback(error, []);
        return;
      }
      const isTrusted = trusts(hostname);
      const addresses = found.filter(({ address }) => isTrusted || permits(address));
      const [first] = addresses;
      if (first === undefined) callback(notPermitted(describe(hostname, found)), []);
      else if (options.all === true) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };
}

function notPermitted(what: string): FetchError {
  return new FetchError(fail('guard', what));
}

function describe(hostname: string, found: LookupAddress[]): string {
  const [first] = found;
  return first === undefined ? hostname : `${hostname} (${first.address})`;
}
