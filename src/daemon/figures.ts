/**
 * One row per figure of a daemon. Each stage has its rows in `figures.ts`; from them follow the fields of its
 * status (control socket, `lccstat --json`), its metrics, and what lccstat says of it. lccstat(1) and
 * lcc-metrics(5) are compared with them.
 *
 * The key of a row is the name of the field. It ends in the unit (`_bytes`, `_ms`, `_s`), or names what is
 * counted. Words and reasons are printed in the order of the rows: of reasons the most serious ones stand
 * first.
 */
import { amount } from '../config/words.js';

/** Status of a daemon. One of another version may lack fields. */
export type Status = Readonly<Record<string, unknown>>;

/** A metric for Prometheus, read from one field. */
export interface Metric {
  name: string;
  kind: 'counter' | 'gauge';
  help: string;
  label?: string;
  /** Value of the label ('' without a label) → number; nothing where the field says nothing. */
  samples: (value: unknown) => Readonly<Record<string, number>>;
}

/** A part of lccstat's line about the daemon, '' for nothing; the count is 0 where the field is missing. */
type Word = (count: number, status: Status, away: readonly string[]) => string;

export interface Figure<T = unknown> {
  metrics?: readonly Metric[];
  /** @param away daemons that do not answer */
  word?: Word;
  /**
   * Reasons that an operator should know unasked: a sentence each, false for nothing.
   * @param queued urls in the queue, from the database where that can be read
   */
  reasons?: (status: Status, nowMs: number, queued: number) => readonly string[] | string | false;
  /** Type of the field; never a value. */
  readonly type?: T;
}

/** The words of a figure, or more than that. */
type More = Word | Omit<Figure, 'type'>;

export type Figures = Readonly<Record<string, Figure>>;

/** The status that a table of figures stands for. */
export type StatusOf<F extends Figures> = {
  /** Nothing is spooled, queued (other than for later) or being done. */
  idle: boolean;
} & { [K in keyof F]: F[K] extends Figure<infer T> ? T : never };

/** A figure that goes up and down; of a list its length, of a truth value 1 or 0. */
export function gauge<T = number>(name: string, help: string, more?: More): Figure<T> {
  return figure(more, { name, kind: 'gauge', help, samples: value => sampleOf('', value) });
}

/** A count since the start of the daemon. */
export function counter(name: string, help: string, more?: More): Figure<number> {
  return figure(more, { name, kind: 'counter', help, samples: value => sampleOf('', value) });
}

type Shared = Pick<Metric, 'name' | 'help'> & { label: string };

/** One of several counts that share a metric: the one for `value` of its label. */
export function countOf(metric: Shared, value: string, more?: More): Figure<number> {
  return figure(more, { ...metric, kind: 'counter', samples: count => sampleOf(value, count) });
}

/** One of several amounts that share a metric: the one for `value` of its label. */
export function gaugeOf(metric: Shared, value: string): Figure<number> {
  return figure({}, { ...metric, kind: 'gauge', samples: amount => sampleOf(value, amount) });
}

/** A field that is no metric. */
export function field<T>(more?: More): Figure<T> {
  return figure(more);
}

function figure<T>(more: More = {}, ...metrics: Metric[]): Figure<T> {
  return { metrics, ...(typeof more === 'function' ? { word: more } : more) };
}

/** The words for a count, none when it is 0. @param many its plural, where that is not `one` with an s */
export function some(one: string, many?: string): Word {
  return count => (count === 0 ? '' : amount(count, one, many));
}

/** … where one and many have the same words. */
export function someThat(words: string): Word {
  return some(words, words);
}

/** A number, or how many of a list; 1 for what is so, 0 for what is not, or is missing. */
export function figureOf(status: Status | undefined, name: string): number {
  return numberOf(status?.[name]) ?? 0;
}

export function listOf(status: Status, name: string): readonly Status[] {
  const value = status[name];
  return Array.isArray(value) ? value.map(item => Object(item) as Status) : [];
}

function sampleOf(label: string, value: unknown): Record<string, number> {
  const number = numberOf(value);
  return number === undefined ? {} : { [label]: number };
}

function numberOf(value: unknown): number | undefined {
  if (typeof value === 'number') return value;
  if (typeof value === 'boolean') return value ? 1 : 0;
  return Array.isArray(value) ? value.length : undefined;
}
