/**
 * Keeps figures of the whole LCC for graphs, from each overview that comes: what they are at the moment, and
 * rates since the overview before. Coarse ones are means of fine ones. While the Queue Manager is away there
 * are none, which a graph shows as a gap.
 */
import type { RsDatabase } from '../../db/rs/database.js';
import type { SeriesFigures, SeriesMoment, SeriesStep } from '../../db/rs/series.js';
import type { RsDaemon, RsOverview } from '../../wire/rs-looks.js';

/**
 * Age groups of the queue as graphs have them: from which group of the overview on, and how they are called.
 */
export const AGE_BANDS: readonly { from: number; figure: string }[] = [
  { from: 0, figure: 'age_0' },
  { from: 1, figure: 'age_1' },
  { from: 4, figure: 'age_2' },
  { from: 7, figure: 'age_3' },
  { from: 9, figure: 'age_4' },
];
/** Counters of the Queue Manager since its start, and the rates that are made of them. */
const RATES = {
  stored: 'stored_per_s',
  unchanged: 'unchanged_per_s',
  errors: 'errors_per_s',
  retries: 'retries_per_s',
  wire_bytes: 'bytes_per_s',
} as const;

export interface SeriesTimes {
  fineMs: number;
  fineKeepMs: number;
  coarseMs: number;
  coarseKeepMs: number;
}

export class SeriesRecorder {
  readonly #db: RsDatabase;
  readonly #times: SeriesTimes;
  #before: RsOverview | undefined;
  /** Begin of the coarse time that is under way. */
  #coarseMs: number | undefined;
  /** Moments that were read last; reading and drawing weeks takes long, and there is nothing new before a
   * step is over. */
  readonly #read = new Map<SeriesStep, { atMs: number; moments: readonly SeriesMoment[] }>();

  constructor(db: RsDatabase, times: SeriesTimes) {
    this.#db = db;
    this.#times = times;
  }

  /** @throws LccError as RsDatabase.write */
  add(overview: RsOverview): void {
    if (this.#before?.at_ms === overview.at_ms) return;
    const figures = figuresOf(overview, this.#before);
    this.#before = overview;
    const { fineMs, fineKeepMs, coarseMs, coarseKeepMs } = this.#times;
    const nowMs = overview.at_ms;
    const beginMs = nowMs - (nowMs % coarseMs);
    this.#db.write(() => {
      const { series } = this.#db;
      this.#read.delete('fine');
      series.add('fine', { atMs: nowMs - (nowMs % fineMs), figures });
      const before = this.#coarseMs ?? beginMs - coarseMs;
      if (before < beginMs) {
        const fine = series.between('fine', before, before + coarseMs);
        if (fine.length > 0) series.add('coarse', { atMs: before, figures: meansOf(fine) });
        this.#read.delete('coarse');
        series.prune('fine', nowMs - Math.max(fineKeepMs, 2 * coarseMs), nowMs);
        series.prune('coarse', nowMs - coarseKeepMs, nowMs);
      }
    });
    this.#coarseMs = beginMs;
  }

  /** Moments of a graph of a step, until now: the same array for a step's time, or until there is more. */
  moments(step: SeriesStep, nowMs: number): readonly SeriesMoment[] {
    const { fromMs, stepMs } = spanOf(this.#times, step, nowMs);
    const read = this.#read.get(step);
    if (read !== undefined && read.atMs <= nowMs && nowMs < read.atMs + stepMs) return read.moments;
    const moments = this.#db.series.between(step, fromMs, nowMs + 1);
    this.#read.set(step, { atMs: nowMs, moments });
    return moments;
  }
}

/** Time that is kept of a step, until now. */
export function spanOf(
  { fineMs, fineKeepMs, coarseMs, coarseKeepMs }: SeriesTimes,
  step: SeriesStep,
  toMs: number,
) {
  const [stepMs, keptMs] = step === 'fine' ? [fineMs, fineKeepMs] : [coarseMs, coarseKeepMs];
  return { fromMs: toMs - keptMs, toMs, stepMs };
}

function figuresOf(overview: RsOverview, before: RsOverview | undefined): SeriesFigures {
  const { queue, machines } = overview;
  const figures: Record<string, number> = { waiting: queue.total.waiting };
  for (const [i, { from, figure }] of AGE_BANDS.entries())
    figures[figure] = queue.total.ages
      .slice(from, AGE_BANDS[i + 1]?.from)
      .reduce((sum, count) => sum + count, 0);
  const here = machines.filter(({ isHere }) => isHere);
  figures['machines'] = here.length;
  figures['slots'] = here.reduce((sum, { slots }) => sum + slots, 0);
  const now = queueManagerOf(overview);
  if (now === undefined) return figures;
  figures['in_flight'] = Number(now.figures['in_flight'] ?? 0);
  const last = before && queueManagerOf(before);
  const seconds = before === undefined ? 0 : (overview.at_ms - before.at_ms) / 1000;
  // Another process counts from 0 again.
  if (last === undefined || seconds <= 0 || last.figures['pid'] !== now.figures['pid']) return figures;
  for (const [counter, rate] of Object.entries(RATES)) {
    const more = Number(now.figures[counter] ?? 0) - Number(last.figures[counter] ?? 0);
    if (more >= 0) figures[rate] = more / seconds;
  }
  return figures;
}

function queueManagerOf({ daemons }: RsOverview): Extract<RsDaemon, { figures: object }> | undefined {
  return daemons.find(
    (daemon): daemon is Extract<RsDaemon, { figures: object }> =>
      daemon.name === 'lccd-qm' && 'figures' in daemon,
  );
}

/** Means of each figure over the times that have it. */
export function meansOf(moments: readonly SeriesMoment[]): SeriesFigures {
  const sums = new Map<string, { sum: number; count: number }>();
  for (const { figures } of moments)
    for (const [name, value] of Object.entries(figures)) {
      const { sum, count } = sums.get(name) ?? { sum: 0, count: 0 };
      sums.set(name, { sum: sum + value, count: count + 1 });
    }
  return Object.fromEntries([...sums].map(([name, { sum, count }]) => [name, sum / count]));
}
