/** A site of lists on the loopback. */
import { createHash } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { after } from 'node:test';
import { TestSite } from '../support/site.js';
import { base } from './support.js';

export type SiteAnswer = (request: IncomingMessage, response: ServerResponse) => void;

/** What is there by path, and what has been asked for. */
export class Lists {
  readonly site: TestSite;
  readonly asked: string[] = [];
  readonly documents = new Map<string, string | Buffer | SiteAnswer>();
  /** Etags are given, and believed. */
  validates = false;

  private constructor(site: TestSite) {
    this.site = site;
    site.answer = (request, response) => this.#answer(request, response);
  }

  static async listen(): Promise<Lists> {
    const lists = new Lists(await TestSite.listen());
    after(() => lists.site.close());
    return lists;
  }

  get url(): string {
    return this.site.url;
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const path = request.url ?? '';
    this.asked.push(path);
    const document = this.documents.get(path);
    if (document === undefined) return void response.writeHead(404).end('no');
    if (typeof document === 'function') return document(request, response);
    const etag = `"${createHash('md5').update(document).digest('hex')}"`;
    if (this.validates && request.headers['if-none-match'] === etag)
      return void response.writeHead(304).end();
    response.writeHead(200, this.validates ? { etag } : {}).end(document);
  }
}

export const urlset = (...entries: string[]) => `<urlset>${entries.join('')}</urlset>`;
export const page = (n: number | string, lastmod?: string) =>
  `<url><loc>http://pages.example/${n}</loc>${lastmod === undefined ? '' : `<lastmod>${lastmod}</lastmod>`}</url>`;
export const index = (...urls: string[]) =>
  `<sitemapindex>${urls.map(url => `<sitemap><loc>${url}</loc></sitemap>`).join('')}</sitemapindex>`;
export const line = (n: number | string, more = '') =>
  `<url curl="http://pages.example/${n}" mimetype="*/*"${more}/>`;
export const PARTIAL_END = '<?lcc end set="partial"?>\n';
export const freshDir = () => mkdtempSync(join(base, 'state-'));
