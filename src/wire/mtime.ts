/** Modification times: every form the protocol admits is read, one is printed (lcc(7), "The url element"). */

const RFC3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:[Zz]|([+-])(\d\d):(\d\d))$/;
/** As it is printed, and stored. */
const PRINTED = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;
const EPOCH = /^(-?\d{1,12})(?:\.\d*)?$/;
const FOURTEEN_DIGITS = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)$/;
const DAY = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)';
const LONG_DAY = '(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day';
const MONTH = '(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)';
// RFC 9110, section 5.6.7: Sun, 06 Nov 1994 08:49:37 GMT
const IMF_DATE = new RegExp(`^${DAY}, (\\d\\d) ${MONTH} (\\d{4}) (\\d\\d):(\\d\\d):(\\d\\d) GMT$`);
// Sunday, 06-Nov-94 08:49:37 GMT
const RFC850_DATE = new RegExp(`^${LONG_DAY}, (\\d\\d)-${MONTH}-(\\d\\d) (\\d\\d):(\\d\\d):(\\d\\d) GMT$`);
// Sun Nov  6 08:49:37 1994
const ASCTIME_DATE = new RegExp(`^${DAY} ${MONTH} ([ \\d]\\d) (\\d\\d):(\\d\\d):(\\d\\d) (\\d{4})$`);
const MONTHS = 'JanFebMarAprMayJunJulAugSepOctNovDec';

/** The last second of the year 9999, the last a four-digit year can print; and the first of the year 0. */
const MAX_SECONDS = 253_402_300_799;
const MIN_SECONDS = -62_167_219_200;
const DAY_SECONDS = 86_400;

/**
 * Seconds since 1970, fractions cut off; undefined where the text is no time. Read are RFC 3339, epoch
 * seconds, 14 digits YYYYMMDDhhmmss (UTC) and the three HTTP dates. Two-digit years below 70 are of this
 * century.
 */
export function parseMtime(text: string): number | undefined {
  let m = RFC3339.exec(text);
  if (m !== null) {
    const offsetMinutes = Number(m[8] ?? 0) * 60 + Number(m[9] ?? 0);
    if (Number(m[8] ?? 0) > 23 || Number(m[9] ?? 0) > 59) return undefined;
    const local = utcSeconds(m[1], m[2], m[3], m[4], m[5], m[6]);
    if (local === undefined) return undefined;
    return inRange(local - (m[7] === '-' ? -60 : 60) * offsetMinutes);
  }
  m = FOURTEEN_DIGITS.exec(text);
  if (m !== null) return utcSeconds(m[1], m[2], m[3], m[4], m[5], m[6]);
  m = EPOCH.exec(text);
  if (m !== null) return inRange(Number(m[1]));
  m = IMF_DATE.exec(text);
  if (m !== null) return utcSeconds(m[3], monthNumber(m[2]), m[1], m[4], m[5], m[6]);
  m = RFC850_DATE.exec(text);
  if (m !== null) {
    const year = Number(m[3]) + (Number(m[3]) < 70 ? 2000 : 1900);
    return utcSeconds(year, monthNumber(m[2]), m[1], m[4], m[5], m[6]);
  }
  m = ASCTIME_DATE.exec(text);
  if (m !== null) return utcSeconds(m[6], monthNumber(m[1]), m[2], m[3], m[4], m[5]);
  return undefined;
}

/** `2026-11-20T10:13:01Z`. @throws RangeError outside the years 0 to 9999 */
export function formatMtime(seconds: number): string {
  if (inRange(seconds) === undefined) throw new RangeError(`no four-digit year: ${seconds}`);
  return `${new Date(seconds * 1000).toISOString().slice(0, 19)}Z`;
}

/** The numbers below 60 as two digits. */
const TWO_DIGITS = Array.from({ length: 60 }, (_, n) => String(n).padStart(2, '0'));
/** The days printed so far. */
const printedDays = new Map<number, string>();
const MOST_DAYS = 10_000;
let lastPrinted = NaN;
let lastPrintedText = '';

/** As `formatMtime`, for queues and sites, whose times share few days: a third of the time. */
export function printedOf(seconds: number): string {
  const day = Math.floor(seconds / DAY_SECONDS);
  if (day !== lastPrinted) {
    lastPrintedText = printedDays.get(day) ?? formatMtime(day * DAY_SECONDS).slice(0, 11);
    lastPrinted = day;
    if (printedDays.size < MOST_DAYS) printedDays.set(day, lastPrintedText);
  }
  const minutes = Math.floor((seconds - day * DAY_SECONDS) / 60);
  const hour = TWO_DIGITS[Math.floor(minutes / 60)];
  return `${lastPrintedText}${hour}:${TWO_DIGITS[minutes % 60]}:${TWO_DIGITS[seconds - day * DAY_SECONDS - minutes * 60]}Z`;
}

let lastDay = { text: '', seconds: 0 };

/** Seconds since 1970 of the printed form, for the queue, which reads them by the million: days repeat. */
export function secondsOfPrinted(text: string): number {
  const day = text.slice(0, 10);
  if (day !== lastDay.text) lastDay = { text: day, seconds: Date.parse(day) / 1000 };
  const digits = (at: number) => (text.charCodeAt(at) - 48) * 10 + text.charCodeAt(at + 1) - 48;
  return lastDay.seconds + digits(11) * 3600 + digits(14) * 60 + digits(17);
}

/** The printed form of any form that is read; text that is no time stays as it is, for the UNS to refuse. */
export function canonicalMtime(text: string): string {
  // The printed form is the only one of 20 characters with these two; should it be no time, it stays as well.
  if (text.length === 20 && text[10] === 'T' && text[19] === 'Z') return text;
  const seconds = parseMtime(text);
  return seconds === undefined ? text : formatMtime(seconds);
}

/** Any form of a modification time as it is stored; undefined for what is none. */
export function mtimeOf(text: string): string | undefined {
  const canonical = canonicalMtime(text);
  return PRINTED.test(canonical) ? canonical : undefined;
}

type Digits = string | number | undefined;

function utcSeconds(y: Digits, mo: Digits, d: Digits, h: Digits, mi: Digits, s: Digits): number | undefined {
  const year = Number(y);
  const month = Number(mo);
  const day = Number(d);
  const hour = Number(h);
  const minute = Number(mi);
  const second = Number(s);
  if (month < 1 || month > 12 || day < 1 || hour > 23 || minute > 59 || second > 60) return undefined;
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined;
  return inRange(date.getTime() / 1000 + hour * 3600 + minute * 60 + second);
}

function monthNumber(name: string | undefined): number {
  return MONTHS.indexOf(name ?? '') / 3 + 1;
}

/** True if the number is a time that has a printed form. */
export function isPrintable(seconds: number): boolean {
  return Number.isInteger(seconds) && inRange(seconds) !== undefined;
}

function inRange(seconds: number): number | undefined {
  return seconds >= MIN_SECONDS && seconds <= MAX_SECONDS ? seconds : undefined;
}
