import { UNS_FIGURES } from '../uns/figures.js';
import { startUns } from '../uns/start.js';
import { formatEndpoint } from '../lib/endpoint.js';
import { LccError } from '../lib/errors.js';
import { endpointsIn, endpointsOf, runAsDaemon } from './daemon.js';
import { CONFIG_OPTION, textOf } from './options.js';
import type { CommandSpec } from './run.js';

export const command: CommandSpec = {
  name: 'lccd-uns',
  summary: 'Update Notification Server: accepts sets of urls from Content Providers.',
  options: [
    {
      flags: '--listen <ENDPOINT>',
      sets: 'uns.listen',
      help: 'where CPs connect; may be repeated (default: uns.listen, port 9000)',
      repeat: true,
    },
    { flags: '--qm <ENDPOINT>', help: 'where the lccd-qm listens for UNSes' },
    {
      flags: '--listen-door <ENDPOINT>',
      help: 'where daemons in front connect, such as lccd-rs; may be repeated',
      repeat: true,
    },
    {
      flags: '--listen-spider <ENDPOINT>',
      help: 'where lcclinks and lccscan deliver; a Unix socket, open to its user alone; may be repeated',
      repeat: true,
    },
    {
      flags: '--listen-push <ENDPOINT>',
      help: 'where lccd-rs delivers what is pushed; a Unix socket; may be repeated',
      repeat: true,
    },
    {
      flags: '--listen-fe <ENDPOINT>',
      help: 'where lccd-fe passes CPs on, machines of this LCC; may be repeated',
      repeat: true,
    },
    { flags: '--id <NAME>', sets: 'uns.id', help: 'name of this UNS and its spool (default: uns.id)' },
    CONFIG_OPTION,
  ],
  example: 'lccd-uns --listen=127.0.0.1:9000 --qm=unix:$LCC_HOME/run/qm-uns.sock',
  run(context) {
    const [qm] = endpointsOf(context, 'qm');
    const doors = {
      front: endpointsIn(context, 'listenDoor'),
      spider: endpointsIn(context, 'listenSpider'),
      push: endpointsIn(context, 'listenPush'),
      cps: endpointsIn(context, 'listenFe'),
    };
    for (const [option, endpoints] of [
      ['--listen-spider', doors.spider],
      ['--listen-push', doors.push],
    ] as const) {
      const open = endpoints.find(({ kind }) => kind !== 'unix');
      if (open !== undefined)
        throw new LccError(
          'usage',
          `${option}=${formatEndpoint(open)}: nobody logs in there; give a Unix socket: unix:PATH`,
        );
    }
    // Files are synced in libuv's pool, and the file system makes those durable together that are synced at
    // the same time: with four threads a crowd of small sets takes more than twice as long. Must be set
    // before the pool is used.
    process.env['UV_THREADPOOL_SIZE'] ??= '32';
    return runAsDaemon(context, {
      instance: textOf(context.options, 'id'),
      metrics: { listen: 'uns.metrics_listen', figures: UNS_FIGURES },
      start: services => startUns(services, qm, doors),
    });
  },
};
