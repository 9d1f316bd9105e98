/**
 * The peer of a connection that a front end passes on: its first line names it, in version 1 of the PROXY
 * protocol. Believed of machines of this LCC alone.
 *
 *     PROXY TCP4 192.0.2.7 192.0.2.1 51234 9000       PROXY UNKNOWN, of one over a Unix socket
 *
 * Instead of a peer the line may name a door for machines themselves.
 */
import { isIP } from 'node:net';
import type { Clock } from '../lib/clock.js';
import { plainAddress } from './connection.js';
import type { Connection } from './types.js';

const MAX_LINE_BYTES = 107;
const MAX_PORT = 65_535;

/** The line about a connection of ours. */
export function proxyLine({ socket, address }: Connection): string {
  const family = isIP(address);
  const { localPort = 0, remotePort = 0 } = socket;
  const local = plainAddress(socket.localAddress);
  if (family === 0 || isIP(local) !== family) return 'PROXY UNKNOWN\r\n';
  return `PROXY TCP${family} ${address} ${local} ${remotePort} ${localPort}\r\n`;
}

interface ProxiedOptions {
  clock: Clock;
  limitMs: number;
  /** By their lines. */
  doors: ReadonlyMap<string, (connection: Connection) => void>;
}

/**
 * Hands a connection on as that of the peer that its first line names, or to a door, with all that comes
 * after the line. One that says nothing of the kind within `limitMs` is closed: machines say it at once.
 */
export function whenProxied(
  connection: Connection,
  { clock, limitMs, doors }: ProxiedOptions,
  accept: (connection: Connection) => void,
): void {
  const { socket } = connection;
  let head = Buffer.alloc(0);
  const cancel = clock.after(limitMs, () => void socket.destroy());
  const read = () => {
    const chunk = socket.read() as Buffer | null;
    if (chunk === null) return;
    head = Buffer.concat([head, chunk]);
    const end = head.subarray(0, MAX_LINE_BYTES).indexOf('\r\n');
    if (end < 0 && head.length < MAX_LINE_BYTES) return;
    socket.off('readable', read);
    cancel();
    const line = head.toString('latin1', 0, Math.max(0, end));
    const door = doors.get(line);
    const from = peerOf(line);
    if (door === undefined && from === undefined) return void socket.destroy();
    if (head.length > end + 2) socket.unshift(head.subarray(end + 2));
    if (door !== undefined) door(connection);
    else if (from !== undefined) accept({ socket, ...from });
  };
  socket.on('readable', read);
  socket.once('close', cancel);
}

/** The peer that a line names; undefined: it is not of the protocol. */
function peerOf(line: string): Omit<Connection, 'socket'> | undefined {
  if (line === 'PROXY UNKNOWN') return { address: '', peer: 'unix' };
  const [, family, address = '', local = '', port] =
    /^PROXY TCP([46]) (\S+) (\S+) (\d{1,5}) \d{1,5}$/.exec(line) ?? [];
  if (isIP(address) !== Number(family) || isIP(local) !== Number(family) || Number(port) > MAX_PORT)
    return undefined;
  return { address, peer: `${address}:${Number(port)}` };
}
