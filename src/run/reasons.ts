/** What an operator should know unasked: why nothing moves, what is broken, what waits for a decision. */
import { COUNTED_FAILED } from '../db/queue/failed.js';
import type { QueueSummary } from '../db/queue/shape.js';
import { formatBytes } from '../lib/bytes-text.js';
import type { DaemonStatus, Look } from './ask.js';
import { figureOf, listOf } from './figures.js';
import { isOfKind } from './kinds.js';
import { amount, formatDuration, formatUntil } from './words.js';

/** A machine that has not come yet is not reported until this long after the start. */
const COMING_S = 60;

/** One sentence each, the most serious first; empty when all is well. */
export function reasonsOf(looks: readonly Look[], queue: QueueSummary | undefined, nowMs: number): string[] {
  const answers = (kind: string): DaemonStatus[] =>
    looks.flatMap(look => ('status' in look && isOfKind(look.name, kind) ? [look.status] : []));
  const away = looks.flatMap(look =>
    'problem' in look ? [`${look.name} does not answer: ${look.problem}`] : [],
  );
  const here = new Set(looks.map(look => look.name));
  const [qm] = answers('lccd-qm');
  const waiting = queue?.urls ?? figureOf(qm, 'rows_queued');
  return [
    ...away,
    ...answers('lccd').flatMap(lccd => listOf(lccd, 'children').flatMap(child => ofChild(child, nowMs))),
    ...(here.has('lccd-qm') || isOutpost(looks, queue)
      ? []
      : ['lccd-qm, the Queue Manager, does not run here: nothing is fetched']),
    ...(qm === undefined ? [] : [...ofQueueManager(qm, waiting, nowMs), ...ofBandwidth(qm, nowMs)]),
    ...answers('lccd-bm').flatMap(bm => ofBotManager(bm, nowMs)),
    ...answers('lccbot').flatMap(bot =>
      figureOf(bot, 'managers') === 0 ? [`${bot.daemon} has no Bot Manager: it looks for one`] : [],
    ),
    ...answers('lccd-uns').flatMap(ofNotificationServer),
    ...(queue === undefined
      ? []
      : [...ofProviders(queue, nowMs), ...ofFailed(queue, qm?.['retry_at_ms'], nowMs)]),
  ];
}

/** A daemon that lccd had to start again of late, or has yet to. */
function ofChild(child: Readonly<Record<string, unknown>>, nowMs: number): string[] {
  const { name, state, held_up: heldUp, restarts, started_at_s: startedS, last_end: end } = child;
  if (typeof heldUp === 'string') return [`${String(name)} is not started again for now: ${heldUp}`];
  if (typeof end !== 'string') return [];
  if (state === 'waiting') return [`${String(name)} ${end} and is started again; the log says more`];
  const ageS = Math.max(0, Math.floor(nowMs / 1000) - Number(startedS));
  const count = Number(restarts);
  if (!(count > 0 && ageS < RECENTLY_S)) return [];
  const times = count === 1 ? '' : ` (${count} times in all)`;
  return [
    `${String(name)} was started again ${formatDuration(ageS)} ago${times}: it ${end}; the log says more`,
  ];
}

/** A machine of Bot Managers and robots alone, which fetch for a Queue Manager elsewhere. */
export function isOutpost(looks: readonly Look[], queue: QueueSummary | undefined): boolean {
  return queue === undefined && looks.length > 0 && looks.every(({ name }) => /^lccd-bm|^lccbot/.test(name));
}

function ofQueueManager(qm: DaemonStatus, waiting: number, nowMs: number): string[] {
  const reasons: string[] = [];
  const managers = listOf(qm, 'bot_managers');
  if (managers.length === 0) {
    reasons.push(
      waiting === 0
        ? 'no Bot Manager is connected to lccd-qm'
        : `no Bot Manager is connected to lccd-qm: ${amount(waiting, 'url')} cannot be fetched`,
    );
  }
  for (const manager of managers) {
    const { rests_ms: restsMs, reason } = manager;
    const name = machinesOf(manager);
    reasons.push(...ofSilence(`the Bot Manager of ${name}`, manager, 'lccd-qm'));
    if (typeof restsMs !== 'number') continue;
    reasons.push(
      `the Bot Manager of ${name} is given nothing for another ${formatDuration(Math.ceil(restsMs / 1000))}: ${String(reason)}`,
    );
  }
  for (const { machine, reason, at_ms: atMs } of listOf(qm, 'machines_refused')) {
    const at = typeof atMs === 'number' ? ` at ${formatUntil(atMs, nowMs)}` : '';
    reasons.push(
      `machine ${String(machine)} was refused${at}, and has not come back since: ${String(reason)}`,
    );
  }
  const refused = new Set(listOf(qm, 'machines_refused').map(({ machine }) => machine));
  for (const away of listOf(qm, 'machines_away')) {
    const mayStillCome = away['since_ms'] === null && qm.up_s < COMING_S;
    if (!refused.has(away['machine']) && !mayStillCome) reasons.push(ofAway(away, nowMs));
  }
  const refusing = qm['logins_refused'];
  if (Array.isArray(refusing) && refusing.length > 0)
    reasons.push(
      `the login for the site of ${providersNamed(refusing)} is refused (401), and what is refused is removed: lccpidb set --pid=${refusing[0]} --loginfile=FILE, then lccctl want-full --pid=${refusing[0]}`,
    );
  const noRoom = qm['no_room'];
  if (typeof noRoom === 'string')
    reasons.push(
      `lccd-qm cannot write its database, results and sets wait until there is room: ${noRoom}; free some`,
    );
  else if (qm['unses_shut_out'] === true)
    reasons.push(`the queue is full (qm.max_queue_urls): sets wait with the UNSes until it has shrunk`);
  const pages = figureOf(qm, 'freed_pages_bad');
  if (pages > 0)
    reasons.push(
      `${amount(pages, 'damaged page of deletions is', 'damaged pages of deletions are')} set aside in spool/fsm/bad: lccfsck --repair removes the files; then remove ${pages === 1 ? 'it' : 'them'}`,
    );
  return [...reasons, ...ofForeign(qm, 'spool/fsm')];
}

