/** Figures of the whole LCC over time, for graphs: fine ones of the last while, coarse ones of the last weeks. */
import type { Db } from '../../lib/sqlite.js';

export const SERIES_SCHEMA = `
CREATE TABLE series(
  step TEXT NOT NULL,                           -- fine, coarse
  at_ms INTEGER NOT NULL,                       -- when the time begins that they are of
  figures TEXT NOT NULL,                        -- JSON: name to number; coarse: means
  PRIMARY KEY (step, at_ms)
) STRICT, WITHOUT ROWID;
`;

export type SeriesStep = 'fine' | 'coarse';

/** Numbers by name. One that is not known at that time is missing. */
export type SeriesFigures = Readonly<Record<string, number>>;

export interface SeriesMoment {
  atMs: number;
  figures: SeriesFigures;
}

interface Row {
  atMs: number;
  figures: string;
}

export class SeriesStore {
  readonly #statements;

  constructor(db: Db) {
    this.#statements = {
      add: db.prepare<[SeriesStep, number, string]>('INSERT OR REPLACE INTO series VALUES (?, ?, ?)'),
      prune: db.prepare<{ step: SeriesStep; before: number; after: number }>(
        'DELETE FROM series WHERE step = $step AND (at_ms < $before OR at_ms > $after)',
      ),
      since: db.prepare<[SeriesStep, number, number], Row>(
        'SELECT at_ms AS atMs, figures FROM series WHERE step = ? AND at_ms >= ? AND at_ms < ? ORDER BY at_ms',
      ),
    };
  }

  /** Inside a transaction. */
  add(step: SeriesStep, { atMs, figures }: SeriesMoment): void {
    this.#statements.add.run(step, atMs, JSON.stringify(figures));
  }

  /** Forgets what was before, and what a clock that went wrong has put after now. */
  prune(step: SeriesStep, beforeMs: number, nowMs: number): void {
    this.#statements.prune.run({ step, before: beforeMs, after: nowMs });
  }

  /** Ascending. @param toMs not among them */
  between(step: SeriesStep, fromMs: number, toMs: number): SeriesMoment[] {
    return this.#statements.since.all(step, fromMs, toMs).map(({ atMs, figures }) => ({
      atMs,
      figures: JSON.parse(figures) as SeriesFigures,
    }));
  }
}
