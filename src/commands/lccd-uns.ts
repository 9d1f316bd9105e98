import type { Services } from '../daemon/types.js';
import { formatEndpoint, parseEndpoint, type Endpoint } from '../lib/endpoint.js';
import { openFilesLimit } from '../lib/open-files.js';
import { unsOptions } from '../uns/options.js';
import { UnsServer } from '../uns/server.js';
import { UNS_METRICS } from '../uns/metrics.js';
import { CONFIG_OPTION, endpointsOf, runAsDaemon } from './daemon.js';
import type { CommandSpec } from './run.js';

export const command: CommandSpec = {
  name: 'lccd-uns',
  summary: 'Update Notification Server: accepts sets of urls from Content Providers.',
  options: [
    {
      flags: '--listen <ENDPOINT>',
      help: 'where CPs connect; may be repeated (default: uns.listen, port 9000)',
      repeat: true,
    },
    { flags: '--qm <ENDPOINT>', help: 'where the lccd-qm listens for UNSes' },
    { flags: '--id <NAME>', help: 'name of this UNS and its spool (default: uns.id)' },
    CONFIG_OPTION,
  ],
  example: 'lccd-uns --listen=127.0.0.1:9000 --qm=unix:$LCC_HOME/run/qm-uns.sock',
  run(context) {
    const [qm] = endpointsOf(context, 'qm');
    // Files are synced in libuv's pool, and the file system makes those durable together that are synced at the same
    // time: with four threads a crowd of small sets takes more than twice as long. Must be set before the pool is used.
    process.env['UV_THREADPOOL_SIZE'] ??= '32';
    const { listen } = context.options;
    const id = typeof context.options['id'] === 'string' ? context.options['id'] : undefined;
    return runAsDaemon(
      context,
      {
        name: 'lccd-uns',
        instance: id,
        metrics: { listen: 'uns.metrics_listen', rows: UNS_METRICS },
        start: services => start(services, qm),
      },
      {
        'uns.listen': Array.isArray(listen) ? listen : undefined,
        'uns.id': id,
      },
    );
  },
};

async function start(services: Services, qm: Endpoint | undefined) {
  const { config, clock, log } = services;
  const options = unsOptions(config, openFilesLimit());
  const maxConnections = options.limits['uns.max_connections'];
  if (maxConnections < config.get('uns.max_connections'))
    log.warn('fewer connections than configured: ulimit -n', { connections: maxConnections });
  const uns = new UnsServer({ options, clock, log, fail: error => services.fail(error) });
  const endpoints = config.get('uns.listen').map(text => parseEndpoint(text));
  const listeners = await Promise.all(
    endpoints.map(endpoint => services.listen(endpoint, connection => uns.accept(connection))),
  );
  for (const { endpoint } of listeners) log.info('listens', { endpoint: formatEndpoint(endpoint) });
  const peers = (qm === undefined ? [] : Array<Endpoint>(config.get('uns.qm_connections')).fill(qm)).map(to =>
    services.connect(to, connection => uns.serveQueueManager(connection)),
  );
  return {
    status: () => ({ ...uns.status(), listens: listeners.map(({ endpoint }) => formatEndpoint(endpoint)) }),
    async stop() {
      for (const listener of listeners) void listener.close();
      await uns.stop();
      for (const peer of peers) peer.close();
      await uns.close();
    },
  };
}
