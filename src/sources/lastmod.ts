/** Times as sitemaps have them: W3C date-times, and what is written for them. */
import { mtimeOf, printedOf, secondsOfPrinted } from '../wire/mtime.js';

const DAY = String.raw`\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])`;
const TIME = String.raw`(?:[01]\d|2[0-3]):[0-5]\d`;
/** A date may have a zone, too, and a second be the 60th (xsd:date, RFC 3339). */
const W3C = new RegExp(
  `^(${DAY})(?:[Tt ]+(${TIME})(?::([0-5]\\d|60)(?:[.,]\\d+)?)?)? *(Z|z|UTC|[+-](?:[01]\\d|2[0-3]):?[0-5]\\d)?$`,
);
/** The end of a day, which is the beginning of the next (xsd:dateTime). */
const MIDNIGHT = /^(\d{4}-\d\d-\d\d)([Tt ]+)24:00(?::00(?:[.,]0+)?)?/;
const DAY_S = 86_400;
/** Earlier there was nothing that could be listed: programs write such for none. */
const EARLIEST = '1970';
const YEAR_OR_MONTH = /^\d{4}(?:-(?:0[1-9]|1[0-2]))?$/;
const RFC_822 =
  /^(?:[A-Z][a-z]{2}, *)?\d{1,2} [A-Z][a-z]{2} \d{2,4} \d\d:\d\d(?::\d\d)? (?:[A-Z]{1,4}|[+-]\d{4})$/;
const UTC = /^(?:z|utc|[+-]00:?00)?$/i;
/** Last days of months that not all months have. */
const RARE_DAYS = ['29', '30', '31'];

/** The time as it is printed everywhere: `2026-11-20T10:13:01Z`; without a zone it is UTC. Undefined for what
 * is no time. */
export function lastmodOf(text: string): string | undefined {
  const isMidnight = MIDNIGHT.test(text);
  const printed = printedTime(isMidnight ? text.replace(MIDNIGHT, '$1$200:00:00') : text);
  if (printed === undefined || printed < EARLIEST) return undefined;
  return isMidnight ? printedOf(secondsOfPrinted(printed) + DAY_S) : printed;
}

function printedTime(text: string): string | undefined {
  const found = W3C.exec(text);
  if (found === null) return otherForm(text);
  const [, day = '', time = '00:00', second = '00', zone = ''] = found;
  const seconds = second === '60' ? '59' : second;
  if (UTC.test(zone)) {
    const printed = `${day}T${time}:${seconds}Z`;
    return RARE_DAYS.includes(day.slice(8)) ? mtimeOf(realDay(printed)) : printed;
  }
  const colon = zone.includes(':') ? zone : `${zone.slice(0, 3)}:${zone.slice(3)}`;
  return mtimeOf(`${day}T${time}:${seconds}${colon}`);
}

function otherForm(text: string): string | undefined {
  if (YEAR_OR_MONTH.test(text)) return `${text}${text.length === 4 ? '-01' : ''}-01T00:00:00Z`;
  if (!RFC_822.test(text)) return undefined;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? undefined : printedOf(Math.floor(ms / 1000));
}

/** A day that no calendar has is taken for no time, though it is printed like one. */
function realDay(printed: string): string {
  const date = new Date(printed);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(printed.slice(0, 10)) ? printed : '';
}
