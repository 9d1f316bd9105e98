/**
 * Urls that a site makes without end: a crawl that follows them does not end either. Each kind has a name, by which it is
 * counted (docs/design/spidering.md).
 */

export const TRAPS = {
  long: 'urls that are longer than spider.max_link_bytes',
  deep: 'paths with more segments than spider.max_segments',
  repeated: 'paths with a segment more often than spider.max_segment_repeats',
  escaped: 'urls that were encoded twice',
  parameters: 'queries with more parameters than spider.max_parameters',
  calendar: 'calendars of years that nobody plans for',
  hops: 'pages that are further away than --max-hops',
  queries: 'paths with more queries than spider.max_path_queries',
  copies: 'pages whose content is that of spider.max_copies held ones',
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
const CALENDAR_SEGMENT =
  /^(?:.*[^a-z])?(?:calendar|calendrier|kalender|cal|agenda|events?|termine)(?:[^a-z].*)?$/i;
const CALENDAR_PARAMETER =
  /^(?:.*[^a-z])?(?:year|yr|jahr|annee|month|monat|date|datum|day|week|cal(?:endar|date)?)(?:[^a-z].*)?$/i;
/** A year, and what else of a date comes after it. */
const DATE = /^(\d{4})(?:[-/.]?\d{1,2}){0,2}(?:[T ].*)?$/;
const MONTH = /^(?:0?[1-9]|1[0-2])$/;

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
  const isFar = (text: string) => {
    const found = Number(DATE.exec(text)?.[1] ?? FIRST_YEAR);
    return found < FIRST_YEAR || found > year + 1;
  };
  const calendar = segments.findIndex(segment => CALENDAR_SEGMENT.test(segment));
  if (calendar >= 0)
    for (let at = calendar + 1; at < segments.length; at++) {
      const segment = segments[at] ?? '';
      // A number of four digits alone may be that of an event.
      const isDate = segment.length > 4 || MONTH.test(segments[at + 1] ?? '') || at === segments.length - 1;
      if (isDate && isFar(segment)) return true;
    }
  return parameters.some(parameter => {
    const [name = '', value = ''] = parameter.split('=', 2);
    return CALENDAR_PARAMETER.test(name) && isFar(value);
  });
}
