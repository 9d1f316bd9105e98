/** A provider's terms as options of lccpidb, and as text for people. */
import { parseAmount, type Unit } from '../config/amounts.js';
import {
  areRanges,
  hoursOfMask,
  isNever,
  isTooFine,
  maskOf,
  WEEK_SLOTS,
  type Slots,
} from '../config/hours.js';
import type { Provider, ProviderTerms } from '../db/pidb.js';
import type { ProviderStanding } from '../db/queue/shape.js';
import { adviceOn } from '../db/terms.js';
import { LccError } from '../lib/errors.js';
import { obstacleOf } from '../run/obstacle.js';
import { isAllFailed, type HeldUp } from '../run/queue.js';
import { amount } from '../run/words.js';
import type { OptionSpec, OptionValues } from './run.js';

export const TERM_OPTIONS: OptionSpec[] = [
  { flags: '--filesmax <N>', help: 'urls it may have here' },
  { flags: '--spacemax <BYTES>', help: 'bytes it may have here; 500MB, 2GB are understood' },
  { flags: '--fullsetsallowed <N>', help: 'full sets it may send unasked in qm.full_set_period' },
  { flags: '--bandwidth <BYTES>', help: 'bytes per second fetched from it; 0 = unlimited' },
  { flags: '--timeofday <HOURS>', help: 'hours in which it is fetched from: 0-7,22-23; always' },
  { flags: '--priority <N>', help: '2 before 1 before 0' },
  { flags: '--parallel <N>', help: 'urls fetched from it at a time, 1 to 64' },
  { flags: '--enabled <YES-OR-NO>', help: 'whether it may connect' },
  { flags: '--enforce <YES-OR-NO>', help: 'whether announced md5 and len must be met (code 612)' },
  {
    flags: '--fuse-percent <N>',
    help: 'share of its urls a set may remove; 100 = all; default = qm.fuse_percent',
  },
  { flags: '--fuse-urls <N>', help: 'urls a set may remove whatever their share; default = qm.fuse_urls' },
  { flags: '--maxlen <BYTES>', help: 'longest content fetched from it; default = bot.max_content_bytes' },
  { flags: '--timeout <SECONDS>', help: 'for one fetch from it; default = bot.total_timeout_ms' },
  { flags: '--user-agent <TEXT>', help: 'what its site is told of the robot; default = bot.user_agent' },
];

/** The first of the terms that is given, as `--priority`. */
export function termGiven(options: OptionValues): string | undefined {
  const flags = TERM_OPTIONS.map(option => option.flags.split(' ', 1)[0] ?? '');
  return flags.find(flag => options[keyOf(flag)] !== undefined);
}

/** `--fuse-urls` as the parser names it: `fuseUrls`. */
function keyOf(flag: string): string {
  return flag.slice(2).replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}

const MAX_FUSE_URLS = 1_000_000_000;
const HOURS_ADVICE = 'give hours such as 0-7,22-23, or always; 0-23 of the day, 0-167 of the week';

/** Options whose name is not the term's in lower case. */
const OPTION_OF: Partial<Record<keyof ProviderTerms, { key: string; flag: string }>> = {
  fusepercent: { key: 'fusePercent', flag: 'fuse-percent' },
  fuseurls: { key: 'fuseUrls', flag: 'fuse-urls' },
  fetchtimeout: { key: 'timeout', flag: 'timeout' },
  useragent: { key: 'userAgent', flag: 'user-agent' },
};

/**
 * The terms given as options.
 * @param slots of the period that hours are about
 * @throws LccError `usage` naming the option and what it takes
 */
