/** Moments and durations as people read them. */
import { html } from 'hono/html';
import { formatDuration } from '../../config/words.js';
import type { Markup } from './layout.js';

/**
 * Zones whose format is kept: making one takes longer than a whole page, and memory that is not the heap's.
 */
const MAX_FORMATS = 50;
const formats = new Map<string | undefined, Intl.DateTimeFormat>();

/** `23 Nov 2026, 19:45 CET`: in a zone as IANA names it, otherwise in that of the cache. */
export function momentText(atMs: number, zone?: string): string {
  return formatIn(zone).format(atMs);
}

function formatIn(zone: string | undefined): Intl.DateTimeFormat {
  const known = formats.get(zone);
  if (known !== undefined) return known;
  const format = new Intl.DateTimeFormat('en-GB', {
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    timeZoneName: 'short',
    ...(zone !== undefined && { timeZone: zone }),
  });
  if (formats.size >= MAX_FORMATS) formats.clear();
  formats.set(zone, format);
  return format;
}

/** `5 min ago`, with the moment itself for programs and as a hint. */
export function agoOf(atMs: number, nowMs: number, zone?: string): Markup {
  const seconds = Math.max(0, Math.floor((nowMs - atMs) / 1000));
  return html`<time datetime="${new Date(atMs).toISOString()}" title="${momentText(atMs, zone)}"
    >${seconds < 60 ? 'just now' : `${formatDuration(seconds)} ago`}</time
  >`;
}

/** A moment to come. */
export function untilOf(atMs: number, zone?: string): Markup {
  return html`<time datetime="${new Date(atMs).toISOString()}">${momentText(atMs, zone)}</time>`;
}
