/** Times as sitemaps have them: W3C date-times, and what is written for them. */
import { mtimeOf, printedOf } from '../wire/mtime.js';

const DAY = String.raw`\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])`;
const TIME = String.raw`(?:[01]\d|2[0-3]):[0-5]\d`;
const W3C = new RegExp(
  `^(${DAY})(?:[Tt ]+(${TIME})(?::([0-5]\\d)(?:[.,]\\d+)?)? *(Z|z|UTC|[+-](?:[01]\\d|2[0-3]):?[0-5]\\d)?)?$`,
);
const YEAR_OR_MONTH = /^\d{4}(?:-(?:0[1-9]|1[0-2]))?$/;
const RFC_822 =
  /^(?:[A-Z][a-z]{2}, *)?\d{1,2} [A-Z][a-z]{2} \d{2,4} \d\d:\d\d(?::\d\d)? (?:[A-Z]{1,4}|[+-]\d{4})$/;
const UTC = /^(?:z|utc|[+-]00:?00)?$/i;
/** Last days of months that not all months have. */
const RARE_DAYS = ['29', '30', '31'];

/** The time as it is printed everywhere: `2026-11-20T10:13:01Z`; without a zone it is UTC. Undefined for what is no time. */
export function lastmodOf(text: string): string | undefined {
  const found = W3C.exec(text);
  if (found === null) return otherForm(text);
  const [, day = '', time = '00:00', seconds = '00', zone = ''] = found;
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
