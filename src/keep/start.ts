/** lccd-keep put together: engine, keeper, and the socket at which it answers. */
import { BEATS_PER_LEASE, ownName } from '../config/cluster.js';
import { keeperAt, ownedBy } from '../daemon/keeper-link.js';
import type { Running, Services } from '../daemon/types.js';
import { Engine } from '../db/engine/engine.js';
import { engineAccount } from '../db/engine/nodes.js';
import { EXIT, LccError, type ExitStatus } from '../lib/errors.js';
import { Door, KEEP_PLACES } from './door.js';
import type { KeepStatus } from './figures.js';
import { HomeKeeper } from './keeper.js';

/** For the engine to answer that the home is free; for one that is away. */
const RELEASE_MS = 60_000;
const AWAY_MS = 5000;
const LOOK_MS = 500;

/** @throws LccError `config` */
export async function startKeeper(services: Services): Promise<Running> {
  const { home, settings, clock, log } = services;
  const { store, cluster } = settings;
  if (store.url === '')
    throw new LccError('config', 'store.url is not set: an LCC without an engine has no keeper');
  const engine = new Engine(engineAccount(store), { clock, log });
  const stop = new AbortController();
  let isTold = false;
  const door: Door = new Door({ clock, log, shipped: name => keeper.shipped(name) });
  const { shard, leaseMs } = cluster;
  const tell = door.tell.bind(door);
  const keeper = new HomeKeeper({
    home,
    engine,
    clock,
    log,
    machine: ownName(cluster),
    shard,
    beatMs: leaseMs / BEATS_PER_LEASE,
    leaseMs,
    tell,
  });
  const listener = await services.listen(
    keeperAt(home.run),
    connection => void door.serve(connection),
    KEEP_PLACES,
  );
  const ran = keeper.run(stop.signal);
  ran.catch((error: unknown) => services.fail(error));
  // lccd starts it again, as a standby.
  const finished = ran.then(
    () =>
      new Promise<ExitStatus>(end => {
        if (!isTold) setImmediate(end, EXIT.tempfail);
      }),
  );

  return {
    finished,
    status(): KeepStatus {
      const { lease, phase } = keeper;
      const shippers = [...keeper.shippers];
      const sum = (of: (shipper: (typeof shippers)[number]) => number) =>
        shippers.reduce((total, shipper) => total + of(shipper), 0);
      const unshipped = sum(shipper => shipper.unshippedBytes);
      const { away, failovers } = engine;
      return {
        idle: unshipped === 0,
        phase,
        home_owner: lease.owner,
        owner: phase === 'owner',
        epoch: lease.epoch,
        beat_age: lease.beatMs === undefined ? 0 : (clock.monotonicMs() - lease.beatMs) / 1000,
        engine_up: away === undefined,
        engine_away: away === undefined ? null : { since_ms: away.sinceMs, reason: away.reason },
        engine_failovers: failovers,
        shipments: sum(({ figures }) => figures.shipments),
        shipped_bytes: sum(({ figures }) => figures.shippedBytes),
        unshipped_bytes: unshipped,
        last_ship: Math.max(0, ...shippers.map(({ figures }) => figures.shipSeconds)),
        standby_behind_bytes: keeper.behindBytes,
        standbys: keeper.standbys ?? 0,
        standby_trouble: keeper.trouble ?? null,
      };
    },
    controls: {
      release: async () => {
        if (keeper.phase !== 'owner') throw new LccError('try.later', ownedBy(keeper.lease.owner));
        const over = new AbortController();
        const endMs = clock.monotonicMs() + RELEASE_MS;
        let cancel = () => {};
        const look = () => {
          const { away } = engine;
          if (clock.monotonicMs() > endMs || clock.nowMs() - (away?.sinceMs ?? Infinity) > AWAY_MS)
            over.abort();
          else cancel = clock.after(LOOK_MS, look);
        };
        look();
        try {
          await keeper.release(over.signal);
        } catch (error) {
          if (!over.signal.aborted) throw error;
          throw new LccError(
            'try.later',
            `the engine does not answer: ${engine.away?.reason ?? 'it takes long'}; it is not known whether the home was handed over: lcckeep status`,
          );
        } finally {
          cancel();
          // Nothing is shipped any more: the next keeper goes on, or stands by.
          stop.abort();
        }
      },
    },
    async stop() {
      isTold = true;
      void listener.close();
      await keeper.end();
      stop.abort();
      door.close();
      await ran.catch(() => undefined);
      engine.close();
    },
  };
}
