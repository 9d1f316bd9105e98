/**
 * Machines of one LCC know each other by certificates of its own authority (`net.peer_ca`): who connects
 * shows one, and believes that authority alone. What comes from a machine is believed, so a listener for
 * machines beyond loopback is refused without it. Unix sockets have the modes of their files, and loopback is
 * for the users of one machine.
 */
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { Settings } from '../config/settings/index.js';
import { readAuthorities } from '../lib/authorities.js';
import { readIdentity, type Identity } from '../lib/certificates.js';
import type { Clock } from '../lib/clock.js';
import type { Trust } from '../lib/dial.js';
import { formatEndpoint, type Endpoint } from '../lib/endpoint.js';
import { LccError } from '../lib/errors.js';
import type { Log } from '../lib/log.js';
import { isLoopback } from '../lib/loopback.js';
import { describe } from './connection.js';
import { TurnedAway } from './turned-away.js';
import type { Entrance } from './types.js';

/** Milliseconds after which the log hears of one address again. */
const TOLD_AGAIN_MS = 3_600_000;
/** Addresses remembered for that. */
const MAX_TOLD = 1000;

/** Called whenever a certificate was read that is shown to others. @param untilMs when it ends, since 1970 */
export type Certified = (path: string, untilMs: number) => void;

/**
 * True if anybody could connect to a listener for machines, as the operator has allowed.
 * @throws LccError `config` when that is not allowed
 */
export function mayBeStrangers(endpoint: Endpoint, net: Settings['net']): boolean {
  if (endpoint.kind === 'unix' || isLoopback(endpoint.host)) return false;
  if (endpoint.kind === 'tls' && net.peerCa !== '') return false;
  if (net.allowStrangers) return true;
  const where = formatEndpoint(endpoint).replace(/^tls:/, '');
  const plain = endpoint.kind === 'tcp' ? 'net.allow_plain = true and ' : '';
  throw new LccError(
    'config',
    `${where}: anybody could connect as a machine of this LCC; use tls:${where} and set net.peer_ca, or set ${plain}net.allow_strangers = true`,
  );
}

/** The certificate that this machine shows to others, and the authorities that it believes. @throws LccError
 * `config` */
export function peerIdentity(net: Settings['net']): { identity: Identity; ca: Buffer } {
  const named = (name: 'cert' | 'key') => {
    const [own, shown] = name === 'cert' ? [net.peerCert, net.tlsCert] : [net.peerKey, net.tlsKey];
    return own === ''
      ? { setting: `net.tls_${name}`, path: shown }
      : { setting: `net.peer_${name}`, path: own };
  };
  const [cert, key] = [named('cert'), named('key')];
  if (cert.path === '' || key.path === '')
    throw new LccError('config', 'net.peer_ca needs net.tls_cert and net.tls_key in lcc.toml');
  return {
    identity: readIdentity(cert.path, key.path, { cert: cert.setting, key: key.setting }),
    ca: readAuthorities('net.peer_ca', net.peerCa),
  };
}

/** The certificates of a `tls:` connection to another machine, ours and those believed; files are read each
 * time. @throws LccError `config` */
export function trustOf(net: Settings['net'], certified?: Certified): Trust {
  if (net.peerCa !== '') {
    const { identity, ca } = peerIdentity(net);
    certified?.(identity.path, identity.validToMs);
    return { ca, cert: identity.cert, key: identity.key };
  }
  const ca = net.tlsCa;
  return ca === '' ? {} : { ca: readAuthorities('net.tls_ca', ca) };
}

/** Hands on connections that have shown a certificate of the authority, and tells the others why not. */
export function knownMachines(
  { say }: Entrance,
  { log, clock }: { log: Log; clock: Clock },
  accept: (socket: Socket) => void,
): (socket: Socket) => void {
  const turnedAway = new TurnedAway({ clock });
  const told = new Map<string, number>();
  return socket => {
    const why = socket instanceof TLSSocket ? strangeness(socket, clock.nowMs()) : 'it speaks no TLS';
    if (why === undefined) return accept(socket);
    socket.on('error', () => undefined);
    const connection = describe(socket);
    const { address, peer } = connection;
    const nowMs = clock.monotonicMs();
    if (nowMs - (told.get(address) ?? -Infinity) >= TOLD_AGAIN_MS) {
      if (told.size >= MAX_TOLD) told.clear();
      told.set(address, nowMs);
      log.warn('machine refused', { peer, reason: why });
    }
    turnedAway.turnAway(
      connection,
      say(
        new LccError('auth.refused', `${why}; machines of this LCC show one of its authority (net.peer_ca)`),
      ),
    );
  };
}

const EXPIRED = 'certificate refused (it has expired)';

/** The fault of the certificate of a peer. */
function strangeness(socket: TLSSocket, nowMs: number): string | undefined {
  if (socket.authorized) {
    // A session that is resumed was checked when it began.
    const shown = socket.isSessionReused() ? socket.getPeerX509Certificate() : undefined;
    return shown !== undefined && Date.parse(shown.validTo) < nowMs ? EXPIRED : undefined;
  }
  const { subject } = socket.getPeerCertificate();
  // Node types it as an Error, and has the code of OpenSSL there.
  const code = String(socket.authorizationError);
  if ((subject as unknown) === undefined) return 'no certificate';
  return code === 'CERT_HAS_EXPIRED' ? EXPIRED : `certificate refused (${code})`;
}
