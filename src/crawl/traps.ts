/** Urls that a site makes without end: a crawl that follows them does not end either. Each kind has a name,
 * by which it is counted (docs/design/spidering.md). */

const TRAPS = {
  long: 'urls that are longer than 2000 bytes',
  deep: 'paths with more than 20 segments',
  repeated: 'paths with a segment more often than three times',
  escaped: 'urls that were encoded twice',
  parameters: 'queries with more than 12 parameters',
  calendar: 'calendars of years that nobody plans for',
  ambiguous: 'urls that servers read in several ways',
  hops: 'pages that are further away than --max-hops',
  queries: 'paths with more queries than links.max_path_queries',
  copies: 'pages whose content is that of eight held ones',
  canonical: 'other links of pages that name one without its query as their own',
} as const;
export type Trap = keyof typeof TRAPS;

export interface TrapLimits {
  /** Bytes of a url. */
  maxLinkBytes: number;
  maxSegments: number;
  maxRepeats: number;
  maxParameters: number;
  /** The year that it is. */
  year: number;
}

const ESCAPED_TWICE = /%25%|%2525|[?&]amp;/i;
/** The first year of the web. */
const FIRST_YEAR = 1990;
/** Whose pages are periods; those of the others have names and numbers of their own as well. */
const CALENDAR_OF_PERIODS = /^(?:.*[^a-z])?(?:calendar|calendrier|kalender|cal)(?:[^a-z].*)?$/i;
const CALENDAR_OF_EVENTS = /^(?:.*[^a-z])?(?:agenda|events?|termine)(?:[^a-z].*)?$/i;
const CALENDAR_PARAMETER =
  /^(?:.*[^a-z])?(?:year|yr|jahr|annee|month|monat|date|datum|day|week|cal(?:endar|date)?)(?:[^a-z].*)?$/i;
const YEAR_PARAMETER = /^(?:.*[^a-z])?(?:year|yr|jahr|annee)(?:[^a-z].*)?$/i;
const SEPARATED_DATE = /^(\d{4})[-/.](?:0?[1-9]|1[0-2])(?:[-/.](?:0?[1-9]|[12]\d|3[01]))?(?:[T ].*)?$/;
const PACKED_DATE = /^(\d{4})(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])?$/;
const YEAR = /^\d{4}$/;
const MONTH = /^(?:0?[1-9]|1[0-2])$/;
/**
 * Numbers of other years are more likely something else: a calendar without end gets to one of these first.
 */
const LIKELY_FIRST = 1900;
const LIKELY_LAST = 2200;

/** The trap that a url is by its looks alone. @param curl canonical */
export function trapOf(curl: string, limits: TrapLimits): Trap | undefined {
  if (curl.length > limits.maxLinkBytes) return 'long';
  if (ESCAPED_TWICE.test(curl)) return 'escaped';
  const mark = curl.indexOf('?');
  const path = curl.slice(curl.indexOf('/', curl.indexOf('//') + 2) + 1, mark < 0 ? undefined : mark);
  const segments = path.split('/');
  if (segments.length > limits.maxSegments) return 'deep';
  if (segments.length > limits.maxRepeats && mostOften(segments) > limits.maxRepeats) return 'repeated';
  const parameters = mark < 0 ? [] : curl.slice(mark + 1).split('&');
  if (parameters.length > limits.maxParameters) return 'parameters';
  if (isFarCalendar(segments, parameters, limits.year)) return 'calendar';
  return undefined;
}

function mostOften(segments: readonly string[]): number {
  const counts = new Map<string, number>();
  for (const segment of segments) counts.set(segment, (counts.get(segment) ?? 0) + 1);
  return Math.max(...counts.values());
}

function isFarCalendar(segments: readonly string[], parameters: readonly string[], year: number): boolean {
  const isFar = (found: number | undefined) =>
    found !== undefined && (found < FIRST_YEAR || found > year + 1);
  const calendar = segments.findIndex(
    segment => CALENDAR_OF_PERIODS.test(segment) || CALENDAR_OF_EVENTS.test(segment),
  );
  if (calendar >= 0) {
    const isOfPeriods = CALENDAR_OF_PERIODS.test(segments[calendar] ?? '');
    for (let at = calendar + 1; at < segments.length; at++)
      if (isFar(yearInPath(segments[at] ?? '', segments[at + 1] ?? '', isOfPeriods))) return true;
  }
  return parameters.some(parameter => {
    const [name = '', value = ''] = parameter.split('=', 2);
    return CALENDAR_PARAMETER.test(name) && isFar(yearIn(value, YEAR_PARAMETER.test(name)));
  });
}

/**
 * The year of a segment that is a date, or begins one; a number alone is none where there are other numbers.
 */
function yearInPath(segment: string, next: string, isOfPeriods: boolean): number | undefined {
  const year = Number(segment);
  if (YEAR.test(segment) && MONTH.test(next)) return year >= LIKELY_FIRST ? year : undefined;
  return isOfPeriods ? yearIn(segment, next === '') : yearOf(SEPARATED_DATE, segment);
}

function yearIn(text: string, mayBeYear: boolean): number | undefined {
  const separated = yearOf(SEPARATED_DATE, text);
  if (separated !== undefined) return separated;
  const found = mayBeYear && YEAR.test(text) ? Number(text) : yearOf(PACKED_DATE, text);
  return found !== undefined && found >= LIKELY_FIRST && found <= LIKELY_LAST ? found : undefined;
}

function yearOf(form: RegExp, text: string): number | undefined {
  const [, year] = form.exec(text) ?? [];
  return year === undefined ? undefined : Number(year);
}
