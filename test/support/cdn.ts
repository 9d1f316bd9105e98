/**
 * The ways to purge that Fastly and Cloudflare document, over a cache that is a map: logins, limits of a request, answers. The
 * sources are their public references of the purge API.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';

export const FASTLY_TOKEN = 'fastly-token';
export const CLOUDFLARE_TOKEN = 'cloudflare-token';
export const SERVICE = 'SU1Z0isxPaozGVKXdv0eY';
export const ZONE = '023e105f4ecef8ad9ca31a8372d0c353';
const MAX_KEYS = 256;
const MAX_FILES = 30;

interface Page {
  keys: readonly string[];
  isStale: boolean;
}

export class Cdn {
  /** What is cached, by its address. */
  readonly pages = new Map<string, Page>();
  /** Each purge that was done: how many keys or addresses it had. */
  readonly purges: number[] = [];
  /** This number of the next requests are too many. */
  tooMany = 0;

  readonly answer: RequestListener = (request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (piece: string) => (text += piece));
    request.on('end', () => {
      if (this.tooMany > 0) {
        this.tooMany--;
        response.setHeader('retry-after', '1');
        return send(response, 429, { msg: 'Too many requests' });
      }
      if (request.method === 'PURGE') return this.#purgePage(request, response);
      if (request.url === `/service/${SERVICE}/purge`) return this.#purgeKeys(request, response, text);
      if (request.url === `/client/v4/zones/${ZONE}/purge_cache`)
        return this.#purgeFiles(request, response, text);
      send(response, 404, { msg: 'Record not found' });
    });
  };

  /** Fastly: PURGE of an address, at a service that asks for a login. */
  #purgePage(request: IncomingMessage, response: ServerResponse): void {
    if (request.headers['fastly-key'] !== FASTLY_TOKEN)
      return send(response, 401, { msg: 'Provided credentials are missing or invalid' });
    const address = `https://${request.headers.host ?? ''}${request.url ?? ''}`;
    this.#purge(request, ([cached]) => cached === address);
    this.purges.push(1);
    send(response, 200, { status: 'ok', id: '108-1391560174-974124' });
  }

  /** Fastly: keys in a header, or in a body of JSON. */
  #purgeKeys(request: IncomingMessage, response: ServerResponse, text: string): void {
    if (request.method !== 'POST') return send(response, 405, { msg: 'Method not allowed' });
    if (request.headers['fastly-key'] !== FASTLY_TOKEN)
      return send(response, 401, { msg: 'Provided credentials are missing or invalid' });
    const header = request.headers['surrogate-key'];
    const keys =
      typeof header === 'string'
        ? header.split(' ')
        : text === ''
          ? []
          : (JSON.parse(text) as { surrogate_keys: string[] }).surrogate_keys;
    if (keys.length === 0 || keys.length > MAX_KEYS) return send(response, 400, { msg: 'Bad request' });
    this.#purge(request, ([, page]) => page.keys.some(key => keys.includes(key)));
    this.purges.push(keys.length);
    send(response, 200, Object.fromEntries(keys.map((key, i) => [key, `108-1391560174-${i}`])));
  }

  /** Cloudflare: addresses in a body of JSON. */
  #purgeFiles(request: IncomingMessage, response: ServerResponse, text: string): void {
    const refuse = (status: number, code: number, message: string) =>
      send(response, status, { success: false, errors: [{ code, message }], messages: [], result: null });
    if (request.method !== 'POST') return refuse(405, 10405, 'Method not allowed');
    if (request.headers.authorization !== `Bearer ${CLOUDFLARE_TOKEN}`)
      return refuse(403, 10000, 'Authentication error');
    if (request.headers['content-type'] !== 'application/json')
      return refuse(400, 6003, 'Invalid request headers');
    const { files } = JSON.parse(text) as { files?: string[] };
    if (files === undefined || files.length === 0 || files.length > MAX_FILES)
      return refuse(400, 1134, 'Unable to purge: the number of files is wrong');
    this.#purge(request, ([cached]) => files.includes(cached));
    this.purges.push(files.length);
    send(response, 200, { success: true, errors: [], messages: [], result: { id: ZONE } });
  }

  #purge(request: IncomingMessage, isMeant: (page: [string, Page]) => boolean): void {
    const isSoft = request.headers['fastly-soft-purge'] === '1';
    for (const page of [...this.pages].filter(isMeant))
      if (isSoft) page[1].isStale = true;
      else this.pages.delete(page[0]);
  }
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}
