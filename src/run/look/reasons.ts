/** Reasons that an operator should know unasked: why nothing moves, what is broken, what waits for a
 * decision. */
import { amount, formatDuration, formatUntil } from '../../config/words.js';
import { figureOf, listOf } from '../../daemon/figures.js';
import { COUNTED_FAILED } from '../../db/queue/failed.js';
import type { ProviderRhythm } from '../../db/providers/silence.js';
import type { QueueSummary } from '../../db/queue/shape.js';
import type { DaemonStatus, Look } from '../../daemon/ask.js';
import { ALONE, isOfKind } from '../kinds.js';
import type { FiguresByKind } from './table.js';

/**
 * One sentence each, the most serious first; empty when all is well.
 * @param figures of all kinds: what daemons that answer give as reasons
 */
export function reasonsOf(
  looks: readonly Look[],
  queue: QueueSummary | undefined,
  nowMs: number,
  figures: FiguresByKind,
): string[] {
  const answers = (kind: string): DaemonStatus[] =>
    looks.flatMap(look => ('status' in look && isOfKind(look.name, kind) ? [look.status] : []));
  const away = looks.flatMap(look =>
    'problem' in look ? [`${look.name} does not answer: ${look.problem}`] : [],
  );
  const isQueueHere =
    looks.some(({ name }) => name === 'lccd-qm') ||
    // While it starts it cannot be asked.
    answers('lccd')
      .flatMap(status => listOf(status, 'children'))
      .some(({ name, state }) => name === 'lccd-qm' && state === 'starting') ||
    isOutpost(looks, queue) ||
    standbyFor(looks) !== undefined;
  const [qm] = answers('lccd-qm');
  const queued = queue?.urls ?? figureOf(qm, 'rows_queued');
  return [
    ...away,
    ...ofCertificates(looks, nowMs),
    // Both daemons of cache clearing report the same rails.
    ...new Set(
      Object.entries(figures).flatMap(([kind, rows]) =>
        kind === 'lccd-qm' && !isQueueHere
          ? ['lccd-qm, the Queue Manager, does not run here: nothing is fetched']
          : answers(kind).flatMap(status =>
              Object.values(rows).flatMap(({ reasons }) => reasons?.(status, nowMs, queued) || []),
            ),
      ),
    ),
    ...(queue === undefined
      ? []
      : [...ofProviders(queue, nowMs), ...ofFailed(queue, qm?.['retry_at_ms'], nowMs)]),
  ];
}

/** A certificate is reported this time before its end. */
const ENDS_SOON_MS = 7 * 86_400_000;

/** Daemons of one machine show the same certificate. */
function ofCertificates(looks: readonly Look[], nowMs: number): string[] {
  const showing = new Map<number, string[]>();
  for (const look of looks) {
    const untilMs = 'status' in look ? look.status.tls_until_ms : undefined;
    if (typeof untilMs === 'number' && untilMs - nowMs <= ENDS_SOON_MS)
      showing.set(untilMs, [...(showing.get(untilMs) ?? []), look.name]);
  }
  return [...showing].map(([untilMs, names]) => {
    const verb = untilMs > nowMs ? 'ends' : 'has expired';
    return `the TLS certificate of ${names.join(', ')} ${verb} at ${formatUntil(untilMs, nowMs)}: replace it (net.tls_cert), then kill -HUP lccd, or those, which read it again`;
  });
}

/** The reasons that were not there before, of those that are asked for again and again. */
export class NewReasons {
  /** Without figures, which go on. */
  readonly #said = new Set<string>();

  of(reasons: readonly string[]): string[] {
    return reasons.filter(reason => {
      const words = reason.replaceAll(/\d+/g, '');
      if (this.#said.has(words)) return false;
      this.#said.add(words);
      return true;
    });
  }
}

/** A machine of Bot Managers, robots, cache clearing and the Spider alone, which has its Queue Manager
 * elsewhere, or none. */
export function isOutpost(looks: readonly Look[], queue: QueueSummary | undefined): boolean {
  return (
    queue === undefined &&
    looks.length > 0 &&
    looks.every(look => /^lccd-(?:bm|hard|soft)|^lccbot/.test(look.name) || isOfSpider(look))
  );
}

/** The owner of the home that this machine stands by for; undefined: it does not. */
export function standbyFor(looks: readonly Look[]): string | undefined {
  const keeper = looks.find(({ name }) => name === 'lccd-keep');
  if (keeper === undefined || !('status' in keeper) || keeper.status['phase'] !== 'standby') return undefined;
  const owner = keeper.status['home_owner'];
  return typeof owner === 'string' && owner !== '' ? owner : 'no machine';
}

/** Daemons of the Spider run here, and no others: they need no Queue Manager. */
export function isSpiderAlone(looks: readonly Look[]): boolean {
  return looks.length > 0 && looks.every(isOfSpider);
}

function isOfSpider({ name }: Look): boolean {
  return ALONE.some(kind => isOfKind(name, kind));
}

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
      `${who(backed_off, 'site', 'sites')} ${is(backed_off, 'left alone after a failure of the whole site, or for its Retry-After; lccctl flush tries at once')}`,
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
  reasons.push(...ofSilent(queue, nowMs));
  if (full_sets_wanted > 0)
    reasons.push(`a full set is wanted of ${amount(full_sets_wanted, 'provider')}: lccstat --queue says why`);
  return reasons;
}

function ofSilent({ silent, silent_first: first }: QueueSummary, nowMs: number): string[] {
  const more = silent - first.length;
  return [
    ...first.map(one => describeSilence(one, nowMs)),
    ...(more > 0 ? [`${amount(more, 'more provider is', 'more providers are')} silent`] : []),
  ];
}

/** A sentence about a provider whose sets do not come as usual. */
export function describeSilence(
  { pid, lastset, lastconntime, every }: ProviderRhythm,
  nowMs: number,
): string {
  const ago = (atS: number) => formatDuration(Math.max(0, Math.floor(nowMs / 1000) - atS));
  const cause =
    lastconntime > lastset
      ? `it has connected since, ${ago(lastconntime)} ago, and had nothing to send`
      : 'look whether lcccp still runs there';
  return `provider ${pid} is silent: its last set came ${ago(lastset)} ago, usually one comes every ${formatDuration(every)}; ${cause}`;
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
