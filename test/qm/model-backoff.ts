/**
 * How long a site is left alone (semantics.md, rule 11), as the model has it: what jumps of the wall clock and restarts do
 * to it.
 */
import { NOTHING_SAVED, type Now, type Provider } from './model-types.js';

/** The site is left alone from now on, for at least this time. */
export function leave(provider: Provider, now: Now, waitMs: number): void {
  provider.untilMs = Math.max(provider.untilMs, now.ms + waitMs);
  provider.untilWallMs = provider.untilMs - now.ms + now.wallMs;
  Object.assign(provider, { afterJumpMs: Infinity, aheadMs: 0 });
}

/** Until when it is at least. */
export function leastUntilMs({ untilMs, afterJumpMs }: Provider): number {
  return Math.min(untilMs, afterJumpMs);
}

/** The wall clock was set; whether anybody looked at it since it was set before is not known. */
export function jump(provider: Provider, byMs: number): void {
  for (const each of [provider, provider.saved]) each.aheadMs = Math.max(0, each.aheadMs + byMs);
  provider.afterJumpMs = Math.min(provider.afterJumpMs, provider.untilMs - provider.aheadMs);
}

/** A restart would find it as it is: by the wall clock as it was when the wait began, or as it is, if anybody looked since. */
export function save(provider: Provider, now: Now): void {
  const { failures, untilMs: latestMs, untilWallMs: notLookedMs, aheadMs } = provider;
  // Of a wait that is over nothing is written.
  const lookedMs = latestMs > now.ms ? latestMs - now.ms + now.wallMs : notLookedMs;
  const [leastWallMs, untilWallMs] =
    lookedMs < notLookedMs ? [lookedMs, notLookedMs] : [notLookedMs, lookedMs];
  provider.saved = { failures, untilMs: leastUntilMs(provider), latestMs, leastWallMs, untilWallMs, aheadMs };
}

/** A restart finds what was saved. @param longestMs no wait is longer */
export function restart(provider: Provider, now: Now, longestMs: number): void {
  // A clock that was set before anybody looked makes it shorter or longer, but no longer than any wait can be.
  const { failures, untilMs, latestMs, leastWallMs, untilWallMs, aheadMs } = provider.saved;
  const waitsMs = [
    untilMs - now.ms,
    untilMs - aheadMs - now.ms,
    latestMs - now.ms,
    leastWallMs - now.wallMs,
    untilWallMs - now.wallMs,
  ].map(waitMs => Math.min(Math.max(0, waitMs), longestMs));
  const leastMs = Math.min(...waitsMs);
  const mostMs = Math.max(...waitsMs);
  const least = { afterJumpMs: now.ms + leastMs };
  const most = { untilMs: now.ms + mostMs, untilWallMs: now.wallMs + mostMs };
  const saved = {
    failures,
    untilMs: least.afterJumpMs,
    latestMs: most.untilMs,
    leastWallMs: now.wallMs + leastMs,
    untilWallMs: most.untilWallMs,
    aheadMs: 0,
  };
  Object.assign(provider, { failures, ...least, ...most, aheadMs: 0, saved });
}

/** The operator has it tried at once. */
export function forget(provider: Provider): void {
  Object.assign(provider, { ...NOTHING_SAVED, saved: { ...NOTHING_SAVED } });
}
