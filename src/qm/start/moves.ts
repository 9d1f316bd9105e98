/** Providers that move from this home and to it. */
import { join } from 'node:path';
import type { Services } from '../../daemon/types.js';
import { Mover, type MovesElsewhere } from '../moves/mover.js';
import type { Dispatch } from './dispatch.js';
import type { TakingIn } from './intake.js';
import type { OpenStore } from './open-store.js';

const LOOK_MS = 1000;

export function moverOf(
  services: Services,
  { store, failed }: OpenStore,
  { dispatcher, adoptions, deletions }: Dispatch,
  { intake }: TakingIn,
  elsewhere: MovesElsewhere,
): Mover {
  const { home, settings, clock, log } = services;
  return new Mover({
    ...elsewhere,
    shard: settings.cluster.shard,
    lookMs: LOOK_MS,
    dir: join(home.dir, 'moves'),
    store,
    dispatcher,
    intake,
    adoptions,
    kept: services.kept(),
    clock,
    log,
    onCommit: () => deletions.pump(),
    failed,
  });
}
