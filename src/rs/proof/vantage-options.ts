/** `rs.vantages`: where the robots listen that look at sites from elsewhere. */
import type { Settings } from '../../config/settings/index.js';
import { trustOf } from '../../daemon/machines.js';
import { formatEndpoint, parseEndpoint } from '../../lib/endpoint.js';
import { LccError } from '../../lib/errors.js';
import { isLoopback } from '../../lib/loopback.js';
import { channelLimitsOf } from '../../wire/messages.js';
import { FEWEST_VANTAGES, type VantageOptions } from './vantages.js';

/**
 * @returns undefined where there are none
 * @throws LccError `usage` for what is no endpoint, `config` for one alone, and for one that would be asked
 *   in plain text from another machine: somebody on the way to the site may be on the way to it
 */
export function vantageOptions({ rs, net, ...settings }: Settings): VantageOptions | undefined {
  const endpoints = rs.vantages.map(text => parseEndpoint(text));
  if (endpoints.length === 0) return undefined;
  if (new Set(endpoints.map(formatEndpoint)).size < FEWEST_VANTAGES)
    throw new LccError(
      'config',
      'rs.vantages: one alone decides nothing, since one may differ; name two, or none',
    );
  for (const endpoint of endpoints)
    if (endpoint.kind === 'tcp' && !isLoopback(endpoint.host) && !net.allowPlain) {
      const where = formatEndpoint(endpoint);
      throw new LccError(
        'config',
        `rs.vantages: ${where}: plain text beyond loopback; use tls:${where}, or set net.allow_plain = true`,
      );
    }
  const trust = () => trustOf(net);
  if (endpoints.some(({ kind }) => kind === 'tls')) trust();
  return {
    endpoints,
    channel: channelLimitsOf(settings),
    trust,
    fetchTimeoutMs: rs.fetchTimeoutMs,
  };
}
