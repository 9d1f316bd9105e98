/** Time zones that Node does not understand: it takes UTC instead, and says nothing. */

/** Text after the zone. */
export const READ_AS_UTC =
  'is not understood and read as UTC, so that hours are those of UTC: give a name such as Europe/Berlin';

const NAMES_OF_UTC = /^:?(?:Etc\/)?(?:UTC|UCT|GMT|Zulu|Universal|Greenwich)(?:[+-]?0)?$/i;
const IN_WINTER = new Date(2026, 0, 1);
const IN_SUMMER = new Date(2026, 6, 1);

/** $TZ, when it names another zone than UTC and this process has UTC all the same: as of `CET-1CEST`, or a
 * misspelt name. */
export function zoneNotUnderstood(zone = process.env['TZ'] ?? ''): string | undefined {
  if (zone === '' || NAMES_OF_UTC.test(zone)) return undefined;
  // A zone that is understood, but has no name, is none for Intl either: as of EST5.
  const name = new Intl.DateTimeFormat().resolvedOptions().timeZone as string | undefined;
  const isNamed = name !== undefined && !['UTC', 'Etc/UTC', 'Etc/Unknown'].includes(name);
  return isNamed || IN_WINTER.getTimezoneOffset() !== 0 || IN_SUMMER.getTimezoneOffset() !== 0
    ? undefined
    : zone;
}
