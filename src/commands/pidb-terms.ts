/** A provider's terms as options of lccpidb. */
import { parseAmount, type Unit } from '../config/amounts.js';
import {
  areRanges,
  formatHours,
  hoursOfMask,
  isNever,
  isTooFine,
  maskOf,
  WEEK_SLOTS,
  type Slots,
} from '../config/hours.js';
import type { ProviderTerms } from '../db/providers/pidb.js';
import { LccError } from '../lib/errors.js';
import { parseDoors, PUSH_DOORS } from '../wire/push.js';
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
  { flags: '--pace <TIME>', help: 'pause between two fetches from it, such as 500ms; default = qm.pace_ms' },
  { flags: '--spider <YES-OR-NO>', help: 'whether what its pages link to is fetched, too' },
  {
    flags: '--scan <YES-OR-NO>',
    help: 'whether lccscan asks again for what it holds; default = as --spider',
  },
  {
    flags: '--scan-per-day <N>',
    help: 'urls a day that lccscan asks for; default = links.scan_per_day, scan_percent_per_day',
  },
  {
    flags: '--push <DOORS>',
    help: 'doors by which its pages may be pushed: indexnow,ping,feed; none = by no door',
  },
  { flags: '--group <NAME>', help: 'shares qm.group_lanes with others of that name; none = with nobody' },
  {
    flags: '--user-agent <TEXT>',
    help: 'name under which the robot asks its site; default = bot.user_agent',
  },
];

const MAX_FUSE_URLS = 1_000_000_000;
const MAX_SCAN_URLS = 1_000_000_000;
const HOURS_ADVICE = 'give hours such as 0-7,22-23, or always; 0-23 of the day, 0-167 of the week';

/** Options whose name is not the term's in lower case. */
const OPTION_OF: Partial<Record<keyof ProviderTerms, { key: string; flag: string }>> = {
  fusepercent: { key: 'fusePercent', flag: 'fuse-percent' },
  fuseurls: { key: 'fuseUrls', flag: 'fuse-urls' },
  fetchtimeout: { key: 'timeout', flag: 'timeout' },
  pacems: { key: 'pace', flag: 'pace' },
  useragent: { key: 'userAgent', flag: 'user-agent' },
  groupname: { key: 'group', flag: 'group' },
  scanperday: { key: 'scanPerDay', flag: 'scan-per-day' },
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
    ...read('filesmax', integer(0), 'give a number of files, of 15 digits at most'),
    ...read('spacemax', size, 'give a number of bytes, such as 500MB'),
    ...read('fullsetsallowed', integer(0), 'give a number of full sets, of 15 digits at most'),
    ...read('bandwidth', rate, 'give bytes per second, such as 100KB; 0 = unlimited'),
    ...(timeofday === undefined ? {} : { timeofday }),
    ...read('priority', integer(0, 2), 'give 0, 1 or 2'),
    ...read('parallel', integer(1, 64), 'give 1 to 64'),
    ...read('enabled', yesOrNo, 'give yes or no'),
    ...read('enforce', yesOrNo, 'give yes or no'),
    ...read('fusepercent', orDefault(integer(0, 100)), 'give 0 to 100, or default'),
    ...read(
      'fuseurls',
      orDefault(integer(0, MAX_FUSE_URLS)),
      'give a number of urls up to a billion, or default',
    ),
    ...read('maxlen', orDefault(atLeastOne(size)), 'give a number of bytes from 1, such as 2MB, or default'),
    ...read('fetchtimeout', orDefault(seconds), 'give seconds, 0.01 to 3600, or default'),
    ...read(
      'pacems',
      orDefault(pause),
      'give a time with its unit, such as 500ms or 2s, 1h at most; 0 or default',
    ),
    ...read('spider', yesOrNo, 'give yes or no'),
    ...read('scan', orDefault(yesOrNo), 'give yes, no or default'),
    ...read(
      'scanperday',
      orDefault(integer(0, MAX_SCAN_URLS)),
      'give a number of urls up to a billion, or default',
    ),
    ...read('push', text => parseDoors(text)?.join(','), `give some of ${PUSH_DOORS.join(',')}, or none`),
    ...read('groupname', groupName, 'give a name without blanks, 255 characters at most; none = no group'),
    ...read('useragent', orDefault(headerText), 'give one line of printable ASCII, or default'),
  };
}

/** Warnings about options that were understood, and are hardly meant. */
export function warningsOf(
  terms: Partial<ProviderTerms>,
  { slots, perHost }: { slots: Slots; perHost: number },
): string[] {
  const nothing = (['filesmax', 'spacemax'] as const).flatMap(name =>
    terms[name] === 0
      ? [
          `--${name}=0: nothing of it may be stored; what waits already is fetched and refused, lccctl pause keeps it`,
        ]
      : [],
  );
  const isStrict = terms.timeofday !== undefined && isTooFine(terms.timeofday, slots);
  const { parallel = 1, pacems } = terms;
  return [
    ...nothing,
    ...(parallel > 1 && (pacems ?? 0) > 0
      ? ['--parallel: without effect beside --pace, with which one url is fetched at a time']
      : parallel > perHost
        ? [`--parallel=${parallel}: no more than ${perHost} at one host (qm.max_connections_per_host)`]
        : []),
    ...(isStrict
      ? [
          `--timeofday: of hours of the week those that are on every day count, as qm.slots = ${slots}: ${formatHours(hoursOfMask(terms.timeofday ?? '', slots))}`,
        ]
      : []),
  ];
}

function integer(min: number, max = Number.MAX_SAFE_INTEGER): (text: string) => number | undefined {
  return text => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : NaN;
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

/** With a unit: a bare number might be meant as seconds or as milliseconds. */
function pause(text: string): number | undefined {
  if (text === '0') return 0;
  const ms = /[a-z]/i.test(text) ? parseAmount(text, 'ms') : undefined;
  return ms !== undefined && Number.isInteger(ms) && ms <= 3_600_000 ? ms : undefined;
}

/** Text that can stand in a header, and in a terminal. */
function headerText(text: string): string | undefined {
  return /^[\x21-\x7e](?:[\x20-\x7e]{0,254}[\x21-\x7e])?$/.test(text) ? text : undefined;
}

/** null: no group. */
function groupName(text: string): string | null | undefined {
  if (text === 'none') return null;
  return /^[\x21-\x7e]{1,255}$/.test(text) ? text : undefined;
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
