/** The robot put together: its engine, the Bot Managers it connects to, or the peers that connect to it. */
import { resolve, sep } from 'node:path';
import type { Settings } from '../config/settings/index.js';
import type { Bound, Running, Services } from '../daemon/types.js';
import { FetchEngine } from '../fetch/engine.js';
import type { Clock } from '../lib/clock.js';
import type { Endpoint } from '../lib/endpoint.js';
import type { Log } from '../lib/log.js';
import { errorElement, HELLO_TIMEOUT_MS } from '../wire/messages.js';
import { engineLimits, robotLimits } from './options.js';
import { Robot, type RobotOptions } from './robot.js';

const PLACES: Bound = { key: 'bot.max_connections', whose: 'peers', machines: true, say: errorElement };

interface RobotEdge {
  /** Bot Managers to connect to, or where people and Bot Managers connect: one of the two. */
  bm: readonly Endpoint[];
  listen: readonly Endpoint[];
  /** Below it those who connect may have files written; undefined: nowhere, content comes with its result. */
  dir: string | undefined;
  /** Networks (CIDR) that may be fetched from, beside those configured. */
  allowed: readonly string[];
}

export async function startRobot(
  services: Services,
  { bm, listen, dir, allowed }: RobotEdge,
): Promise<Running> {
  const { settings, clock, log } = services;
  const firstWordMs = bm.length > 0 ? undefined : HELLO_TIMEOUT_MS;
  const robot = robotOf(settings, { allowed, clock, log, firstWordMs });
  const peers = bm.map(endpoint =>
    services.connect(
      endpoint,
      ({ socket, peer }) => robot.serve(socket, `manager ${peer}`, 'manager'),
      'Bot Manager',
    ),
  );
  const below = dir === undefined ? undefined : resolve(dir) + sep;
  const mayWrite = (path: string) => below !== undefined && resolve(path).startsWith(below);
  const listeners = await Promise.all(
    listen.map(endpoint =>
      services.listen(
        endpoint,
        ({ socket, peer }) => robot.serve(socket, `peer ${peer}`, 'person', { mayWrite }),
        PLACES,
      ),
    ),
  );
  return {
    status: () => robot.status(),
    async stop() {
      for (const listener of listeners) void listener.close();
      await robot.stop();
      for (const peer of peers) peer.close();
    },
  };
}

export function robotOf(
  settings: Settings,
  {
    allowed,
    clock,
    log,
    ...more
  }: { allowed: readonly string[]; clock: Clock; log: Log } & Pick<RobotOptions, 'firstWordMs' | 'before'>,
): Robot {
  const limits = engineLimits(settings.bot);
  const engine = new FetchEngine({
    ...limits,
    allowAddresses: [...limits.allowAddresses, ...allowed],
    clock,
  });
  return new Robot({ ...robotLimits(settings), engine, clock, log, ...more });
}
