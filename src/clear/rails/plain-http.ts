/** Rails that are asked over plain http: on this machine, unless `clear.allow_plain` is set. */
import type { RailSetup } from '../../db/clear/rails.js';
import { LccError } from '../../lib/errors.js';

/** @throws LccError `usage` when plain text would leave this machine */
export function requireSafeUrl({ name, url }: Pick<RailSetup, 'name' | 'url'>, allowPlain: boolean): void {
  const { protocol, hostname } = new URL(url);
  const isLocal = hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname);
  if (protocol === 'http:' && !isLocal && !allowPlain)
    throw new LccError('usage', `rail ${name}: ${url} is plain text; use https, or set clear.allow_plain`);
}