export function termsOf(options: OptionValues, slots: Slots): Partial<ProviderTerms> {
  const given = (name: keyof ProviderTerms): string | undefined => {
    const value = options[OPTION_OF[name]?.key ?? name];
    return typeof value === 'string' ? value : undefined;
  };
  const read = <N extends keyof ProviderTerms, T>(
    name: N,
    parse: (text: string) => T | undefined,
    advice: string,
  ): Partial<Record<N, T>> => {
    const text = given(name);
    if (text === undefined) return {};
    const value = parse(text);
    if (value === undefined)
      throw new LccError('usage', `--${OPTION_OF[name]?.flag ?? name}=${text}: ${advice}`);
    return { [name]: value } as Partial<Record<N, T>>;
  };
  const { timeofday } = read('timeofday', timeOfDay, HOURS_ADVICE);
  if (timeofday !== undefined && isNever(hoursOfMask(timeofday, slots)))
    throw new LccError(
      'usage',
      `--timeofday=${given('timeofday')}: never with qm.slots = ${slots}, where only hours that are on every day count; give hours of the day, 0-23, or set qm.slots = ${WEEK_SLOTS}`,
    );
  return {
    ...read('filesmax', integer(0), 'give a number of files'),
    ...read('spacemax', size, 'give a number of bytes, such as 500MB'),
    ...read('fullsetsallowed', integer(0), 'give a number of full sets'),
    ...read('bandwidth', rate, 'give bytes per second, such as 100KB; 0 = unlimited'),
    ...(timeofday === undefined ? {} : { timeofday }),
    ...read('priority', integer(0, 2), 'give 0, 1 or 2'),
    ...read('parallel', integer(1, 64), 'give 1 to 64'),
    ...read('enabled', yesOrNo, 'give yes or no'),
    ...read('enforce', yesOrNo, 'give yes or no'),
    ...read('fusepercent', orDefault(integer(0, 100)), 'give 0 to 100, or default'),
    ...read('fuseurls', orDefault(integer(0, MAX_FUSE_URLS)), 'give a number of urls, or default'),
    ...read('maxlen', orDefault(atLeastOne(size)), 'give a number of bytes from 1, such as 2MB, or default'),
    ...read('fetchtimeout', orDefault(seconds), 'give seconds, 0.01 to 3600, or default'),
    ...read('useragent', orDefault(headerText), 'give one line of printable ASCII, or default'),
  };
}

/** Errors of one code. */
interface ErrorCount {
  code: number;
  errors: number;
}

/** What besides the database decides what is said of a provider. */
export interface Circumstances {
  nowMs: number;
  slots: Slots;
  /** Code and host of the last failure for which it is left alone, where they are known. */
  failure: string | undefined;
  /** When the first of its failed urls is tried again, milliseconds since 1970, where that is known. */
  retryAtMs: number | undefined;
  /** The UNS whose earlier sets its next ones wait for. */
  heldUp: HeldUp | undefined;
}

/** One provider, one term a line; times are local. */
export function providerText(
  provider: Provider,
  loginUser: string | undefined,
  standing: ProviderStanding,
  codes: readonly ErrorCount[],
  { nowMs, slots, failure, retryAtMs, heldUp }: Circumstances,
): string {
  const rows: [string, string | number][] = [
    ['pid', provider.pid],
    ...(provider.damaged ? [['damaged', adviceOn(provider.pid)] satisfies [string, string]] : []),
    ...provider.roots.map((root): [string, string] => ['root', root]),
    ['enabled', provider.enabled ? 'yes' : 'no'],
    [
      'fetched from',
      provider.damaged ? 'no, it is damaged' : fetchedText(standing, { nowMs, slots, failure, retryAtMs }),
    ],
    ['files', `${provider.filesused} of ${provider.filesmax}`],
    ['space', `${provider.spaceused} of ${provider.spacemax} bytes`],
    ['full sets', `${provider.fullsetsused} of ${provider.fullsetsallowed} used`],
    ['full set wanted', provider.fullsetwanted ?? 'no'],
    ['bandwidth', provider.bandwidth === 0 ? 'unlimited' : `${provider.bandwidth} bytes/s`],
    ['time of day', provider.timeofday === '' ? 'always' : formatTimeOfDay(provider.timeofday)],
    ['priority', provider.priority],
    ['parallel', provider.parallel],
    ['enforce', provider.enforce ? 'yes' : 'no'],
    ['fuse', fuseText(provider)],
    ['longest content', provider.maxlen === null ? 'as configured' : `${provider.maxlen} bytes`],
    ['timeout', provider.fetchtimeout === null ? 'as configured' : `${provider.fetchtimeout / 1000} s`],
    ['user agent', provider.useragent ?? 'as configured'],
    ['login', loginUser === undefined ? 'none' : `${loginUser}, with a password`],
    [
      'held back',
      standing.held === 0 ? 'nothing' : `${amount(standing.held, 'removal')} (lccctl release or discard)`,
    ],
    ['queued', provider.nurlproc],
    ...(heldUp === undefined ? [] : [['held up', heldUpText(heldUp)] satisfies [string, string]]),
    ['errors', errorsText(provider.nurlerrs, codes)],
    [
      'last connection',
      provider.lastconnseq === 0
        ? 'never'
        : `${provider.lastconnseq} from ${provider.lastconnip || 'this machine'}${provider.lastconntime === 0 ? '' : `, ${localTime(provider.lastconntime * 1000)}`}`,
    ],
    ['last set', provider.lastset === 0 ? 'never' : localTime(provider.lastset * 1000)],
  ];
  return rows.map(([name, value]) => `${`${name}:`.padEnd(17)}${value}\n`).join('');
}

