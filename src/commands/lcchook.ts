/** lcchook(1): calls a web address with what has changed, below `lccq --stay`. */
import { DAY, KB, MB, parseAmount } from '../config/amounts.js';
import { deliverBatches } from '../cu/hook/batches.js';
import { Receiver } from '../cu/hook/receiver.js';
import { newSecret } from '../cu/hook/secret.js';
import { EXIT, LccError, type ExitStatus } from '../lib/errors.js';
import { allowedOf, authoritiesOf, durationMsOf, textOf } from './options.js';
import type { CommandContext, CommandSpec } from './run.js';

/** Answer to a batch (`lccq --stay`). */
const ANSWER = 'ok\n';
const MAX_BYTES = { usual: MB, min: KB, max: 64 * MB };

export const command: CommandSpec = {
  name: 'lcchook',
  summary: 'Call a web address with what has changed: signed POSTs, in order, each until it is taken.',
  options: [
    { flags: '--url <URL>', help: 'the address that is called', once: true },
    {
      flags: '--secretfile <FILE>',
      help: 'file with the secret that signs, a line; two while it is changed',
    },
    { flags: '--new-secret', help: 'print a new secret, and end' },
    { flags: '--max-bytes <SIZE>', help: 'size of a POST; a larger batch is divided (default: 1MB)' },
    { flags: '--give-up <TIME>', help: 'time for one POST, then end with status 75 (default: 1d)' },
    { flags: '--cafile <FILE>', help: 'certificates (PEM) that may have signed its own' },
    {
      flags: '--allow-address <CIDR>',
      help: 'network that may be called although it is not public; may be repeated',
      repeat: true,
    },
  ],
  example: `lcchook --new-secret >whsec
lccq --follow --stay --batch=100 --cursor=h.cursor --format=jsonl -- \\
    lcchook --url=https://api.example.org/lcc --secretfile=whsec`,
  run,
};

async function run(context: CommandContext): Promise<ExitStatus> {
  const { options } = context;
  if (options['newSecret'] === true) {
    context.print(`${newSecret()}\n`);
    return EXIT.ok;
  }
  const secretFile = textOf(options, 'secretfile');
  if (secretFile === undefined)
    throw new LccError('usage', '--secretfile=FILE is missing; lcchook --new-secret makes what is in it');
  const ca = authoritiesOf(options);
  const allowAddresses = allowedOf(options);
  const receiver = new Receiver({
    url: urlOf(textOf(options, 'url'), allowAddresses),
    secretFile,
    giveUpMs: durationMsOf('--give-up', options['giveUp']) ?? DAY,
    allowAddresses,
    ...(ca !== undefined && { ca }),
    clock: context.clock,
    random: Math.random,
    note: message => context.complain(message),
  });
  try {
    await deliverBatches(context.input(), {
      maxBytes: bytesOf(textOf(options, 'maxBytes')),
      deliver: body => receiver.deliver(body),
      done: () => context.print(ANSWER),
    });
  } finally {
    receiver.close();
    context.input().destroy();
  }
  return EXIT.ok;
}

function urlOf(text: string | undefined, allowed: readonly string[]): URL {
  const url = text !== undefined && URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '')
    throw new LccError('usage', '--url: give an https url without a user in it');
  if (url.protocol === 'http:' && allowed.length === 0)
    throw new LccError('usage', '--url: http is for networks that --allow-address names; give https');
  return url;
}

function bytesOf(text: string | undefined): number {
  const { usual, min, max } = MAX_BYTES;
  const bytes = text === undefined ? usual : (parseAmount(text, 'bytes') ?? NaN);
  if (bytes >= min && bytes <= max) return bytes;
  throw new LccError('usage', `--max-bytes=${text ?? ''}: give a size from 1KB to 64MB`);
}
