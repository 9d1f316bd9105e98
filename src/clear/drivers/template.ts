/**
 * Anything that is cleared over HTTP, a CDN say, by a template: method, path, headers, body, statuses that
 * mean done, pages in one request, requests a second.
 *
 *     {"clear": {"method": "POST", "path": "/purge", "headers": {"content-type": "application/json"},
 *                "body": "{\"files\": {pages}}", "pages": 100, "done": [200]},
 *      "site": "https://www.example.org", "per_s": 10, "burst": 20}
 *
 * `{url}`, `{key}` and `{page}` stand for a page's path, content id and address; `{urls}`, `{keys}` and
 * `{pages}` for those of all pages of the request, in the body as a JSON array, elsewhere with spaces
 * between.
 */
import { numberOption, objectOption, onlyOptions, textOption, wrong } from './options.js';
import type { Driver, DriverRail, PageToClear, Way } from './types.js';

const MAX_PAGES = 1000;
/** Most characters of the names of pages in one request: headers of many servers end at 8 KB. */
const MAX_CHARS = 7500;
const METHOD = /^[A-Z]{1,20}$/;
const PLACES = /\{(urls?|keys?|pages?)\}/g;
const WAY_OPTIONS = ['method', 'path', 'headers', 'body', 'pages', 'done'];

export function templateDriver(rail: DriverRail): Driver {
  onlyOptions(rail, ['clear', 'renew', 'site', 'per_s', 'burst']);
  const clear = objectOption(rail, 'clear');
  if (clear === undefined)
    throw wrong(rail.name, 'clear', 'what is sent to clear a page: {"method": …, "path": …}');
  const renew = objectOption(rail, 'renew');
  const site = textOption(rail, 'site', '');
  const perS = numberOption(rail, 'per_s', { otherwise: 0, min: 0, max: 100_000 });
  const burst = numberOption(rail, 'burst', { otherwise: Math.max(1, perS), min: 1, max: 100_000 });
  return {
    clear: wayOf({ ...rail, opts: clear }, site),
    renew: renew && wayOf({ ...rail, opts: renew }, site),
    makesFolders: false,
    ...(perS > 0 && { rate: { perS, burst } }),
  };
}

function wayOf(rail: DriverRail, site: string): Way {
  const { name, opts } = rail;
  onlyOptions(rail, WAY_OPTIONS);
  const method = textOption(rail, 'method', 'PURGE');
  if (!METHOD.test(method)) throw wrong(name, 'method', 'a method in capital letters');
  const path = textOption(rail, 'path', '{url}');
  if (!/^(?:\/|\{url\})/.test(path)) throw wrong(name, 'path', 'a path that begins with a slash, or {url}');
  const headers = Object.entries(objectOption(rail, 'headers') ?? {}).flatMap(([key, value]) => {
    if (!/^[\w-]+$/.test(key) || typeof value !== 'string' || /[\r\n\0]/.test(value))
      throw wrong(name, 'headers', 'names and values of headers, each on one line');
    return [key.toLowerCase(), value];
  });
  const body = opts['body'];
  if (body !== undefined && typeof body !== 'string') throw wrong(name, 'body', 'a text');
  const pages = numberOption(rail, 'pages', { otherwise: 1, min: 1, max: MAX_PAGES });
  const done = opts['done'];
  if (done !== undefined && !(Array.isArray(done) && done.every(Number.isInteger)))
    throw wrong(name, 'done', 'a list of statuses');
  const fill = (template: string, all: readonly PageToClear[], json: boolean) =>
    template.replace(PLACES, (_place, word: string) => {
      const texts = all.map(page => textOf(page, word, site));
      if (!word.endsWith('s')) return texts[0] ?? '';
      return json ? JSON.stringify(texts) : [...new Set(texts)].join(' ');
    });
  return {
    ask: all => ({
      method: method as Uppercase<string>,
      path: fill(path, all, false),
      headers: headers.map((text, i) => (i % 2 === 1 ? fill(text, all, false) : text)),
      ...(body !== undefined && { body: { bytes: Buffer.from(fill(body, all, true)) } }),
      verb: 'remove',
      ...(done !== undefined && { done: done as number[] }),
    }),
    most: { pages, chars: MAX_CHARS },
    charsOf: page => Math.max(page.url.length + site.length, encodeURI(page.contentId).length) + 3,
  };
}

function textOf({ url, contentId }: PageToClear, word: string, site: string): string {
  if (word.startsWith('key')) return encodeURI(contentId);
  return word.startsWith('page') ? site + url : url;
}