/** Codes that are named. */
const CODES_SHOWN = 5;

/** `12 not delivered: 404 (10), 606 (2)`; those beyond what is kept are only counted. */
function errorsText(total: number, codes: readonly ErrorCount[]): string {
  if (total === 0) return 'none to be delivered';
  const counts = codes.slice(0, CODES_SHOWN).map(({ code, errors }) => `${code} (${errors})`);
  const others = total - codes.slice(0, CODES_SHOWN).reduce((sum, { errors }) => sum + errors, 0);
  return `${total} not delivered: ${[...counts, ...(others > 0 ? [`others (${others})`] : [])].join(', ')}`;
}

/** Whether anything keeps the LCC from fetching, and until when. */
function fetchedText(
  standing: ProviderStanding,
  { nowMs, slots, failure, retryAtMs }: Omit<Circumstances, 'heldUp'>,
): string {
  const { state, until_ms: untilMs } = obstacleOf(standing, nowMs, slots) ?? {};
  const notBefore = untilMs === undefined ? 'not now' : `not before ${localTime(untilMs)}`;
  switch (state) {
    case undefined:
      return standing.failed === 0 ? 'yes' : failedText(standing, retryAtMs);
    case 'disabled':
      return 'no, it is disabled';
    case 'paused':
      return 'no, it is paused (lccctl resume)';
    case 'back-off':
      return `${notBefore}, ${troubleText(standing.backoffs, failure)} (lccctl flush)`;
    case 'closed':
      return untilMs === undefined ? 'never, it is closed at all hours' : `${notBefore}, for its hours`;
    case 'later':
      return `${notBefore}, ${standing.later === 1 ? 'its url waits for hours of its own' : `its ${standing.later} urls wait for hours of their own`}`;
    case 'delayed':
      return `${notBefore}, for its bandwidth`;
  }
}

function heldUpText({ uns, until_ms: untilMs }: HeldUp): string {
  return `sets wait in a UNS for earlier ones of the UNS ${uns}, until ${localTime(untilMs)} at most`;
}

function failedText(standing: ProviderStanding, retryAtMs: number | undefined): string {
  const at =
    retryAtMs === undefined ? '' : `, ${standing.failed === 1 ? '' : 'the next '}at ${localTime(retryAtMs)}`;
  const what = `${amount(standing.failed, 'url')} failed and ${standing.failed === 1 ? 'is' : 'are'} tried again${at}`;
  return `${isAllFailed(standing) ? 'not now' : 'yes'}, ${what} (lccctl flush)`;
}

