/** `--from` and the options beside it: an lccd-cu elsewhere that is asked, in place of the database here. */
import { doorOf, machinesOf, OWNER_PATIENCE_MS } from '../config/cluster.js';
import type { Config } from '../config/load.js';
import type { RemoteOptions } from '../cu/remote/link.js';
import type { Delivery } from '../cu/types.js';
import { parseEndpoint, type Endpoint } from '../lib/endpoint.js';
import { LccError } from '../lib/errors.js';
import { CU_PORT } from '../wire/cu.js';
import { authoritiesOf, textOf } from './options.js';
import { passwordOf } from './password-file.js';
import type { CommandContext, OptionSpec } from './run.js';

export const FROM_OPTIONS: readonly OptionSpec[] = [
  {
    flags: '--from <ENDPOINTS>',
    help: 'ask the lccd-cu there, instead of the database of this machine (tls:HOST:PORT, HOST:PORT, unix:PATH); of several, divided by commas, the next where one is away',
  },
  { flags: '--reader <NAME>', help: 'with --from: the reader that asks' },
  { flags: '--pwdfile <FILE>', help: 'with --from: file whose first line is its password' },
  {
    flags: '--cafile <FILE>',
    help: 'with --from: certificates (PEM) that may have signed that of the lccd-cu',
  },
];

/** @throws LccError `usage`, `input.missing`, `config` */
export function remoteOf(context: CommandContext): RemoteOptions | undefined {
  const { options, clock, say } = context;
  const text = (name: string) => textOf(options, name);
  const [from, name] = [text('from'), text('reader')];
  const alone = ['reader', 'pwdfile', 'cafile'].find(option => text(option) !== undefined);
  if (from === undefined) {
    if (alone === undefined) return undefined;
    throw new LccError('usage', `--${alone} is for an lccd-cu elsewhere; give --from`);
  }
  const password = text('pwdfile') === undefined ? undefined : passwordOf(context);
  if ((name === undefined) !== (password === undefined))
    throw new LccError('usage', 'give both --reader and --pwdfile, or none of them');
  const ca = authoritiesOf(options);
  return {
    endpoints: from.split(',').map(each => parseEndpoint(each, CU_PORT)),
    login: name === undefined || password === undefined ? undefined : { name, password },
    trust: () => ({ ca }),
    skipsAway: options['skipAway'] === true,
    clock,
    note: say,
  };
}

/**
 * The lccd-cu that is asked: that of `--from`, or, on a machine that does not own its kept home, that of the
 * owner, as one machine of the LCC asks another.
 * @throws LccError as `remoteOf` and `ownerElsewhere`; `try.later` while no machine owns it
 */
export async function askedOf(context: CommandContext, config: Config): Promise<RemoteOptions | undefined> {
  const from = remoteOf(context);
  if (from !== undefined || config.get('store.url') === '') return from;
  const { ownerElsewhere } = await import('../daemon/owner-elsewhere.js');
  const { ownedBy } = await import('../daemon/keeper-link.js');
  const name = await ownerElsewhere(config);
  if (name === undefined) return undefined;
  const owner = machinesOf(config.settings.cluster).find(machine => machine.name === name);
  if (owner === undefined) throw new LccError('try.later', ownedBy(name));
  const asked = (await asMachine(context, config))(doorOf(owner, 'lccq'));
  return { ...asked, patienceMs: OWNER_PATIENCE_MS };
}

/** How one machine of the LCC asks the lccd-cu of another. */
export async function asMachine(
  { options, clock, say }: CommandContext,
  { settings }: Config,
): Promise<(endpoint: Endpoint) => RemoteOptions> {
  const { trustOf } = await import('../daemon/machines.js');
  const skipsAway = options['skipAway'] === true;
  return endpoint => ({
    endpoints: [endpoint],
    trust: () => trustOf(settings.net),
    skipsAway,
    clock,
    note: say,
  });
}

/** Where content of other machines is had, for rows that are read here. */
export async function peersAsked(
  { options, clock }: CommandContext,
  { settings }: Config,
): Promise<Delivery['peers']> {
  if (settings.cluster.machines.length === 0) return undefined;
  const { peersOf } = await import('../cu/peers/contents.js');
  const peers = peersOf(settings, clock);
  return peers && { ...peers, skipsAway: options['skipAway'] === true };
}
