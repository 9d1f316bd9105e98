/** A provider as text for people. */
import { formatAmount } from '../config/amounts.js';
import { formatHours, type Slots } from '../config/hours.js';
import { fullSetsUsed, type AbsentPages, type Provider } from '../db/providers/pidb.js';
import type { GivenRoot } from '../db/providers/given-roots.js';
import type { ProviderStanding } from '../db/queue/shape.js';
import { obstacleOf } from '../run/look/obstacle.js';
import { isAllFailed, type Wait } from '../run/look/queue.js';
import { amount } from '../config/words.js';
import { NO_PASSWORD } from '../lib/password.js';
import { codeText } from '../wire/codes.js';
import { scoresText, type ShownPushes } from '../db/truth/pushes.js';
import type { ProviderTruth } from '../db/truth/reader.js';

/** Errors of one code. */
interface ErrorCount {
  code: number;
  errors: number;
}

/** Facts besides the database that decide on the words about a provider. */
interface Circumstances {
  nowMs: number;
  slots: Slots;
  /** In which full sets are counted. */
  fullSetPeriodMs: number;
  /** Code and host of the last failure for which it is left alone, where they are known. */
  failure: string | undefined;
  /** When the first of its failed urls is tried again, milliseconds since 1970, where that is known. */
  retryAtMs: number | undefined;
  /** The wait that the Queue Manager has for it. */
  wait: Wait | undefined;
  /** Roots that a reset of the password has given up. */
  givenroots: readonly GivenRoot[];
  truth: ProviderTruth | undefined;
  pushes: ShownPushes;
  /** Absent pages of a crawl. */
  absent: AbsentPages | undefined;
}

function loginText(user: string | null | undefined): string {
  if (user === undefined) return 'none';
  return user === null
    ? 'set; the file logins is for the user of lccd-qm to read'
    : `${user}, with a password`;
}

/** One provider, one term a line; times are local. */
export function providerText(
  provider: Provider,
  loginUser: string | null | undefined,
  standing: ProviderStanding,
  codes: readonly ErrorCount[],
  circumstances: Circumstances,
): string {
  const { nowMs, fullSetPeriodMs, givenroots, truth, pushes, absent } = circumstances;
  const rows: [string, string | number][] = [
    ['pid', provider.pid],
    ...provider.roots.map((root): [string, string] => ['root', root]),
    ...givenroots.map(({ root, at }): [string, string] => [
      'root given up',
      `${root}, ${goesText(at * 1000, nowMs)}`,
    ]),
    ['origin', provider.origin === 'rs' ? 'registered by itself (lccrs)' : 'added by the operator'],
    ['enabled', provider.enabled ? 'yes' : 'no'],
    ...row(
      'password',
      provider.password === NO_PASSWORD
        ? `none: it is crawled only (lccpidb passwd --pid=${provider.pid} gives it one)`
        : undefined,
    ),
    ...row('leaves', provider.leaveat === null ? undefined : goesText(provider.leaveat * 1000, nowMs)),
    ['fetched from', fetchedText(standing, circumstances)],
    ['files', `${provider.filesused} of ${provider.filesmax}`],
    ['space', `${provider.spaceused} of ${provider.spacemax} bytes`],
    ['full sets', fullSetsText(provider, nowMs, fullSetPeriodMs)],
    ['full set wanted', provider.fullsetwanted ?? 'no'],
    ['bandwidth', provider.bandwidth === 0 ? 'unlimited' : `${provider.bandwidth} bytes/s`],
    ['time of day', provider.timeofday === '' ? 'always' : formatHours(provider.timeofday)],
    ['priority', provider.priority],
    ['parallel', provider.parallel],
    ['pace', paceText(provider.pacems)],
    ['spider', provider.spider ? 'yes' : 'no'],
    ['scan', scanText(provider)],
    ['push', provider.push === '' ? 'by no door' : provider.push.replaceAll(',', ', ')],
    ['group', provider.groupname ?? 'none'],
    ['enforce', provider.enforce ? 'yes' : 'no'],
    ['fuse', fuseText(provider)],
    ['longest content', provider.maxlen === null ? 'as configured' : `${provider.maxlen} bytes`],
    ['timeout', provider.fetchtimeout === null ? 'as configured' : `${provider.fetchtimeout / 1000} s`],
    ['user agent', provider.useragent ?? 'as configured'],
    ['login', loginText(loginUser)],
    [
      'held back',
      standing.held === 0 ? 'nothing' : `${amount(standing.held, 'removal')} (lccctl release or discard)`,
    ],
    ['queued', provider.nurlproc],
    ['errors', errorsText(provider.nurlerrs, codes)],
    ...row('not to be had', absent && absentText(absent)),
    [
      'last connection',
      provider.lastconnseq === 0
        ? 'never'
        : `${provider.lastconnseq} from ${provider.lastconnip || 'this machine'}${provider.lastconntime === 0 ? '' : `, ${localTime(provider.lastconntime * 1000)}`}`,
    ],
    ['truthfulness', truthText(truth)],
    ['pushes', pushesText(pushes)],
    ['last set', provider.lastset === 0 ? 'never' : localTime(provider.lastset * 1000)],
  ];
  return rows.map(([name, value]) => `${`${name}:`.padEnd(17)}${value}\n`).join('');
}

/** A row of what not every provider has. */
function row(name: string, value: string | undefined): [string, string][] {
  return value === undefined ? [] : [[name, value]];
}

