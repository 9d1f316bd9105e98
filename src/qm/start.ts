/** The Queue Manager put together of its six parts, each in a file of `start/`. */
import { join } from 'node:path';
import type { Running, Services } from '../daemon/types.js';
import type { Endpoint } from '../lib/endpoint.js';
import { READ_AS_UTC, zoneNotUnderstood } from '../lib/zone.js';
import { controlsOf } from './controls.js';
import type { LookWords } from './rs-looks.js';
import { dispatchOf } from './start/dispatch.js';
import { statusOf } from './start/status.js';
import { takeOver } from './take-over.js';
import { intakeOf } from './start/intake.js';
import { Mover, type MovesElsewhere } from './moves/mover.js';
import { openStore } from './start/open-store.js';
import { registrationOf } from './start/registration.js';
import { upkeepOf } from './start/upkeep.js';

/** Between two looks at the moves of providers. */
const MOVES_LOOK_MS = 1000;

/**
 * Starts the Queue Manager on `$LCC_HOME/lcc.db`.
 * @param moves left out: no provider moves
 * @param words in which operators are told how the LCC fares
 * @throws as `openStore`
 */
export async function startQueueManager(
  services: Services,
  endpoints: { uns: readonly Endpoint[]; bm: readonly Endpoint[]; rs: readonly Endpoint[] },
  words: LookWords,
  moves?: MovesElsewhere,
): Promise<Running> {
  const { home, settings, clock, log } = services;
  const zone = zoneNotUnderstood();
  if (zone !== undefined) log.warn(`TZ ${READ_AS_UTC}`, { tz: zone });

  const opened = openStore(services);
  const kept = services.kept();
  await takeOver(opened.store, services, log);
  const dispatch = dispatchOf(services, opened);
  const taking = intakeOf(services, endpoints.uns, opened, dispatch);
  const upkeep = upkeepOf(services, opened, dispatch);
  const mover =
    moves &&
    new Mover({
      ...moves,
      ...dispatch,
      store: opened.store,
      failed: opened.failed,
      intake: taking.intake,
      shard: settings.cluster.shard,
      lookMs: MOVES_LOOK_MS,
      dir: join(home.dir, 'moves'),
      kept,
      clock,
      log,
      onCommit: () => dispatch.deletions.pump(),
    });
  const rsLinks = registrationOf(services, endpoints.rs, opened, dispatch, words);
  const status = statusOf(opened, dispatch, taking, upkeep);

  dispatch.dispatcher.start();
  await taking.unsLinks.open();
  await dispatch.listen(endpoints.bm);
  await rsLinks.open();
  upkeep.start();
  mover?.start();

  return {
    status,
    controls: controlsOf(opened.store, dispatch.dispatcher, log, clock, kept),
    // Sources of work end first, the places it is written to last.
    async stop() {
      await mover?.stop();
      await upkeep.stop();
      rsLinks.stop();
      await taking.unsLinks.stop();
      dispatch.stop();
      opened.close();
    },
  };
}
