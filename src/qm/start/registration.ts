/** What comes from Registration Servers. */
import { makeChangeMark } from '../../db/providers/change-mark.js';
import type { Services } from '../../daemon/types.js';
import type { Endpoint } from '../../lib/endpoint.js';
import { slotsOf } from '../../config/hours.js';
import { RsLinks } from '../rs-links.js';
import { RsLooks, type LookWords } from '../rs-looks.js';
import { RsOperations, rsBoundsOf } from '../rs-operations.js';
import type { Dispatch } from './dispatch.js';
import type { OpenStore } from './open-store.js';

export function registrationOf(
  services: Services,
  endpoints: readonly Endpoint[],
  { db, store, failed }: OpenStore,
  { dispatcher }: Dispatch,
  words: LookWords,
): RsLinks {
  const { config, clock, log } = services;
  if (endpoints.length > 0) makeChangeMark(config.home.run);
  const bounds = rsBoundsOf(config);
  const { providers } = store;
  const operations = new RsOperations({
    db,
    store,
    bounds,
    clock,
    log,
    changed: pid => dispatcher.reload(pid),
    flushed: pid => dispatcher.forgetDelays(pid),
    controls: {
      pause: pid => void providers.setPaused(true, pid),
      resume: pid => void providers.setPaused(false, pid),
      flush: pid => void providers.forgetDelays(pid),
      'want-full': pid => void providers.wantFullSet('operator', pid),
    },
  });
  const looks = new RsLooks({
    dbPath: config.home.db,
    runDir: config.home.run,
    slots: slotsOf(config.get('qm.slots')),
    overviewMs: config.get('rs.overview_ms'),
    dispatcher,
    words,
    clock,
  });
  return new RsLinks({ services, endpoints, operations, looks, failed });
}
