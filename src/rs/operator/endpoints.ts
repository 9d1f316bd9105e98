/** Where operators connect: nowhere that another machine reaches. */
import { formatEndpoint, parseEndpoint, type Endpoint } from '../../lib/endpoint.js';
import { LccError } from '../../lib/errors.js';
import { isLoopback } from '../../lib/loopback.js';

/** Where operators connect when an endpoint names no port. */
export const DEFAULT_OPERATOR_PORT = 9081;

/** @throws LccError `usage` for what is no endpoint, `config` for one that is not of this machine alone */
export function operatorEndpoints(texts: readonly string[]): Endpoint[] {
  return texts.map(text => {
    const endpoint = parseEndpoint(text, DEFAULT_OPERATOR_PORT);
    if (endpoint.kind !== 'unix' && !isLoopback(endpoint.host))
      throw new LccError(
        'config',
        `${formatEndpoint(endpoint)}: rs.operator_listen takes the loopback and Unix sockets only; reach it by ssh -L, or by a proxy (rs.operator_url)`,
      );
    return endpoint;
  });
}
