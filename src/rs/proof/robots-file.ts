/**
 * The look if robots.txt of a site forbids that it is cached (RFC 9309): so the owner of a site on which
 * others may put files keeps them from registering it.
 *
 *     2xx ──▶ its rules, those for lccbot by name     4xx, but 429 ──▶ there is none, nothing is forbidden
 *     429, 5xx, no answer, a redirect that is not followed ──▶ nobody knows: later
 */
import { isNoRobots } from '../../robots/answer.js';
import { MAX_ROBOTS_BYTES, readRobots } from '../../robots/robots-txt.js';
import type { ProofCode } from './reasons.js';
import type { SiteFetcher } from './site-fetcher.js';

const ROBOT = 'lccbot';

/** @param ports of sites, where redirects may lead on any host */
export async function robotsForbid(
  fetcher: SiteFetcher,
  prefix: string,
  ports: readonly string[],
): Promise<ProofCode | undefined> {
  const url = new URL('/robots.txt', prefix).href;
  const answer = await fetcher.getBeginning(url, MAX_ROBOTS_BYTES, ports);
  if (answer.kind === 'failed') {
    const { failure } = answer;
    const status = failure.kind === 'status' ? failure.status : 0;
    return isNoRobots(status) ? undefined : 'robots-later';
  }
  const rules = readRobots(answer.bytes, ROBOT);
  return rules.isNamed && !rules.permits(prefix) ? 'robots' : undefined;
}
