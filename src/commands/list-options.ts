/** The common part of sitemap2url and feed2url: options, limits, the words at the end. */
import type { Config } from '../config/load.js';
import { limitText } from '../config/settings/index.js';
import { amount } from '../config/words.js';
import { EXIT, LccError, type ExitStatus } from '../lib/errors.js';
import { Output } from '../lib/stdio.js';
import { SOURCE_LIMITS } from '../sources/limits.js';
import { writeLists, type ListOptions } from '../sources/write-lists.js';
import { placeOf, type DocumentPlace } from '../sources/places.js';
import { configOf, durationMsOf, textOf, textsOf } from './options.js';
import type { Coverage } from '../wire/coverage.js';
import type { CommandContext, OptionSpec } from './run.js';
import { typesOf } from './type-option.js';
import { HEADER_LIMITS } from '../fetch/exchange-owner.js';

/** The longest Retry-After that is waited for, twice at most. */
const MAX_RETRY_AFTER_MS = 60_000;

export const LIST_OPTIONS: OptionSpec[] = [
  { flags: '--state <DIR>', help: 'keep what was read there: what has not changed is not read again' },
  {
    flags: '--stale <TIME>',
    help: 'with --state: how old the last good reading may be that stands for what cannot be read',
    default: '7d',
  },
  {
    flags: '--type <EXT=MIME>',
    help: 'mimetype of an extension, instead of as it is served; may be repeated',
    repeat: true,
  },
  {
    flags: '--drop-outside',
    help: 'urls outside of what the LCC has of the site are dropped there in silence',
  },
  {
    flags: '--allow-address <CIDR>',
    help: 'read from these addresses, though they are not public; may be repeated',
    repeat: true,
  },
  { flags: '--config <FILE>', help: 'configuration (sections lists and bot)' },
];

/** The words on the site. */
const SAID: Readonly<Record<Coverage, string>> = {
  all: '',
  part: ', a part of the site: nothing is deleted',
  window: ', what is new on the site: nothing is deleted',
};

type Own = Pick<ListOptions, 'from' | 'site' | 'extras' | 'ignoresLastmod' | 'revisitMs'>;

/** Reads, writes, and says what came of it. */
export async function listWith(context: CommandContext, own: Own): Promise<ExitStatus> {
  const { options } = context;
  const config = configOf(context, { mayBeUnreadable: true });
  const out = new Output(context.stdout, { encoding: 'latin1' });
  const result = await writeLists(out, {
    ...own,
    tops: topsOf(context, own.site),
    stateDir: textOf(options, 'state'),
    staleMs: durationMsOf('--stale', options['stale']) ?? 0,
    types: new Map(typesOf(options['type'])),
    dropsOutside: options['dropOutside'] === true,
    limits: SOURCE_LIMITS,
    engine: engineOf(config, textsOf(options, 'allowAddress') ?? []),
    maxRetryAfterMs: MAX_RETRY_AFTER_MS,
    clock: context.clock,
    complain: context.complain,
    explain: context.verbose ? context.say : undefined,
    progress: context.progress('urls'),
    namesAll: context.verbose,
  });
  const { urls, documents, failed, leftOut, coverage } = result;
  context.say(`${amount(urls, 'url')} of ${amount(documents, 'document')}${SAID[coverage]}`);
  return failed > 0 || leftOut > 0 ? EXIT.someRejected : EXIT.ok;
}

function topsOf({ operands, input }: CommandContext, site: URL | undefined): DocumentPlace[] {
  if (operands.length === 0 && site === undefined) return [{ kind: 'stdin', input }];
  if (operands.filter(operand => operand === '-').length > 1)
    throw new LccError('usage', '-: the standard input can be read once');
  return operands.map(operand => placeOf(operand, input));
}

function engineOf(config: Config, allowAddresses: readonly string[]): ListOptions['engine'] {
  const timeoutMs = config.get('lists.timeout_ms');
  const { most: maxContentBytes, text: contentLimitText } = SOURCE_LIMITS.documentBytes;
  const maxRedirects = config.get('bot.max_redirects');
  return {
    connectTimeoutMs: timeoutMs,
    headersTimeoutMs: timeoutMs,
    idleTimeoutMs: timeoutMs,
    drainTimeoutMs: timeoutMs,
    totalTimeoutMs: config.get('lists.total_timeout_ms'),
    keepAliveMs: config.get('bot.keep_alive_ms'),
    minRateBytesPerS: 0,
    minRateText: 'any',
    minRateWindowMs: timeoutMs,
    slowAfterMs: timeoutMs,
    maxContentBytes,
    contentLimitText,
    ...HEADER_LIMITS,
    maxRedirects,
    redirectLimitText: limitText('bot.max_redirects', maxRedirects),
    userAgent: config.get('bot.user_agent'),
    allowAddresses,
    maxIdleConnections: 4,
    maxConnectionsPerHost: 1,
  };
}
