import { resolve } from 'node:path';
import { BM_FIGURES } from '../bm/figures.js';
import { startManager, startRelay, type Edge, type OwnRobots } from '../bm/start.js';
import { BOT_FIGURES } from '../bot/figures.js';
import { setProcessToFetch } from '../bot/process.js';
import { startRobots } from '../bot/robots.js';
import { LccError } from '../lib/errors.js';
import { openMetrics } from '../web/metrics.js';
import { endpointsIn, endpointsOf, runAsDaemon } from './daemon.js';
import { ALLOW_ADDRESS_OPTION, allowedOf, CONFIG_OPTION, numberOf, textOf } from './options.js';
import type { CommandContext, CommandSpec } from './run.js';
import { VERSION } from './version.js';

export const command: CommandSpec = {
  name: 'lccd-bm',
  summary: 'Bot Manager: gives fetch requests to robots and names the files they write, or relays to others.',
  options: [
    {
      flags: '--source <ENDPOINT>',
      help: 'where requests come from: an lccd-qm, or a relay above; repeated, whichever of them is there',
      repeat: true,
    },
    {
      flags: '--listen <ENDPOINT>',
      help: 'where robots connect, or with a relay Bot Managers; may be repeated',
      repeat: true,
    },
    {
      flags: '--listen-content <ENDPOINT>',
      help: 'with a store: where other machines of the LCC read content; may be repeated',
      repeat: true,
    },
    { flags: '--store <DIR>', help: 'folder for the content (with --machineid: $LCC_HOME/store)' },
    {
      flags: '--machineid <ID>',
      sets: 'bm.machine_id',
      help: 'name of this machine in the LCC (with --store: bm.machine_id)',
    },
    { flags: '--bots <N>', help: 'robots of its own, a thread each (default: 0; lccd gives bm.bots)' },
    { flags: '--slots <N>', sets: 'bm.slots', help: 'with --bots: fetches at a time of each (bm.slots)' },
    ALLOW_ADDRESS_OPTION,
    CONFIG_OPTION,
  ],
  example:
    'lccd-bm --source=unix:$LCC_HOME/run/qm-bm.sock --listen=unix:$LCC_HOME/run/bm.sock --machineid=m1',
  run(context) {
    const sources = endpointsOf(context, 'source');
    const listens = endpointsOf(context, 'listen');
    const [store, machineid] = ['store', 'machineid'].map(name => textOf(context.options, name));
    const content = endpointsIn(context, 'listenContent');
    const edge: Edge = { sources, listens, content };
    const metrics = { listen: 'bm.metrics_listen', figures: BM_FIGURES } as const;
    const bots = ownRobotsOf(context);
    if (store === undefined && machineid === undefined) {
      const needsStore = bots !== undefined ? '--bots' : content.length > 0 ? '--listen-content' : undefined;
      if (needsStore !== undefined)
        throw new LccError('usage', `${needsStore}: a relay has no store; give --store or --machineid`);
      return runAsDaemon(context, {
        instance: 'relay',
        metrics,
        start: services => startRelay(services, edge),
      });
    }
    return runAsDaemon(context, {
      metrics,
      start: services =>
        startManager(services, edge, store === undefined ? services.home.store : resolve(store), bots),
    });
  },
};

function ownRobotsOf({ options }: CommandContext): OwnRobots | undefined {
  const count = numberOf(options, 'bots', 'give how many robots it has, up to 64', { min: 0, max: 64 });
  if (count === undefined || count === 0) return undefined;
  setProcessToFetch();
  const metrics = { listen: 'bot.metrics_listen', figures: BOT_FIGURES } as const;
  return (services, join) =>
    startRobots(
      services,
      {
        count,
        allowed: allowedOf(options),
        beside: (its, running, instance) => openMetrics(metrics, VERSION, its, running, instance),
      },
      join,
    );
}
