/** Registrations, their audit and mails that wait as text for people. */
import { formatAmount } from '../config/amounts.js';
import { formatHours } from '../config/hours.js';
import { formatDuration } from '../config/words.js';
import type { AuditRow } from '../db/rs/audit.js';
import type { WaitingMail } from '../db/rs/mails.js';
import type { Registration } from '../db/rs/registrations.js';
import { scoresText } from '../db/truth/pushes.js';
import type { PushRow, PushView } from '../rs/push/shown.js';
import { maskedAddress } from '../lib/mail-address.js';

/** `3  waiting  100002  http://www.example.org/  for 5 min`, and the kind of any other than new ones. */
export function registrationLine(
  { id, kind, state, pid, prefix, changedMs }: Registration,
  nowMs: number,
): string {
  const since = formatDuration(Math.max(0, Math.floor((nowMs - changedMs) / 1000)));
  return `${String(id).padEnd(5)} ${state.padEnd(9)} ${pid}  ${prefix}  for ${since}${kind === 'new' ? '' : `  ${kind}`}\n`;
}

/** A mail that the server has not taken, without what it says. */
interface ShownMail extends Pick<WaitingMail, 'id' | 'kind' | 'registration' | 'madeMs'> {
  /** All but the beginning of its name is hidden. */
  address: string;
}

export function shownMail({ id, kind, registration, address, madeMs }: WaitingMail): ShownMail {
  return { id, kind, registration, address: maskedAddress(address), madeMs };
}

export function mailLine({ id, kind, registration, address, madeMs }: ShownMail, nowMs: number): string {
  const since = formatDuration(Math.max(0, Math.floor((nowMs - madeMs) / 1000)));
  const of = registration === null ? '' : `  registration ${registration}`;
  return `${String(id).padEnd(5)} ${kind.padEnd(8)} ${address}  for ${since}${of}\n`;
}

/** Providers of one directory, or of several. */
export interface OtherProviders {
  crawlers: readonly number[];
  announcers: readonly number[];
}

export function announcedText(pid: number): string {
  return `provider ${pid}, too: fetched and kept twice where both are approved; lccpidb show --pid=${pid}`;
}

/** @param others providers that crawl or announce something of this site; undefined: not known */
export function registrationText(registration: Registration, others: OtherProviders | undefined): string {
  const { id, kind, state, pid, prefix, file, wishes, network, tries, reason, proven, madeMs, endsMs } =
    registration;
  const { bandwidth, hours, zone = 'the LCC' } = wishes;
  const rows: [string, string | undefined][] = [
    ['registration', `${id}, ${state}`],
    ['kind', kind === 'new' ? undefined : kind],
    ['provider', String(pid)],
    ['directory', prefix],
    ['file', file === '' ? undefined : prefix + file],
    ['proven', proven.length === 0 ? undefined : proven.join(' ')],
    ['last failure', reason === undefined ? undefined : `${reason.code}: ${reason.what}`],
    ['bandwidth', bandwidth === undefined ? undefined : formatAmount(bandwidth, 'bytes_per_s')],
    ['hours', hours === undefined ? undefined : `${formatHours(hours)} in the time of ${zone}`],
    ['applicant', network],
    ['checks', String(tries)],
    ['begun', new Date(madeMs).toISOString()],
    ['ends', endsMs === undefined ? undefined : new Date(endsMs).toISOString()],
    ...(others?.announcers ?? []).map((pid): [string, string] => ['announced by', announcedText(pid)]),
    ...(others?.crawlers ?? []).map((crawler): [string, string] => [
      'crawled by',
      `provider ${crawler}: fetched and kept twice; to end that: lccpidb set --pid=${crawler} --spider=no; or refuse this, and let the site take ${crawler} over: lccpidb passwd --pid=${crawler}`,
    ]),
    ['crawled by', others === undefined ? 'not known: lcc.db, or another home, cannot be read' : undefined],
  ];
  return rows
    .flatMap(([name, value]) => (value === undefined ? [] : [`${name.padEnd(13)} ${value}\n`]))
    .join('');
}

/** The pushes of a provider: a line a day and door, then those that were refused. */
export function pushesText({ doors, scores, days, refusals }: PushView): string {
  const counts = ({ sent, refused, fetched, changed, same, gone }: PushRow) =>
    `${sent} sent, ${refused} refused, ${fetched} fetched: ${changed} changed, ${same} as before, ${gone} gone`;
  return [
    `pushes        ${doors === '' ? 'by no door' : `by ${doors.replaceAll(',', ', ')}`}; ${scoresText(scores)}\n`,
    ...days.map(row => `${row.day}    ${row.door.padEnd(9)} ${counts(row)}\n`),
    ...refusals.map(
      ({ atMs, door, url, reason, urls }) =>
        `refused       ${new Date(atMs).toISOString()}  ${door.padEnd(9)} ${url}  ${reason}${urls === 1 ? '' : ` (${urls} so far)`}\n`,
    ),
  ].join('');
}

export function auditLine({ atMs, event, registration, pid, by, detail }: AuditRow): string {
  const of = [
    registration === null ? '' : `registration ${registration}`,
    pid === null ? '' : `provider ${pid}`,
  ];
  const words = [new Date(atMs).toISOString(), `${event} by ${by}`, ...of, detail].filter(
    word => word !== '',
  );
  return `${words.join('  ')}\n`;
}
