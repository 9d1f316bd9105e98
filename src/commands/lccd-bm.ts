import { resolve } from 'node:path';
import { BotManager } from '../bm/manager.js';
import { Store } from '../bm/store.js';
import type { Services } from '../daemon/types.js';
import type { Endpoint } from '../lib/endpoint.js';
import { LccError } from '../lib/errors.js';
import { channelLimitsOf } from '../wire/messages.js';
import { BM_METRICS } from '../bm/metrics.js';
import { CONFIG_OPTION, endpointsOf, runAsDaemon } from './daemon.js';
import type { CommandSpec } from './run.js';

export const command: CommandSpec = {
  name: 'lccd-bm',
  summary: 'Bot Manager: gives fetch requests to robots and names the files they write.',
  options: [
    { flags: '--source <ENDPOINT>', help: 'where requests come from: an lccd-qm, or a Bot Manager above' },
    { flags: '--listen <ENDPOINT>', help: 'where robots connect; may be repeated', repeat: true },
    { flags: '--store <DIR>', help: 'folder for the content (default: $LCC_HOME/store)' },
    { flags: '--machineid <ID>', help: 'name of this machine in the LCC (default: bm.machine_id)' },
    CONFIG_OPTION,
  ],
  example:
    'lccd-bm --source=unix:$LCC_HOME/run/qm-bm.sock --listen=unix:$LCC_HOME/run/bm.sock --machineid=m1',
  run(context) {
    const [source] = endpointsOf(context, 'source');
    const listens = endpointsOf(context, 'listen');
    const { store, machineid } = context.options;
    return runAsDaemon(
      context,
      {
        name: 'lccd-bm',
        metrics: { listen: 'bm.metrics_listen', rows: BM_METRICS },
        start: services =>
          start(
            services,
            source,
            listens,
            typeof store === 'string' ? resolve(store) : services.config.home.store,
          ),
      },
      { 'bm.machine_id': typeof machineid === 'string' ? machineid : undefined },
    );
  },
};

async function start(services: Services, source: Endpoint | undefined, listens: Endpoint[], dir: string) {
  const { config, clock, log } = services;
  const machineId = config.get('bm.machine_id');
  if (!/^[\w.-]{1,64}$/.test(machineId)) {
    throw new LccError('usage', `machine id "${machineId}": use letters, digits, dots, dashes; at most 64`);
  }
  const store = new Store({
    dir,
    machineId,
    graceMs: config.get('bm.grace_ms'),
    blockNames: config.get('bm.name_block'),
    minFreePercent: config.get('bm.min_free_disk_percent'),
    clock,
    log,
    fail: error => services.fail(error),
  });
  const manager = new BotManager({
    store,
    clock,
    log,
    channel: { ...channelLimitsOf(config), helloTimeoutMs: config.get('wire.hello_timeout_ms') },
    maxWaiting: config.get('bm.max_waiting'),
    maxRobots: config.get('bm.max_robots'),
    laneWindow: config.get('bm.lane_window'),
    maxLosses: config.get('bm.max_losses'),
    attemptTimeoutMs: config.get('bm.attempt_timeout_ms'),
    refused: reason => services.fail(new LccError('config', `${dir}: ${reason.message}`)),
  });
  const listeners = await Promise.all(
    listens.map(endpoint =>
      services.listen(endpoint, ({ socket, peer }) => manager.robot(socket, `robot ${peer}`)),
    ),
  );
  const peer =
    source && services.connect(source, ({ socket, peer }) => manager.source(socket, `source ${peer}`));
  return {
    status: () => manager.status(),
    async stop() {
      for (const listener of listeners) void listener.close();
      await manager.stop();
      peer?.close();
    },
  };
}
