/** A socket with its peer's name. */
import type { Socket } from 'node:net';
import type { Connection } from './types.js';

export function describe(socket: Socket): Connection {
  const address = socket.remoteAddress?.replace(/^::ffff:(?=\d+\.)/, '') ?? '';
  return { socket, address, peer: address === '' ? 'unix' : `${address}:${socket.remotePort}` };
}
