/** The common part of the command files of all daemons: endpoints, and the way into the skeleton. */
import { runDaemon } from '../daemon/run.js';
import type { DaemonSpec } from '../daemon/types.js';
import { parseEndpoint, type Endpoint } from '../lib/endpoint.js';
import { LccError, type ExitStatus } from '../lib/errors.js';
import { openMetrics, type Metrics } from '../web/metrics.js';
import { flagOf, textOf } from './options.js';
import type { CommandContext } from './run.js';
import { VERSION } from './version.js';

/** Runs a daemon with a command's options, and its metrics where they have an endpoint of their own. It has
 * the command's name, unless it is given another. */
export function runAsDaemon(
  context: CommandContext,
  { metrics, ...spec }: Omit<DaemonSpec, 'name'> & { name?: string; metrics?: Metrics },
): Promise<ExitStatus> {
  return runDaemon(
    { name: context.name, ...spec },
    {
      ...(metrics && {
        beside: (services, running, instance) => openMetrics(metrics, VERSION, services, running, instance),
      }),
      env: context.env,
      configFile: textOf(context.options, 'config'),
      overrides: context.settings,
      quiet: context.quiet,
      verbose: context.verbose,
    },
  );
}

/** The endpoints of a repeatable option. @throws LccError `usage` when it is missing or one is malformed */
export function endpointsOf(context: CommandContext, option: string, defaultPort?: number): Endpoint[] {
  const endpoints = endpointsIn(context, option, defaultPort);
  if (endpoints.length > 0) return endpoints;
  throw new LccError('usage', `${flagOf(option)}=ENDPOINT is missing; write host:port or unix:/path`);
}

/** The same; none where it is not given. */
export function endpointsIn({ options }: CommandContext, option: string, defaultPort?: number): Endpoint[] {
  const texts = [options[option] ?? []].flat();
  return texts.map(text => parseEndpoint(String(text), defaultPort));
}
