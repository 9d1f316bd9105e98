/** A site on the loopback: pages that a test changes, or an answer of its own. */
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export class TestSite {
  /** Content by path, served unless `answer` is another; a change of the map is a change of the site. */
  readonly pages = new Map<string, string>();
  /** Whether pages are answered at all. */
  answers = true;
  answer: RequestListener;
  readonly #server: Server;

  private constructor(answer?: RequestListener) {
    this.answer = answer ?? ((request, response) => this.#serve(request, response));
    this.#server = createServer((request, response) => this.answer(request, response));
  }

  static async listen(answer?: RequestListener): Promise<TestSite> {
    const site = new TestSite(answer);
    site.#server.listen(0, '127.0.0.1');
    await once(site.#server, 'listening');
    return site;
  }

  /** Without a slash at its end. */
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  urlOf(path: string): string {
    return this.url + path;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  #serve(...[request, response]: Parameters<RequestListener>): void {
    if (!this.answers) return;
    const page = this.pages.get(request.url ?? '');
    response.writeHead(page === undefined ? 404 : 200, { 'content-type': 'text/html' });
    response.end(page);
  }
}
