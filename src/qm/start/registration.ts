/** What comes from Registration Servers. */
import type { Services } from '../../daemon/types.js';
import type { Endpoint } from '../../lib/endpoint.js';
import { RsLinks } from '../rs-links.js';
import { RsOperations, rsBoundsOf } from '../rs-operations.js';
import type { Dispatch } from './dispatch.js';
import type { OpenStore } from './open-store.js';

export function registrationOf(
  services: Services,
  endpoints: readonly Endpoint[],
  { db, store, failed }: OpenStore,
  { dispatcher }: Dispatch,
): RsLinks {
  const { config, clock, log } = services;
  const bounds = rsBoundsOf(config);
  const changed = (pid: number) => dispatcher.reload(pid);
  const operations = new RsOperations({ db, store, bounds, clock, log, changed });
  return new RsLinks({ services, endpoints, operations, failed });
}
