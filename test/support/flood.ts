/** A stranger over a real connection that says the same as long as it is listened to. */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { boundReadAhead } from '../../src/daemon/listeners.js';

/** What the system may take of a peer that has not said who it is: limits.md, where its hello is the default. */
export const STRANGER_BYTES = 256 * 1024;

/** @returns what it was told until it was cut off, and how much of it was read */
export async function flooded(serve: (socket: Socket) => void, text = '<!-- x -->\n') {
  boundReadAhead();
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const peer = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [socket] = (await once(server, 'connection')) as [Socket];
  socket.on('error', () => undefined);
  serve(socket);
  let said = '';
  const block = Buffer.from(text.repeat(Math.ceil(10_000 / text.length)));
  const write = () => {
    while (!peer.destroyed && peer.write(block));
  };
  peer.setEncoding('utf8').on('data', (more: string) => void (said += more));
  peer.on('drain', write).on('error', () => undefined);
  write();
  await new Promise<void>(resolve => void peer.once('close', () => resolve()));
  server.close();
  return { said, readBytes: socket.bytesRead };
}