/** Whether the limit of the whole LCC is what keeps providers waiting. */
function ofBandwidth(qm: DaemonStatus, nowMs: number): string[] {
  const untilMs = qm['bandwidth_due_at_ms'];
  const waiting = figureOf(qm, 'providers_waiting');
  if (typeof untilMs !== 'number' || untilMs <= nowMs || waiting === 0) return [];
  return [
    `${amount(waiting, 'provider waits', 'providers wait')} for the bandwidth of the LCC (qm.bandwidth_bytes_per_s), which is used up until ${formatUntil(untilMs, nowMs)}; lccctl flush forgets that`,
  ];
}

function machinesOf({ machines, peer }: Readonly<Record<string, unknown>>): string {
  return Array.isArray(machines) && machines.length > 0 ? machines.join(', ') : String(peer);
}

/** A peer that leaves pings without an answer. */
function ofSilence(
  who: string,
  { silent_ms: ms }: Readonly<Record<string, unknown>>,
  whom: string,
): string[] {
  if (typeof ms !== 'number') return [];
  const since = formatDuration(Math.floor(ms / 1000));
  return [
    `${who} has not answered ${whom} for ${since}: it hangs, or the link is cut; soon it is given up, and what it does goes to others`,
  ];
}

function ofAway(
  { machine, since_ms: sinceMs, files, pages }: Record<string, unknown>,
  nowMs: number,
): string {
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

function ofBotManager(bm: DaemonStatus, nowMs: number): string[] {
  const reasons: string[] = [];
  for (const manager of listOf(bm, 'bot_managers'))
    reasons.push(...ofSilence(`the Bot Manager of ${machinesOf(manager)}`, manager, bm.daemon));
  for (const robot of listOf(bm, 'robots_silent'))
    reasons.push(...ofSilence(`the ${String(robot['peer'])}`, robot, bm.daemon));
  for (const { reason, at_ms: atMs } of listOf(bm, 'robots_lost'))
    reasons.push(
      `${bm.daemon} lost a robot at ${formatUntil(Number(atMs), nowMs)}, which has not come back: ${String(reason)}`,
    );
  if (bm['store_full'] === true)
    reasons.push(
      `store full on machine ${String(bm['machineid'])}: ${String(bm['no_room'])}; nothing is fetched until there is room: free some, or lower what is needed`,
    );
  if (bm['names_full'] === true)
    reasons.push(
      `no room to note deletions in names.db on machine ${String(bm['machineid'])}: they wait until their files, whose grace ends, have made some`,
    );
  if (bm['relay'] === true) {
    if (listOf(bm, 'bot_managers').length === 0)
      reasons.push(`no Bot Manager is connected to ${bm.daemon}: nothing can be fetched`);
  } else if (figureOf(bm, 'robots') === 0)
    reasons.push(`no robot is connected to ${bm.daemon}: nothing can be fetched`);
  if (bm['source'] === false) reasons.push(`${bm.daemon} has lost the Queue Manager: it looks for it`);
  return reasons;
}

function ofNotificationServer(uns: DaemonStatus): string[] {
  const reasons: string[] = [];
  const spooled = figureOf(uns, 'sets_spooled');
  if (uns['qm_connected'] === false)
    reasons.push(
      `${uns.daemon} has no Queue Manager${spooled === 0 ? '' : `: ${amount(spooled, 'set waits', 'sets wait')} in the spool`}`,
    );
  const bytes = figureOf(uns, 'spool_bytes');
  const max = figureOf(uns, 'max_spool_bytes');
  if (typeof uns['no_room'] === 'string')
    reasons.push(`${uns.daemon} takes no sets, providers are told to come back later: ${uns['no_room']}`);
  else if (max > 0 && bytes >= max * NEARLY)
    reasons.push(
      `the spool of ${uns.daemon} is nearly full: ${formatBytes(bytes)} of ${formatBytes(max)} (uns.max_spool_bytes)`,
    );
  const bad = figureOf(uns, 'sets_bad');
  if (bad > 0)
    reasons.push(
      `${amount(bad, 'set is', 'sets are')} set aside in the spool of ${uns.daemon}, below bad/, damaged or refused: its log says why; remove ${bad === 1 ? 'it' : 'them'} when it is clear what became of what ${bad === 1 ? 'it' : 'they'} named`,
    );
  return [...reasons, ...ofForeign(uns, `the spool of ${uns.daemon}`)];
}

/** `provider 3`, `providers 3, 4, 5 and 2 more`. */
function providersNamed(pids: readonly unknown[]): string {
  const more = pids.length > NAMED ? ` and ${pids.length - NAMED} more` : '';
  return `provider${pids.length === 1 ? '' : 's'} ${pids.slice(0, NAMED).join(', ')}${more}`;
}

/** Files that nobody of us wrote. */
function ofForeign(daemon: DaemonStatus, where: string): string[] {
  const foreign = figureOf(daemon, 'foreign_files');
  return foreign === 0
    ? []
    : [
        `${amount(foreign, 'foreign file is', 'foreign files are')} set aside in ${where}, below bad/: look where ${foreign === 1 ? 'it is' : 'they are'} from, and remove ${foreign === 1 ? 'it' : 'them'}`,
      ];
}

/** A daemon that has run for longer is taken to be well again. */
const RECENTLY_S = 600;

/** Providers that are named. */
const NAMED = 3;

/** Share of a limit from which on it is worth a word. */
const NEARLY = 0.9;

function ofProviders(queue: QueueSummary, nowMs: number): string[] {
  const reasons: string[] = [];
  const { waiting, paused, disabled, backed_off, held_providers, held_urls, full_sets_wanted } = queue;
  const who = (count: number, one: string, many: string) =>
    count === waiting ? `every ${one} with urls waiting` : `${count} of ${waiting} ${many} with urls waiting`;
  const is = (count: number, words: string) => `${count === waiting || count === 1 ? 'is' : 'are'} ${words}`;
  if (paused > 0)
    reasons.push(`${who(paused, 'provider', 'providers')} ${is(paused, 'paused; lccctl resume')}`);
  if (disabled > 0)
    reasons.push(
      `${who(disabled, 'provider', 'providers')} ${is(disabled, 'disabled; lccpidb set --enabled=yes')}`,
    );
  if (backed_off > 0)
    reasons.push(
      `${who(backed_off, 'site', 'sites')} ${is(backed_off, 'left alone, having failed as a whole or asked for it; lccctl flush tries at once')}`,
    );
  const { delayed, delayed_until_ms: delayedUntilMs } = queue;
  if (delayed > 0 && delayedUntilMs !== null)
    reasons.push(
      `${who(delayed, 'provider', 'providers')} ${is(delayed, `delayed by its bandwidth${delayed === 1 ? ' until' : ', the first until'} ${formatUntil(delayedUntilMs, nowMs)} (lccpidb set --bandwidth)`)}`,
    );
  const { closed, never_open: neverOpen, later_urls: laterUrls, later_until_ms: laterUntilMs } = queue;
  const shut = closed - neverOpen;
  if (shut > 0)
    reasons.push(
      `${who(shut, 'provider', 'providers')} ${is(shut, 'closed at this hour (lccpidb set --timeofday)')}`,
    );
  if (neverOpen > 0)
    reasons.push(
      `${who(neverOpen, 'provider', 'providers')} ${is(neverOpen, 'closed at all hours; lccpidb set --timeofday=always')}`,
    );
  if (laterUrls > 0)
    reasons.push(
      `${amount(laterUrls, 'url waits for hours of its own', 'urls wait for hours of their own')}${laterUntilMs === null ? '' : `, until ${formatUntil(laterUntilMs, nowMs)}`}`,
    );
  if (held_providers > 0)
    reasons.push(
      `${amount(held_urls, 'removal')} of ${amount(held_providers, 'provider')} ${held_urls === 1 ? 'is' : 'are'} held back by the mass-delete fuse; lccctl release or discard`,
    );
  if (full_sets_wanted > 0)
    reasons.push(`a full set is wanted of ${amount(full_sets_wanted, 'provider')}: lccstat --queue says why`);
  return reasons;
}

/** @param retryAtMs when the Queue Manager tries the first of them again */
function ofFailed(queue: QueueSummary, retryAtMs: unknown, nowMs: number): string[] {
  const { failed_urls: urls, failed_providers: providers } = queue;
  if (urls === 0) return [];
  const who = `${amount(urls, 'url')}${urls < COUNTED_FAILED ? '' : ' or more'} of ${amount(providers, 'provider')}`;
  const next =
    typeof retryAtMs === 'number' && retryAtMs > nowMs
      ? `${urls === 1 ? '' : ', the next'} at ${formatUntil(retryAtMs, nowMs)}`
      : '';
  return [`${who} failed and ${urls === 1 ? 'is' : 'are'} tried again${next}; lccctl flush tries at once`];
}
