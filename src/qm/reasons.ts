/** Why the Queue Manager gets nothing done, from its status: a sentence each, for lccstat. */
import { formatAmount } from '../config/amounts.js';
import { amount, formatDuration, formatUntil } from '../config/words.js';
import { figureOf, listOf, type Status } from '../daemon/figures.js';
import { managerOf, ofSilence } from '../daemon/reasons.js';

/** A machine that has not come yet is not reported until this long after the start. */
const COMING_S = 60;
/** Refused addresses are reported for this time after the last one. */
const UNPERMITTED_MS = 3_600_000;
/** Providers that are named. */
const NAMED = 3;

/** @param queued urls */
export function ofManagers(qm: Status, _nowMs: number, queued: number): readonly string[] | string {
  const managers = listOf(qm, 'bot_managers');
  if (managers.length === 0)
    return `no Bot Manager is connected to lccd-qm${queued === 0 ? '' : `: ${amount(queued, 'url')} cannot be fetched`}`;
  return managers.flatMap(manager => {
    const { rests_ms: restsMs, reason } = manager;
    const silence = ofSilence(managerOf(manager), manager, 'lccd-qm');
    if (typeof restsMs !== 'number') return silence;
    const rest = formatDuration(Math.ceil(restsMs / 1000));
    return [...silence, `${managerOf(manager)} is given nothing for another ${rest}: ${String(reason)}`];
  });
}

export function ofMachinesRefused(qm: Status, nowMs: number): string[] {
  return listOf(qm, 'machines_refused').map(({ machine, reason, at_ms: atMs }) => {
    const at = typeof atMs === 'number' ? ` at ${formatUntil(atMs, nowMs)}` : '';
    return `machine ${String(machine)} was refused${at}, and has not come back since: ${String(reason)}`;
  });
}

export function ofMachinesAway(qm: Status, nowMs: number): string[] {
  const refused = new Set(listOf(qm, 'machines_refused').map(({ machine }) => machine));
  const mayStillCome = figureOf(qm, 'up_s') < COMING_S;
  return listOf(qm, 'machines_away')
    .filter(away => !refused.has(away['machine']) && !(away['since_ms'] === null && mayStillCome))
    .map(away => ofAway(away, nowMs));
}

function ofAway({ machine, since_ms: sinceMs, files, pages }: Status, nowMs: number): string {
  const since =
    typeof sinceMs === 'number'
      ? `since ${formatUntil(sinceMs, nowMs)}`
      : 'and has not come since lccd-qm started';
  const waiting = [
    ...(Number(files) > 0 ? [amount(Number(files), 'file')] : []),
    ...(Number(pages) > 0 ? [`${amount(Number(pages), 'page')} in spool/fsm`] : []),
  ].join(' and ');
  const id = String(machine);
  const deletions = waiting === '' ? '' : `${waiting} to be deleted wait for it, and `;
  return `machine ${id} is away ${since}: ${deletions}its content cannot be read; if it never comes back: lccfsck --repair --store-lost --machineid=${id} --store=DIR, an empty folder`;
}

/** Providers whose site refuses the login that it is given. */
export function ofLogins({ logins_refused: pids }: Status): string | false {
  if (!Array.isArray(pids) || pids.length === 0) return false;
  return `the login for the site of ${namesOf(pids)} is refused (401), and what is refused is removed: lccpidb set --pid=${pids[0]} --loginfile=FILE, then lccctl want-full --pid=${pids[0]}`;
}

/** Providers with a login that the Queue Manager cannot read. */
export function ofLostLogins({ logins_lost: pids }: Status): string | false {
  if (!Array.isArray(pids) || pids.length === 0) return false;
  return `the login for the site of ${namesOf(pids)} cannot be read, and nothing is fetched of it: put the file logins of $LCC_HOME back, readable to lccd-qm, and restart that; or lccpidb set --pid=${pids[0]} --loginfile=FILE`;
}

/** Addresses from which robots may not fetch, on whichever machine they run. */
export function ofUnpermitted(
  { unpermitted, unpermitted_at_ms: atMs }: Status,
  nowMs: number,
): string | false {
  if (typeof atMs !== 'number' || nowMs - atMs >= UNPERMITTED_MS) return false;
  return `robots have refused ${amount(Number(unpermitted), 'fetch', 'fetches')} since the start of lccd-qm, the last at ${formatUntil(atMs, nowMs)}: address not permitted (610); for a private network start lccd with --allow-address, or set bot.allow_addresses on each machine with robots, then lccctl want-full, and give the seeds of crawls again (lcclinks)`;
}

/** Providers of which more pages are gone than may be removed unconfirmed. */
export function ofGonePages({ gone_kept_back: pids }: Status): string | false {
  if (!Array.isArray(pids) || pids.length === 0) return false;
  return `more pages of ${namesOf(pids)} are gone than may go in a day, and stay; if they are meant to go: lccpidb set --pid=${pids[0]} --fuse-percent=100`;
}

function namesOf(pids: readonly unknown[]): string {
  const more = pids.length > NAMED ? ` and ${pids.length - NAMED} more` : '';
  return `provider${pids.length === 1 ? '' : 's'} ${pids.slice(0, NAMED).join(', ')}${more}`;
}

/** No room on the disk; else none in the queue. */
export function ofRoom({ no_room: noRoom, unses_shut_out: isFull }: Status): string | false {
  return typeof noRoom === 'string'
    ? `lccd-qm cannot write its database, results and sets wait until there is room: ${noRoom}; free some`
    : isFull === true &&
        'the queue is full (qm.max_queue_urls): sets wait with the UNSes until it has shrunk';
}

export function ofPagesAside(qm: Status): string | false {
  const pages = figureOf(qm, 'freed_pages_bad');
  return (
    pages > 0 &&
    `${amount(pages, 'damaged page of deletions is', 'damaged pages of deletions are')} set aside in spool/fsm/bad: lccfsck --repair removes the files; then remove ${pages === 1 ? 'it' : 'them'}`
  );
}

/** True if the limit of the whole LCC is what keeps providers waiting. */
export function ofBandwidth(qm: Status, nowMs: number): string | false {
  const untilMs = qm['bandwidth_due_at_ms'];
  const waiting = figureOf(qm, 'providers_waiting');
  return (
    typeof untilMs === 'number' &&
    untilMs > nowMs &&
    waiting > 0 &&
    `${amount(waiting, 'provider waits', 'providers wait')} for the bandwidth of the LCC (qm.bandwidth_bytes_per_s), which is used up until ${formatUntil(untilMs, nowMs)}; lccctl flush forgets that`
  );
}

/** The write-ahead log of the database, which grows for as long as somebody reads one state of it. */
const LONG_LOG_BYTES = 256 * 1024 * 1024;

export function ofLongLog({ log_bytes: bytes }: Status): string | false {
  if (Number(bytes ?? 0) < LONG_LOG_BYTES) return false;
  return `lcc.db-wal has grown to ${formatAmount(Number(bytes), 'bytes')}: a program reads the database for long, such as lccq into a pager, and the log shrinks when that ends; fuser lcc.db names it`;
}
