/** A look at the file of a key: at most 1 KB of a host that is a provider's, over the guard of fetches. */
import type { KeyName } from '../../db/rs/push-keys.js';
import type { RegistrationReason } from '../../db/rs/registrations.js';
import { familyOf } from '../../fetch/failure.js';
import { MAX_FILE_BYTES, permittedUrls, textOf } from '../proof/prove.js';
import { codeOfFailure } from '../proof/reasons.js';
import { SiteFetcher, type SiteAnswer, type SiteFetcherOptions } from '../proof/site-fetcher.js';
import { siteOf, type SiteRules } from '../site.js';

/** The file has the key; or there is none, or another text; `unknown`: the site does not say. */
export type KeyVerdict = 'good' | 'bad' | 'unknown';

export interface KeyFileOptions {
  fetch: SiteFetcherOptions;
  site: SiteRules;
}

/** Failures after which the file may be there all the same. */
const LATER: readonly string[] = ['slow', 'broken', 'try-later'];

/** Why the file of a key is never asked for: no port or address of a site. */
export function keyProblem(name: KeyName, rules: SiteRules): RegistrationReason | undefined {
  const sites = urlsOf(name).map(url => siteOf(new URL('/', url).href, rules));
  const problems = sites.filter(site => 'code' in site);
  return problems.length === sites.length ? problems[0] : undefined;
}

function urlsOf({ host, key, location }: KeyName): string[] {
  return location === '' ? [`https://${host}/${key}.txt`, `http://${host}/${key}.txt`] : [location];
}

/** Never rejects but for a bug. */
export async function lookAtKey(name: KeyName, options: KeyFileOptions): Promise<KeyVerdict> {
  const verdicts: (KeyVerdict | 'away')[] = [];
  for (const url of urlsOf(name)) {
    const verdict = await lookAt(url, name.key, options);
    if (verdict === 'good') return verdict;
    verdicts.push(verdict);
  }
  if (verdicts.includes('unknown')) return 'unknown';
  return verdicts.includes('bad') ? 'bad' : 'unknown';
}

async function lookAt(url: string, key: string, options: KeyFileOptions): Promise<KeyVerdict | 'away'> {
  const site = siteOf(new URL('/', url).href, options.site);
  if ('code' in site) return 'bad';
  const fetcher = new SiteFetcher(site, options.fetch);
  try {
    const places = permittedUrls(url, options.site.ports);
    return verdictOf(await fetcher.get(url, places, MAX_FILE_BYTES), key, places);
  } finally {
    fetcher.close();
  }
}

function verdictOf(answer: SiteAnswer, key: string, places: readonly string[]): KeyVerdict | 'away' {
  if (answer.kind === 'content') {
    const { status, bytes, url } = answer;
    return status === 200 && places.includes(url) && textOf(bytes).trim() === key ? 'good' : 'bad';
  }
  const { failure } = answer;
  if (failure.kind !== 'status' && familyOf(failure.kind) === 'guard') return 'bad';
  const code = codeOfFailure(failure);
  if (code === 'unreachable' || code === 'tls') return 'away';
  return LATER.includes(code) ? 'unknown' : 'bad';
}
