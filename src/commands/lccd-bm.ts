import { resolve } from 'node:path';
import { BM_FIGURES } from '../bm/figures.js';
import { startManager, startRelay, type Edge } from '../bm/start.js';
import { endpointsOf, runAsDaemon } from './daemon.js';
import { CONFIG_OPTION, textOf } from './options.js';
import type { CommandSpec } from './run.js';

export const command: CommandSpec = {
  name: 'lccd-bm',
  summary: 'Bot Manager: gives fetch requests to robots and names the files they write, or relays to others.',
  options: [
    { flags: '--source <ENDPOINT>', help: 'where requests come from: an lccd-qm, or a relay above' },
    {
      flags: '--listen <ENDPOINT>',
      help: 'where robots connect, or with a relay Bot Managers; may be repeated',
      repeat: true,
    },
    { flags: '--store <DIR>', help: 'folder for the content (with --machineid: $LCC_HOME/store)' },
    {
      flags: '--machineid <ID>',
      sets: 'bm.machine_id',
      help: 'name of this machine in the LCC (with --store: bm.machine_id)',
    },
    CONFIG_OPTION,
  ],
  example:
    'lccd-bm --source=unix:$LCC_HOME/run/qm-bm.sock --listen=unix:$LCC_HOME/run/bm.sock --machineid=m1',
  run(context) {
    const [source] = endpointsOf(context, 'source');
    const listens = endpointsOf(context, 'listen');
    const [store, machineid] = ['store', 'machineid'].map(name => textOf(context.options, name));
    const edge: Edge = { source, listens };
    const metrics = { listen: 'bm.metrics_listen', figures: BM_FIGURES } as const;
    if (store === undefined && machineid === undefined)
      return runAsDaemon(context, {
        instance: 'relay',
        metrics,
        start: services => startRelay(services, edge),
      });
    return runAsDaemon(context, {
      metrics,
      start: services =>
        startManager(services, edge, store === undefined ? services.home.store : resolve(store)),
    });
  },
};
