/** A site on the loopback with an answer that a test may change at any time. */
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export class TestSite {
  answer: RequestListener;
  readonly #server: Server;

  private constructor(answer: RequestListener) {
    this.answer = answer;
    this.#server = createServer((request, response) => this.answer(request, response));
  }

  static async listen(answer: RequestListener): Promise<TestSite> {
    const site = new TestSite(answer);
    site.#server.listen(0, '127.0.0.1');
    await once(site.#server, 'listening');
    return site;
  }

  urlOf(path: string): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}${path}`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}