/** `87 of 100; 12 changed, 1 not, 0 not to be had; of 59 audited 2 silent, 1 late: 0.6 to 10.3 % of all` */
function truthText(truth: ProviderTruth | undefined): string {
  if (truth === undefined) return 'not known';
  const { counts, audit, hasEffects } = truth;
  const announced = counts.changed + counts.same + counts.failed;
  const round = (n: number) => String(Math.round(n * 10) / 10);
  return [
    `${truth.truth} of 100${hasEffects ? '' : ' (without effects)'}`,
    announced === 0
      ? 'nothing announced as changed'
      : `${round(counts.changed)} announced had changed, ${round(counts.same)} had not, ${round(counts.failed)} were not to be had`,
    audit === undefined
      ? 'not audited'
      : `of ${audit.settled} audited ${audit.silent} silent: ${round(100 * audit.least)} to ${round(100 * audit.most)} % of all`,
  ].join('; ');
}

/** `indexnow 35 of 100, slow; 120 looked at in 30 days, 30 had changed, 80 had not, 5 were gone` */
function pushesText({ scores, days }: ShownPushes): string {
  const sum = (name: 'fetched' | 'changed' | 'same' | 'gone') =>
    days.reduce((total, day) => total + day[name], 0);
  if (days.length === 0) return 'none';
  return [
    scoresText(scores),
    `${sum('fetched')} looked at in 30 days, ${sum('changed')} had changed, ${sum('same')} had not, ${sum('gone')} were gone`,
  ].join('; ');
}

/** Codes that are named. */
const CODES_SHOWN = 5;

/** `12 not delivered: 404 (8), 606 (2), 2 more not kept`: errors beyond 1000 are only counted. */
function errorsText(total: number, codes: readonly ErrorCount[]): string {
  if (total === 0) return 'none to be delivered';
  const unkept = total - sumOf(codes);
  const more = unkept > 0 ? [`${unkept} more not kept`] : [];
  return `${total} not delivered: ${[...namedCodes(codes), ...more].join(', ')}`;
}

function sumOf(codes: readonly ErrorCount[]): number {
  return codes.reduce((sum, { errors }) => sum + errors, 0);
}

function namedCodes(codes: readonly ErrorCount[]): string[] {
  const named = codes.slice(0, CODES_SHOWN).map(({ code, errors }) => `${code} (${errors})`);
  const others = sumOf(codes.slice(CODES_SHOWN));
  return others > 0 ? [...named, `others (${others})`] : named;
}

/** `2 of its crawl: 404 (1), 610 (1); last http://… (610, address not permitted)` */
function absentText({ codes, last, isCut }: AbsentPages): string {
  const named = namedCodes(codes).join(', ');
  const which = last === undefined ? '' : `; last ${last.curl} (${last.code}, ${codeText(last.code)})`;
  return `${sumOf(codes)}${isCut ? ' or more' : ''} of its crawl: ${named}${which}`;
}

/** True if anything keeps the LCC from fetching, and until when. */
function fetchedText(
  standing: ProviderStanding,
  { nowMs, slots, failure, retryAtMs, wait }: Circumstances,
): string {
  const obstacle = obstacleOf(standing, nowMs, slots);
  const { state, until_ms: untilMs } =
    wait !== undefined &&
    wait.state !== 'waiting' &&
    (obstacle === undefined || obstacle.state === 'bandwidth')
      ? wait
      : (obstacle ?? {});
  const notBefore = untilMs === undefined ? 'not now' : `not before ${localTime(untilMs)}`;
  switch (state) {
    case undefined:
    case 'waiting':
      return standing.failed === 0 ? 'yes' : failedText(standing, retryAtMs);
    case 'moving':
      return 'no, it moves to another home (lccmap list)';
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
    case 'bandwidth':
      return `${notBefore}, for its bandwidth (lccctl flush)`;
    case 'host':
      return 'when a place at its host is free (qm.max_connections_per_host)';
    case 'pace':
      return `${notBefore}, for its pace (lccctl flush)`;
    case 'lcc-bandwidth':
      return `${notBefore}, for the bandwidth of the LCC (lccctl flush without --pid)`;
    case 'unasked':
      return `what nobody announced ${notBefore}: no answer, or a wish for patience (lccctl flush)`;
  }
}

/** The ration is whole again when its period is over. */
function fullSetsText(provider: Provider, nowMs: number, periodMs: number): string {
  const used = fullSetsUsed(provider, nowMs, periodMs);
  const until = used === 0 ? '' : `, until ${localTime(provider.fullsetssince * 1000 + periodMs)}`;
  return `${used} of ${provider.fullsetsallowed} used${until}`;
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

function localTime(atMs: number): string {
  const at = new Date(atMs);
  const two = (value: number) => String(value).padStart(2, '0');
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${day} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

function paceText(ms: number | null): string {
  if (ms === null) return 'as configured';
  return ms === 0 ? 'none' : `${formatAmount(ms, 'ms')} between two fetches`;
}

function fuseText({ fusepercent, fuseurls }: Provider): string {
  if (fusepercent === null && fuseurls === null) return 'as configured';
  return `${fusepercent === null ? 'share as configured' : `${fusepercent} %`}, ${fuseurls === null ? 'number as configured' : `${fuseurls} urls`}`;
}

function goesText(atMs: number, nowMs: number): string {
  return atMs > nowMs ? `its content goes ${localTime(atMs)}` : 'its content is removed';
}

/** One provider on one line: pid, enabled (or disabled, paused), files, bytes, roots; tab-separated. */
export function providerLine(provider: Provider): string {
  const { pid, enabled, paused, filesused, spaceused, roots } = provider;
  const state = !enabled ? 'disabled' : paused !== 0 ? 'paused' : 'enabled';
  return `${[pid, state, filesused, spaceused, roots.join(' ')].join('\t')}\n`;
}

function scanText({ scan, spider, scanperday }: Provider): string {
  if (!(scan ?? spider)) return 'no';
  return scanperday === null ? 'as configured' : `${amount(scanperday, 'url')} a day`;
}
