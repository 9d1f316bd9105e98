/** The front end put together: listeners for CPs, and where they belong. */
import { xmlLimitsOf } from '../config/limits.js';
import { endpointsToListen, listenAll } from '../daemon/listen-all.js';
import { trustOf } from '../daemon/machines.js';
import type { Bound, Connection, Place, Running, Services } from '../daemon/types.js';
import { FairShare } from '../lib/fair-share.js';
import { initRejected } from '../wire/cp-uns/server.js';
import { Refusal } from '../wire/refusal.js';
import type { FeStatus } from './figures.js';
import { UnsDoors } from './ready.js';
import type { Routes } from './routes.js';
import { CpPassage, type FrontEnd } from './session.js';
import { trustKept } from './trust.js';

const UNS_PORT = 9000;
/** A stranger this young may be about to say whose it is. */
const YOUNG_MS = 1000;

type Map = Pick<FeStatus, 'homes' | 'homes_free' | 'map_age_seconds'>;

export async function startFrontEnd(
  services: Services,
  { routes, map, close }: { routes: Routes; map: () => Map; close: () => void },
): Promise<Running> {
  const { clock, log, settings } = services;
  const counts = { passed: 0, refused: 0, lost: 0 };
  let held = 0;
  const open = new Map<Connection['socket'], { passage: CpPassage; ended: Promise<void> }>();
  const trust = trustKept(() => trustOf(settings.net), clock);
  const doors = new UnsDoors({ trust, routes, clock, log });
  const front: FrontEnd = {
    limits: settings.uns,
    waitMs: settings.fe.waitMs,
    xml: { ...xmlLimitsOf(settings.xml), maxHelloBytes: settings.wire.maxHelloBytes },
    routes,
    doors,
    share: new FairShare(),
    clock,
    log,
    counted: what => void counts[what]++,
    held: by => void (held += by),
  };
  const places: Bound = {
    key: 'uns.max_connections',
    ofAddress: { key: 'uns.max_connections_per_address' },
    whose: 'CPs',
    say: ({ message }) => initRejected(102, message),
    evict: {
      fromMs: YOUNG_MS,
      end({ socket }, { message }, mayLinger) {
        const passage = open.get(socket)?.passage;
        if (mayLinger) passage?.refuse(new Refusal(102, message));
        else passage?.cut(new Refusal(102, message));
      },
    },
  };
  const accept = (connection: Connection, place?: Place) => {
    if (place === undefined) throw new Error('a CP has a place');
    const passage = new CpPassage(front, connection, place);
    const ended = passage.run().finally(() => void open.delete(connection.socket));
    open.set(connection.socket, { passage, ended });
    ended.catch(error => services.fail(error));
  };
  const endpoints = endpointsToListen('fe.listen', settings.fe.listen, UNS_PORT);
  const listening = await listenAll(services, endpoints, accept, places);
  return {
    status: (): FeStatus & { idle: boolean } => ({
      idle: open.size === 0,
      connections: open.size,
      max_connections: settings.uns.maxConnections,
      held,
      ...map(),
      ...counts,
      listens: listening.listens,
    }),
    async stop() {
      listening.close();
      const why = new Refusal(102, 'temporarily off-line, try again later: the front end stops');
      for (const { passage } of open.values()) passage.refuse(why);
      await Promise.allSettled([...open.values()].map(({ ended }) => ended));
      doors.close();
      close();
    },
  };
}
