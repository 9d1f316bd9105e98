/** The Update Notification Server put together: listeners for CPs, connections to the Queue Manager. */
import { epochOf } from '../daemon/kept.js';
import { listenAll } from '../daemon/listen-all.js';
import { whenProxied } from '../daemon/proxied.js';
import type { Bound, Connection, Entrance, Running, Services } from '../daemon/types.js';
import { isToBeUpgraded } from '../db/sqlite/open.js';
import { pause } from '../lib/clock.js';
import { parseEndpoint, type Endpoint } from '../lib/endpoint.js';
import { openFilesLimit } from '../lib/open-files.js';
import { initRejected, setRejected } from '../wire/cp-uns/server.js';
import { UNS_DOORS } from '../wire/uns-places.js';
import type { UnsStatus } from './figures.js';
import { unsOptions } from './options.js';
import { UnsServer } from './server.js';

/** Connections at each door at a time. */
const MAX_DOORS = 100;
/** Connections to the Queue Manager: providers whose sets are sent at a time, one large set among them. */
const QM_CONNECTIONS = 16;

const UPGRADE_LOOK_MS = 100;

/** Daemons in front have places of their own, and say whose address a CP has. At the spider door the
 * permission to connect is the login. Who pushes may only say that something happened to pages: that door is
 * open to those whom the folder is open to. */
const PLACES: Record<'front' | 'spider' | 'push', Bound> = {
  front: {
    key: MAX_DOORS,
    whose: 'front doors',
    machines: true,
    say: ({ message }) => initRejected(102, message),
  },
  spider: {
    key: MAX_DOORS,
    whose: 'spiders',
    say: ({ message }) => setRejected(102, message, false),
    mode: 0o600,
  },
  push: { key: MAX_DOORS, whose: 'pushers', say: ({ message }) => setRejected(102, message, false) },
};

/** Front ends say whose a connection is that they pass on, which counts as if the CP had made it. */
const FRONT_ENDS: Entrance = { machines: true, say: ({ message }) => initRejected(102, message) };

/** A standby of a later release has taken the home over: no provider can be read until its Queue Manager has
 * brought the database to that release. Front ends hold CPs meanwhile, others look for another machine. */
async function whenUpgraded(path: string, { clock, told }: Services): Promise<void> {
  while (!told.aborted && isToBeUpgraded(path)) await pause(clock, UPGRADE_LOOK_MS, told);
}

/**
 * @param doors where daemons in front connect, and where what delivers urls that their owners did not
 *   announce does: Unix sockets; at `push` pushes alone, at `cps` front ends with CPs
 * @param qm where the Queue Manager listens; undefined: sets stay in the spool
 */
export async function startUns(
  services: Services,
  qm: Endpoint | undefined,
  doors: Partial<Record<'front' | 'spider' | 'push' | 'cps', readonly Endpoint[]>>,
): Promise<Running> {
  const { clock, log } = services;
  const { uns: set } = services.settings;
  const options = unsOptions(services, openFilesLimit());
  const maxConnections = options.limits.maxConnections;
  if (maxConnections < set.maxConnections)
    log.warn('fewer connections than configured; raise ulimit -n', { connections: maxConnections });
  const epoch = await epochOf(services.kept(), services.told);
  if (options.isKept) await whenUpgraded(options.lccDb, services);
  const uns = new UnsServer({ options, epoch, clock, log, fail: error => services.fail(error) });
  const endpoints = set.listen.map(text => parseEndpoint(text));
  const { listens, close } = await listenAll(services, endpoints, each => uns.accept(each));
  // As many as lccd-rs, which bounds them, has requests that need one.
  const machines = new Map([
    [UNS_DOORS.look, (each: Connection) => uns.acceptAt('front', each)],
    [UNS_DOORS.push, (each: Connection) => uns.acceptAt('push', each)],
  ]);
  const proxied = { clock, limitMs: set.loginTimeoutMs, doors: machines };
  const doorListeners = await Promise.all([
    ...(doors.cps ?? []).map(to =>
      services.listen(to, each => whenProxied(each, proxied, cp => uns.accept(cp)), FRONT_ENDS),
    ),
    ...(['front', 'spider', 'push'] as const).flatMap(door =>
      (doors[door] ?? []).map(to => services.listen(to, each => uns.acceptAt(door, each), PLACES[door])),
    ),
  ]);
  const peers = (qm === undefined ? [] : Array<Endpoint>(QM_CONNECTIONS).fill(qm)).map(to =>
    services.connect(to, connection => uns.serveQueueManager(connection), 'Queue Manager'),
  );
  return {
    status: (): UnsStatus => ({ ...uns.status(), listens }),
    async stop() {
      close();
      for (const listener of doorListeners) void listener.close();
      await uns.stop();
      for (const peer of peers) peer.close();
      await uns.close();
    },
  };
}
