/** Points in time as people give and read them: `2026-11-20T10:13:01Z`, `2026-11-20 10:13`, `1795169581`,
 * `2h`, `3d`, `1w`. */
import { LccError } from './errors.js';

const UNIT_MS: Record<string, number> = {
  s: 1000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};
const RELATIVE = /^(\d{1,9})(s|m|min|h|d|w)$/;
const EPOCH = /^\d{1,11}$/;
const LOCAL = /^(\d{4})-(\d\d)-(\d\d)(?:[ T](\d\d):(\d\d)(?::(\d\d))?)?$/;
const RFC3339 = /^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d(?:\.\d+)?)([Zz]|[+-]\d\d:\d\d)$/;

/**
 * Reads a time; without a zone it is local time, a number with a unit is that long before `nowMs`.
 * @returns seconds since 1970-01-01 UTC, fractions cut off
 * @throws LccError `usage` naming the text and the accepted forms
 */
export function parseWhen(text: string, nowMs: number): number {
  const seconds = relative(text, nowMs) ?? absolute(text);
  if (seconds === undefined || Number.isNaN(seconds)) {
    throw new LccError(
      'usage',
      `time "${text}": write 2026-11-20T10:13:01Z, 2026-11-20 [10:13[:01]] (local), seconds since 1970, or 2h, 3d, 1w ago`,
    );
  }
  return seconds;
}

/** `2026-11-20T10:13Z`. @throws RangeError for what is no time */
export function utcMinute(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 16)}Z`;
}

function relative(text: string, nowMs: number): number | undefined {
  const found = RELATIVE.exec(text);
  if (found === null) return undefined;
  return Math.floor((nowMs - Number(found[1]) * (UNIT_MS[found[2] ?? ''] ?? 0)) / 1000);
}

function absolute(text: string): number | undefined {
  if (EPOCH.test(text)) return Number(text);
  const zoned = RFC3339.exec(text);
  if (zoned !== null) {
    const [, day = '', time = '', zone = ''] = zoned;
    return isDay(day) ? Math.floor(Date.parse(`${day}T${time}${zone.toUpperCase()}`) / 1000) : undefined;
  }
  const local = LOCAL.exec(text);
  if (local === null || !isDay(text.slice(0, 10))) return undefined;
  const [year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0] = local
    .slice(1)
    .map(part => (part === undefined ? undefined : Number(part)));
  if (hour > 23 || minute > 59 || second > 59) return undefined;
  return new Date(year, month - 1, day, hour, minute, second).getTime() / 1000;
}

/** Date rolls 31 February over into March; people mean something else. */
function isDay(text: string): boolean {
  const at = Date.parse(`${text}T00:00:00Z`);
  return !Number.isNaN(at) && new Date(at).toISOString().startsWith(text);
}
