/** Figures of the whole LCC over time, for graphs: fine ones of the last while, coarse ones of the last
 * weeks. */
import { SqlStore } from '../sqlite/sql-store.js';

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

export class SeriesStore extends SqlStore {
  readonly #add = this.sql.run<[step: SeriesStep, atMs: number, string]>(
    'INSERT OR REPLACE INTO series VALUES (?, ?, ?)',
  );
  readonly #prune = this.sql.run<[values: { step: SeriesStep; before: number; after: number }]>(
    'DELETE FROM series WHERE step = $step AND (at_ms < $before OR at_ms > $after)',
  );
  readonly #since = this.sql.rows<[step: SeriesStep, fromMs: number, toMs: number], Row>(
    'SELECT at_ms AS atMs, figures FROM series WHERE step = ? AND at_ms >= ? AND at_ms < ? ORDER BY at_ms',
  );

  /** Inside a transaction. */
  add(step: SeriesStep, { atMs, figures }: SeriesMoment): void {
    this.#add(step, atMs, JSON.stringify(figures));
  }

  /** Forgets what was before, and what a clock that went wrong has put after now. */
  prune(step: SeriesStep, beforeMs: number, nowMs: number): void {
    this.#prune({ step, before: beforeMs, after: nowMs });
  }

  /** Ascending. @param toMs not among them */
  between(step: SeriesStep, fromMs: number, toMs: number): SeriesMoment[] {
    return this.#since(step, fromMs, toMs).map(({ atMs, figures }) => ({
      atMs,
      figures: JSON.parse(figures) as SeriesFigures,
    }));
  }
}
