/** A request of IndexNow as it is written: a host, a key, urls. */
import { ambiguityOf } from '../../wire/url-ambiguity.js';
import { canonicalUrl } from '../../wire/canonical-url.js';
import type { KeyName } from '../../db/rs/push-keys.js';
import { portOf } from '../site.js';
import { RsRequestRefused } from '../refusal.js';

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

/** Reads a GET. @throws RsRequestRefused 400, 422 */
export function requestOfQuery(query: URLSearchParams): IndexNowRequest {
  const named = (name: string) => {
    const [value, ...more] = [...query].flatMap(([key, text]) => (key.toLowerCase() === name ? text : []));
    if (more.length > 0) throw invalid(`${name} is there twice`, `POST several urls: ${MALFORMED}`);
    return value;
  };
  const [url, key, keyLocation] = ['url', 'key', 'keylocation'].map(named);
  if (url === undefined || url === '' || key === undefined)
    throw invalid('url or key is missing', 'ask for /indexnow?url=URL&key=KEY');
  if (!/^https?:\/\//i.test(url.trim()) || authorityOf(url) === undefined)
    throw unusable(`${shown(url)} is no usable url`);
  return requestOf({ host: url, key, keyLocation, urlList: [url] });
}

/** Reads a POST. @throws RsRequestRefused 400, 413, 422 */
export function requestOfBody(body: Uint8Array): IndexNowRequest {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    throw invalid('the body is no JSON in UTF-8');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalid('the body is no JSON object');
  const { host, key, keyLocation, urlList } = value as Record<string, unknown>;
  return requestOf({ host, key, keyLocation: keyLocation ?? undefined, urlList });
}

function requestOf({ host, key, keyLocation, urlList }: Record<string, unknown>): IndexNowRequest {
  if (typeof host !== 'string' || typeof key !== 'string') throw invalid('host or key is missing or no text');
  if (keyLocation !== undefined && typeof keyLocation !== 'string')
    throw invalid('keyLocation is no text', 'give the url of the key file');
  if (!Array.isArray(urlList) || urlList.length === 0 || !urlList.every(url => typeof url === 'string'))
    throw invalid('urlList is no list of urls, or empty');
  if (urlList.length > MAX_URLS)
    throw new RsRequestRefused(
      413,
      'TooLarge',
      `more than ${MAX_URLS} urls`,
      'send them in several requests',
    );
  if (!KEY.test(key)) throw unusable('the key is not 8 to 128 of A-Z, a-z, 0-9 and -', 'InvalidKey');
  const at = authorityOf(host);
  if (at === undefined) throw unusable('host is no name of a host');
  const location = keyLocation === undefined || keyLocation === '' ? undefined : urlOf(keyLocation);
  if (keyLocation !== undefined && keyLocation !== '') {
    if (location === undefined || !isAt(location, at.host) || location.search !== '' || location.hash !== '')
      throw unusable('keyLocation is no url of a file at host, without a query', 'InvalidKeyLocation');
  }
  const directory = location?.pathname.replace(/[^/]*$/, '') ?? '/';
  const urls = new Set(urlList.map(url => placed(url, at.host, directory)));
  const name = { host: at.host, key, location: location?.href ?? '' };
  return { name, hostname: at.hostname, urls: [...urls], sent: urlList.length };
}

/** @throws RsRequestRefused 422 */
function placed(text: string, host: string, directory: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const curl = canonicalUrl(text)?.curl;
  if (url === undefined || curl === undefined || text.length > MAX_URL_LENGTH)
    throw unusable(`${shown(text)} is no usable url`);
  if (!isAt(url, host)) throw unusable(`${shown(text)} is not of ${host}`);
  if (!url.pathname.startsWith(directory))
    throw unusable(`${shown(text)} lies outside of ${directory}, where the key file is`);
  return curl;
}

function invalid(what: string, advice = MALFORMED): RsRequestRefused {
  return new RsRequestRefused(400, 'InvalidRequest', what, advice);
}

function unusable(what: string, code = 'InvalidUrls'): RsRequestRefused {
  return new RsRequestRefused(422, code, what, 'nothing was taken');
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
