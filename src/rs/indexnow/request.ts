/** A request of IndexNow as it is written: a host, a key, urls. */
import { ambiguityOf } from '../../wire/ambiguity.js';
import { canonicalUrl } from '../../wire/canonical-url.js';
import type { KeyName } from '../../db/rs/push-keys.js';
import { portOf } from '../site.js';
import { IndexNowRefused } from './refused.js';

export interface IndexNowRequest {
  name: KeyName;
  /** The name in `host`, without a port. */
  hostname: string;
  /** Canonical, each once. */
  urls: readonly string[];
  /** How many were sent. */
  sent: number;
}

export const MAX_URLS = 10_000;
const MAX_URL_LENGTH = 2048;
const KEY = /^[A-Za-z0-9-]{8,128}$/;
const MALFORMED = 'give {"host":"www.example.org","key":"…","urlList":["https://www.example.org/page"]}';

/** Reads a GET. @throws IndexNowRefused 400, 422 */
export function requestOfQuery(query: URLSearchParams): IndexNowRequest {
  const named = (name: string) => {
    const [value, ...more] = [...query].flatMap(([key, text]) => (key.toLowerCase() === name ? text : []));
    if (more.length > 0)
      throw new IndexNowRefused(
        400,
        'InvalidRequest',
        `${name} is there twice; POST several urls: ${MALFORMED}`,
      );
    return value;
  };
  const [url, key, keyLocation] = ['url', 'key', 'keylocation'].map(named);
  if (url === undefined || url === '' || key === undefined)
    throw new IndexNowRefused(
      400,
      'InvalidRequest',
      'url or key is missing; ask for /indexnow?url=URL&key=KEY',
    );
  if (!/^https?:\/\//i.test(url.trim()) || authorityOf(url) === undefined)
    throw new IndexNowRefused(422, 'InvalidUrls', `${shown(url)} is no usable url; nothing was taken`);
  return requestOf({ host: url, key, keyLocation, urlList: [url] });
}

/** Reads a POST. @throws IndexNowRefused 400, 413, 422 */
export function requestOfBody(body: Uint8Array): IndexNowRequest {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    throw new IndexNowRefused(400, 'InvalidRequest', `the body is no JSON in UTF-8; ${MALFORMED}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new IndexNowRefused(400, 'InvalidRequest', `the body is no JSON object; ${MALFORMED}`);
  const { host, key, keyLocation, urlList } = value as Record<string, unknown>;
  return requestOf({ host, key, keyLocation: keyLocation ?? undefined, urlList });
}

function requestOf({ host, key, keyLocation, urlList }: Record<string, unknown>): IndexNowRequest {
  if (typeof host !== 'string' || typeof key !== 'string')
    throw new IndexNowRefused(400, 'InvalidRequest', `host or key is missing or no text; ${MALFORMED}`);
  if (keyLocation !== undefined && typeof keyLocation !== 'string')
    throw new IndexNowRefused(400, 'InvalidRequest', 'keyLocation is no text; give the url of the key file');
  if (!Array.isArray(urlList) || urlList.length === 0 || !urlList.every(url => typeof url === 'string'))
    throw new IndexNowRefused(400, 'InvalidRequest', `urlList is no list of urls, or empty; ${MALFORMED}`);
  if (urlList.length > MAX_URLS)
    throw new IndexNowRefused(413, 'TooLarge', `more than ${MAX_URLS} urls; send them in several requests`);
  if (!KEY.test(key))
    throw new IndexNowRefused(422, 'InvalidKey', 'the key is not 8 to 128 of A-Z, a-z, 0-9 and -');
  const at = authorityOf(host);
  if (at === undefined)
    throw new IndexNowRefused(422, 'InvalidUrls', 'host is no name of a host; give www.example.org');
  const location = keyLocation === undefined || keyLocation === '' ? undefined : urlOf(keyLocation);
  if (keyLocation !== undefined && keyLocation !== '') {
    if (location === undefined || !isAt(location, at.host) || location.search !== '' || location.hash !== '')
      throw new IndexNowRefused(
        422,
        'InvalidKeyLocation',
        'keyLocation is no url of a file at host, without a query; nothing was taken',
      );
  }
  const directory = location?.pathname.replace(/[^/]*$/, '') ?? '/';
  const urls = new Set(urlList.map(url => placed(url, at.host, directory)));
  const name = { host: at.host, key, location: location?.href ?? '' };
  return { name, hostname: at.hostname, urls: [...urls], sent: urlList.length };
}

/** @throws IndexNowRefused 422 */
function placed(text: string, host: string, directory: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const curl = canonicalUrl(text)?.curl;
  if (url === undefined || curl === undefined || text.length > MAX_URL_LENGTH)
    throw new IndexNowRefused(422, 'InvalidUrls', `${shown(text)} is no usable url; nothing was taken`);
  if (!isAt(url, host))
    throw new IndexNowRefused(422, 'InvalidUrls', `${shown(text)} is not of ${host}; nothing was taken`);
  if (!url.pathname.startsWith(directory))
    throw new IndexNowRefused(
      422,
      'InvalidUrls',
      `${shown(text)} lies outside of ${directory}, where the key file is; nothing was taken`,
    );
  return curl;
}

/** Undefined where parsers may disagree about it. */
function urlOf(text: string): URL | undefined {
  if (ambiguityOf(text.trim().replace(/[?#].*$/s, '')) !== undefined) return undefined;
  const url = new URL(text.trim());
  return url.username === '' && url.password === '' ? url : undefined;
}

/** Some send a whole url in `host`. */
function authorityOf(host: string): { host: string; hostname: string } | undefined {
  const text = host.trim();
  const url = urlOf(/^https?:\/\//i.test(text) ? text : `http://${text.replace(/[/?#].*$/s, '')}/`);
  return url && { host: url.host, hostname: url.hostname };
}

/** True if a url is of a host, whichever of the two default ports that names. */
function isAt(url: URL, host: string): boolean {
  if (url.host === host) return true;
  return `${url.hostname}:${portOf(url)}` === host;
}

function shown(text: string): string {
  return text.slice(0, 200);
}
