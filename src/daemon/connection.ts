/** A socket with its peer's name. */
import type { Socket } from 'node:net';
import type { Connection } from './types.js';

/** An address as it is written everywhere; '' of a Unix socket. */
export function plainAddress(address = ''): string {
  return address.replace(/^::ffff:(?=\d+\.)/, '');
}

export function describe(socket: Socket): Connection {
  const address = plainAddress(socket.remoteAddress);
  return { socket, address, peer: address === '' ? 'unix' : `${address}:${socket.remotePort}` };
}
