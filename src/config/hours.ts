/**
 * Hours in which something may be fetched (semantics.md, rule 10), in the local time of this process. The
 * period has 24 slots (hours of the day) or 168 (of the week, Monday 0 h first). Which slot it is is asked of
 * the wall clock, never counted: a clock that jumps and a change to summer time are new answers to the same
 * question.
 */

/** Slots of a period. */
export type Slots = 24 | 168;

/** One character 0 or 1 for each slot; '' = always. */
export type Hours = string;

export const ALWAYS: Hours = '';
const DAY_SLOTS = 24;
export const WEEK_SLOTS = 168;
const DAYS = 7;
const HOUR_MS = 3_600_000;

/** The slot a moment (wall clock) lies in. */
export function slotOf(atMs: number, slots: Slots): number {
  const at = new Date(atMs);
  // Sunday is 0 there.
  return slots === DAY_SLOTS ? at.getHours() : ((at.getDay() + DAYS - 1) % DAYS) * DAY_SLOTS + at.getHours();
}

/** When the hour is over in which a moment lies, also where hours do not begin with those of UTC. */
export function hourEndMs(atMs: number): number {
  const at = new Date(atMs);
  return atMs + HOUR_MS - ((at.getMinutes() * 60 + at.getSeconds()) * 1000 + at.getMilliseconds());
}

/**
 * A provider's mask (24 or 168 characters 0 or 1, '' = always) for a period of `slots` slots. Hours of the
 * day repeat each day. Hours of the week where only those of the day are known are read as strictly as
 * possible: an hour is permitted when it is on every day, so that nothing is fetched when it must not be.
 */
export function hoursOfMask(mask: string, slots: Slots): Hours {
  if (mask === ALWAYS || mask.length === slots) return mask;
  if (slots === WEEK_SLOTS) return mask.repeat(DAYS);
  return Array.from({ length: slots }, (_, hour) =>
    Array.from({ length: DAYS }, (_day, day) => mask[day * DAY_SLOTS + hour]).includes('0') ? '0' : '1',
  ).join('');
}

/** True if a mask says more than a period of `slots` slots can: it is then read strictly. */
export function isTooFine(mask: string, slots: Slots): boolean {
  return mask.length > slots;
}

const RANGES = /^\d{1,3}(?:-\d{1,3})?(?:,\d{1,3}(?:-\d{1,3})?)*$/;

/** True if a text lists ranges of hours such as `0-7,12`, all of them within a week. */
export function areRanges(text: string): boolean {
  return RANGES.test(text) && text.split(/[,-]/).every(hour => Number(hour) < WEEK_SLOTS);
}

/**
 * The mask of such ranges, which may wrap (`22-5`): of the day, or, when any hour is over 23, of the week.
 */
export function maskOf(ranges: string): Hours {
  const pairs = ranges.split(',').map(range => range.split('-').map(Number));
  const period = pairs.flat().some(hour => hour >= DAY_SLOTS) ? WEEK_SLOTS : DAY_SLOTS;
  const mask = Array<string>(period).fill('0');
  for (const [from = 0, to = from] of pairs) {
    for (let hour = from; ; hour = (hour + 1) % period) {
      mask[hour] = '1';
      if (hour === to) break;
    }
  }
  return mask.join('');
}

/** Hours as such ranges; `never` when there are none. */
export function formatHours(hours: Hours): string {
  const ranges = [...hours.matchAll(/1+/g)].map(({ index, 0: { length } }) =>
    length === 1 ? `${index}` : `${index}-${index + length - 1}`,
  );
  return ranges.join(',') || 'never';
}

/** The hours of a url's `tod`, which are such ranges. */
export function hoursOfTod(tod: string, slots: Slots): Hours {
  return hoursOfMask(maskOf(tod), slots);
}

/** The hours that are these slots and no others. */
export function hoursOfSlots(permitted: readonly number[], slots: Slots): Hours {
  return Array.from({ length: slots }, (_, slot) => (permitted.includes(slot) ? '1' : '0')).join('');
}

/** The hours that both permit. */
export function bothOf(a: Hours, b: Hours): Hours {
  if (a === ALWAYS || a === b) return b;
  if (b === ALWAYS) return a;
  return Array.from(a, (flag, slot) => (flag === '1' && b[slot] === '1' ? '1' : '0')).join('');
}

export function permits(hours: Hours, slot: number): boolean {
  return hours === ALWAYS || hours[slot] === '1';
}

/** The first slot after this one that is permitted, the same one a period later the last; undefined: none
 * ever is. */
export function nextSlot(hours: Hours, slot: number, slots: Slots): number | undefined {
  for (let ahead = 1; ahead <= slots; ahead++) {
    const next = (slot + ahead) % slots;
    if (permits(hours, next)) return next;
  }
  return undefined;
}

/** When hours next begin that are permitted, at the end of this hour at the earliest; undefined: never. */
export function opensAtMs(hours: Hours, nowMs: number, slots: Slots): number | undefined {
  if (isNever(hours)) return undefined;
  let atMs = nowMs;
  // Longer than a period: a change to summer time leaves an hour out, the change back has one twice.
  for (let ahead = 1; ahead <= 2 * slots + 1; ahead++) {
    atMs = hourEndMs(atMs);
    if (permits(hours, slotOf(atMs, slots))) return atMs;
  }
  return undefined;
}

/** Tells time zones apart: minutes behind UTC in a winter and in a summer. */
export function zoneOffsets(): string {
  return [0, 6].map(month => new Date(2026, month).getTimezoneOffset()).join('/');
}

/** True if no hour is permitted. */
export function isNever(hours: Hours): boolean {
  return hours !== ALWAYS && !hours.includes('1');
}

/**
 * The slots that have begun between two moments (wall clock), those included that a change to summer time
 * left out. None after a clock was set back within the hour, as happens every day; all of them when it was
 * set back further, or a period has passed.
 */
export function slotsBegun(fromMs: number, toMs: number, slots: Slots): number[] {
  const elapsedMs = toMs - fromMs;
  if (hourEndMs(fromMs) === hourEndMs(toMs)) return [];
  const from = slotOf(fromMs, slots);
  const ahead =
    // Two hours less: a day has 23 to 25, and neither moment need be at the beginning of one.
    elapsedMs < 0 || elapsedMs >= (slots - 2) * HOUR_MS
      ? slots
      : (slotOf(toMs, slots) - from + slots) % slots;
  return Array.from({ length: ahead }, (_, i) => (from + 1 + i) % slots);
}
