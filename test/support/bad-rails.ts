/** Rails that do what they must not, until they are mended: then they are servers of files as others are. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { Certificate } from '../fetch/authority.js';
import { freePort } from './free-port.js';

/** A number: that status; `redirect` names another server. */
export type Fault = 'refuses' | 'resets' | 'ends' | 'hangs' | 'garbage' | 'stranger' | 'redirect' | number;

export interface FaultDetails {
  /** Of answers with a status. */
  headers?: Record<string, string>;
  /** Of one whose certificate is wrong: that, and the right one. */
  certificates?: { wrong: Certificate; right: Certificate };
}

export class BadRail {
  readonly fault: Fault;
  /** Content by path. */
  readonly pages = new Map<string, string>();
  /** When requests that change something came, and their methods with the paths. */
  readonly asked: { atMs: number; line: string; authorization: string | undefined }[] = [];
  url = '';
  #isMended = false;
  #port = 0;
  readonly #details: FaultDetails;
  readonly #server: Server | TlsServer;
  readonly #sockets = new Set<Socket>();

  private constructor(fault: Fault, details: FaultDetails) {
    this.fault = fault;
    this.#details = details;
    const answer = (request: IncomingMessage, response: ServerResponse) => this.#answer(request, response);
    const { certificates } = details;
    this.#server =
      certificates === undefined ? createServer(answer) : createTlsServer(certificates.wrong, answer);
    this.#server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
    });
  }

  static async start(fault: Fault, details: FaultDetails = {}): Promise<BadRail> {
    const rail = new BadRail(fault, details);
    rail.#port = await freePort();
    rail.url = `${details.certificates === undefined ? 'http' : 'https'}://localhost:${rail.#port}/`;
    if (fault !== 'refuses') await rail.#listen();
    return rail;
  }

  /** From now on it does what it is asked. */
  async mend(): Promise<void> {
    this.#isMended = true;
    const { certificates } = this.#details;
    if (certificates !== undefined) (this.#server as TlsServer).setSecureContext(certificates.right);
    for (const socket of this.#sockets) socket.destroy();
    if (!this.#server.listening) await this.#listen();
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }

  #listen(): Promise<void> {
    return new Promise(resolve => this.#server.listen(this.#port, 'localhost', resolve));
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { method = '', url = '' } = request;
    const { authorization } = request.headers;
    this.asked.push({ atMs: performance.now(), line: `${method} ${url}`, authorization });
    let body = '';
    request.setEncoding('utf8').on('data', (piece: string) => (body += piece));
    request.on('end', () => {
      if (this.#isMended) return this.#do(method, url, body, response);
      const { socket } = request;
      switch (this.fault) {
        case 'hangs':
          return;
        case 'resets':
          return void socket.resetAndDestroy();
        case 'ends':
          return void socket.end();
        case 'garbage':
          return void socket.end('\x16\x03\x01 this is no HTTP\r\n\r\n');
        case 'redirect':
          return void response.writeHead(302, this.#details.headers).end();
        case 'refuses':
        case 'stranger':
          return void response.writeHead(500).end();
        default:
          response.writeHead(this.fault, this.#details.headers).end('<html>something went wrong</html>');
      }
    });
  }

  #do(method: string, url: string, body: string, response: ServerResponse): void {
    const isThere = this.pages.has(url);
    if (method === 'DELETE') {
      this.pages.delete(url);
      response.writeHead(isThere ? 204 : 404).end();
    } else if (method === 'PUT') {
      this.pages.set(url, body);
      response.writeHead(isThere ? 204 : 201).end();
    } else response.writeHead(405).end();
  }
}
