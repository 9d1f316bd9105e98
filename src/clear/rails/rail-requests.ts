/** Parts of a request to a rail: an engine with its certificates, the rail's url, its host, its login. */
import type { RailSetup } from '../../db/clear/rails.js';
import type { FetchEngine } from '../../fetch/engine.js';
import type { FetchJob } from '../../fetch/job.js';
import type { Clock } from '../../lib/clock.js';
import { LccError } from '../../lib/errors.js';
import { isLoopback } from '../../lib/loopback.js';
import { clearEngine, pageOn, withHost } from '../engine.js';
import type { SenderLimits } from '../options.js';
import type { Secret, Secrets } from './secrets.js';

/** @throws LccError `usage` when plain text would leave this machine, unless `clear.allow_plain` is set */
export function requireSafeUrl({ name, url }: Pick<RailSetup, 'name' | 'url'>, allowPlain: boolean): void {
  const { protocol, hostname } = new URL(url);
  if (protocol === 'http:' && !isLoopback(hostname) && !allowPlain)
    throw new LccError('usage', `rail ${name}: ${url} is plain text; use https, or set clear.allow_plain`);
}

/** @throws LccError `config` when the file of secrets does not have the rail's login */
export function secretFor({ name, authRef }: RailSetup, secrets: Secrets): Secret | undefined {
  if (authRef === null) return undefined;
  const secret = secrets.get(authRef);
  if (secret === undefined)
    throw new LccError(
      'config',
      `rail ${name}: the file of secrets has no [${authRef}] (clear.secrets_file)`,
    );
  return secret;
}

/** An engine for one rail alone, with the certificates of its login. */
export function railEngine(
  rail: Pick<RailSetup, 'workers'>,
  secret: Secret | undefined,
  limits: SenderLimits,
  clock: Clock,
): FetchEngine {
  const certificates = {
    ...(secret?.ca !== undefined && { ca: secret.ca }),
    ...(secret?.identity !== undefined && { identity: secret.identity }),
  };
  // The answers say for themselves how long they may be.
  const bounds = { maxContentBytes: Infinity, contentLimitText: 'any', maxIdleConnections: rail.workers };
  return clearEngine(limits, { ...bounds, ...certificates }, clock);
}

/** A request to a rail. @param secret left out for what a stranger asks */
export function railJob(
  { url, host }: Pick<RailSetup, 'url' | 'host'>,
  secret: Secret | undefined,
  { path, headers = [], ...job }: Omit<FetchJob, 'url' | 'roots' | 'login'> & { path: string },
): FetchJob {
  return {
    ...job,
    url: pageOn(url, path),
    roots: [],
    redirects: 'report',
    headers: [...withHost(host, headers), ...secretHeaders(secret)],
    ...(secret?.basic !== undefined && { login: secret.basic }),
  };
}

/** Headers of a login, besides what RFC 7617 has. */
function secretHeaders(secret: Secret | undefined): readonly string[] {
  if (secret === undefined) return [];
  const { bearer, headers } = secret;
  return bearer === undefined ? headers : [...headers, 'authorization', `Bearer ${bearer}`];
}