function troubleText(failures: number, last: string | undefined): string {
  if (failures === 0) return `its site asks for patience${last === undefined ? '' : `: ${last}`}`;
  const times = failures === 1 ? 'once' : `${failures} times`;
  return `its site has failed as a whole ${times}${last === undefined ? '' : `: ${last}`}`;
}

/** What was understood, and is hardly meant. */
export function warningsOf(terms: Partial<ProviderTerms>, slots: Slots): string[] {
  const nothing = (['filesmax', 'spacemax'] as const).flatMap(name =>
    terms[name] === 0
      ? [
          `--${name}=0: nothing of it may be stored; what waits already is fetched and refused, lccctl pause keeps it`,
        ]
      : [],
  );
  const isStrict = terms.timeofday !== undefined && isTooFine(terms.timeofday, slots);
  return [
    ...nothing,
    ...(isStrict
      ? [
          `--timeofday: of hours of the week those that are on every day count, as qm.slots = ${slots}: ${formatTimeOfDay(hoursOfMask(terms.timeofday ?? '', slots))}`,
        ]
      : []),
  ];
}

function localTime(atMs: number): string {
  const at = new Date(atMs);
  const two = (value: number) => String(value).padStart(2, '0');
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${day} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

function fuseText({ fusepercent, fuseurls }: Provider): string {
  if (fusepercent === null && fuseurls === null) return 'as configured';
  return `${fusepercent === null ? 'share as configured' : `${fusepercent} %`}, ${fuseurls === null ? 'number as configured' : `${fuseurls} urls`}`;
}

/** One provider on one line: pid, enabled (or disabled, paused, damaged), files, bytes, roots; tab-separated. */
export function providerLine(provider: Provider): string {
  const { pid, enabled, paused, filesused, spaceused, roots, damaged } = provider;
  const state = damaged ? 'damaged' : !enabled ? 'disabled' : paused !== 0 ? 'paused' : 'enabled';
  return `${[pid, state, filesused, spaceused, roots.join(' ')].join('\t')}\n`;
}

function integer(min: number, max = Number.MAX_SAFE_INTEGER): (text: string) => number | undefined {
  return text => {
    const value = /^\d{1,16}$/.test(text) ? Number(text) : NaN;
    return value >= min && value <= max ? value : undefined;
  };
}

function atLeastOne(parse: (text: string) => number | undefined): (text: string) => number | undefined {
  return text => {
    const value = parse(text);
    return value === 0 ? undefined : value;
  };
}

function seconds(text: string): number | undefined {
  const ms = /^\d{1,4}(?:\.\d{1,3})?$/.test(text) ? Math.round(Number(text) * 1000) : NaN;
  return ms >= 10 && ms <= 3_600_000 ? ms : undefined;
}

/** What can stand in a header, and in a terminal. */
function headerText(text: string): string | undefined {
  return /^[\x21-\x7e](?:[\x20-\x7e]{0,254}[\x21-\x7e])?$/.test(text) ? text : undefined;
}

/** null: as configured for all. */
function orDefault<T>(parse: (text: string) => T | undefined): (text: string) => T | null | undefined {
  return text => (text === 'default' ? null : parse(text));
}

const size = amountIn('bytes');
/** As the tools print it, too: `100KB/s`. */
const rate = amountIn('bytes_per_s');

function amountIn(unit: Unit): (text: string) => number | undefined {
  return text => {
    const value = parseAmount(text, unit);
    return Number.isSafeInteger(value) ? value : undefined;
  };
}

function yesOrNo(text: string): boolean | undefined {
  return text === 'yes' ? true : text === 'no' ? false : undefined;
}

/** Ranges of hours as a mask (`maskOf`). */
function timeOfDay(text: string): string | undefined {
  if (text === 'always') return '';
  return areRanges(text) ? maskOf(text) : undefined;
}

function formatTimeOfDay(mask: string): string {
  const ranges = [...mask.matchAll(/1+/g)].map(({ index, 0: { length } }) =>
    length === 1 ? `${index}` : `${index}-${index + length - 1}`,
  );
  return ranges.join(',') || 'never';
}
