/** `--from` and the options beside it: an lccd-cu elsewhere that is asked, in place of the database here. */
import type { RemoteOptions } from '../cu/remote/link.js';
import { parseEndpoint } from '../lib/endpoint.js';
import { LccError } from '../lib/errors.js';
import { CU_PORT } from '../wire/cu.js';
import { authoritiesOf, textOf } from './options.js';
import { passwordOf } from './password-file.js';
import type { CommandContext, OptionSpec } from './run.js';

export const FROM_OPTIONS: readonly OptionSpec[] = [
  {
    flags: '--from <ENDPOINT>',
    help: 'ask the lccd-cu there, instead of the database of this machine (tls:HOST:PORT, HOST:PORT, unix:PATH)',
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
  return {
    endpoint: parseEndpoint(from, CU_PORT),
    login: name === undefined || password === undefined ? undefined : { name, password },
    ca: authoritiesOf(options),
    clock,
    note: say,
  };
}
