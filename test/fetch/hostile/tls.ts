/** Servers with which no secure connection can be made, and what each must lead to. */
import { createServer as createHttpsServer } from 'node:https';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { Authority } from '../authority.js';
import { drip } from '../support.js';

export interface TlsCase {
  name: string;
  /** @param authority the one the robot knows */
  make: (authority: Authority) => Server;
  expect: number;
}

/** A record that announces 16 KB of a server's hello. */
export const BEGUN_HELLO = Buffer.from('1603034000020000', 'hex');

const page = ({ key, cert }: { key: Buffer; cert: Buffer }) =>
  createHttpsServer({ key, cert }, (_request, response) => void response.end('secret page'));
const raw = (serve: (socket: Socket) => void) =>
  createServer(socket => {
    socket.on('error', () => undefined);
    serve(socket);
  });

export const TLS_CASES: TlsCase[] = [
  { name: 'an expired certificate', make: authority => page(authority.issue('localhost', -1)), expect: 604 },
  {
    name: 'the certificate of another host',
    make: authority => page(authority.issue('example.org')),
    expect: 604,
  },
  { name: 'a certificate it signed itself', make: authority => page(authority.selfSigned()), expect: 604 },
  {
    name: 'a certificate of an authority nobody knows',
    make: () => page(new Authority().issue()),
    expect: 604,
  },
  { name: 'plain text', make: () => raw(socket => void socket.end('HTTP/1.1 400 Bad\r\n\r\n')), expect: 604 },
  { name: 'a handshake that is never begun', make: () => raw(() => undefined), expect: 603 },
  {
    name: 'a handshake that drips',
    make: () =>
      raw(socket => {
        socket.write(BEGUN_HELLO);
        drip(socket, 'x');
      }),
    expect: 603,
  },
];

/** Serves on loopback. */
export async function listen(server: Server): Promise<string> {
  server.unref();
  await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve));
  return `https://localhost:${(server.address() as AddressInfo).port}/`;
}
