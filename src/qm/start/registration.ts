/** Traffic from Registration Servers. */
import { readProviderAlone } from '../../db/queue/shape.js';
import { UrlLives } from '../../db/queue/url-life.js';
import type { Services } from '../../daemon/types.js';
import type { Endpoint } from '../../lib/endpoint.js';
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
  const { home, settings, clock, log } = services;
  const bounds = rsBoundsOf(settings.rs);
  const { providers } = store;
  const slots = settings.qm.slots;
  const lives = new UrlLives(db);
  const stateOf = (pid: number) => {
    const provider = readProviderAlone(db, pid);
    return provider === undefined ? 'unknown' : words.provider(provider, {}, clock.nowMs(), slots);
  };
  const operations = new RsOperations({
    db,
    store,
    bounds,
    clock,
    log,
    changed: pid => dispatcher.reload(pid),
    flushed: pid => dispatcher.forgetDelays(pid),
    livesOf: (pid, url) => lives.all(pid, url, { nowMs: clock.nowMs(), slots }, stateOf),
    controls: {
      pause: pid => void providers.setPaused(true, pid),
      resume: pid => void providers.setPaused(false, pid),
      flush: pid => void providers.forgetDelays(pid),
      'want-full': pid => void providers.wantFullSet('operator', pid),
    },
  });
  const looks = new RsLooks({
    dbPath: home.db,
    runDir: home.run,
    slots,
    overviewMs: 5000,
    dispatcher,
    words,
    clock,
  });
  return new RsLinks({ services, endpoints, operations, looks, kept: services.kept(), failed });
}
