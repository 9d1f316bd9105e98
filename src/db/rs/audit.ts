/** What happened in registration, for the operator; no secrets. */
import type { Db } from '../../lib/sqlite.js';

export interface AuditEvent {
  event: string;
  registration: number | null;
  pid: number | null;
  by: 'applicant' | 'provider' | 'operator' | 'qm' | 'rs';
  detail: string;
}

export interface AuditRow extends AuditEvent {
  id: number;
  atMs: number;
}

export interface AuditSelection {
  /** Id that those lie below. */
  before?: number | undefined;
  pid?: number | undefined;
  /** Only what was refused, and checks that failed. */
  isRefusal?: boolean;
}

export interface RefusedCount {
  event: string;
  hour: number;
  day: number;
}

const REFUSED = "(event LIKE '%refused' OR event = 'check failed')";
const CHANGED =
  "((by = 'provider' AND event LIKE '% asked') OR event IN ('address given', 'address removed'))";
const MAX_DETAIL_LENGTH = 500;

export class AuditStore {
  readonly #statements;
  /** There is one that nobody has been told of. */
  hasNews = false;

  constructor(db: Db) {
    this.#statements = {
      add: db.prepare<AuditEvent & { atMs: number }>(
        'INSERT INTO audit(at_ms, event, registration, pid, by, detail) VALUES ($atMs, $event, $registration, $pid, $by, $detail)',
      ),
      after: db.prepare<[number, number], AuditRow>(
        `SELECT id, at_ms AS atMs, event, registration, pid, by, detail FROM audit
         WHERE id > ? ORDER BY id LIMIT ?`,
      ),
      lastId: db.prepare<[], number>('SELECT max(id) FROM audit').pluck(),
      last: db.prepare<{ pid: number | null; limit: number }, AuditRow>(
        `SELECT id, at_ms AS atMs, event, registration, pid, by, detail FROM audit
         WHERE pid = coalesce($pid, pid) OR ($pid IS NULL AND pid IS NULL) ORDER BY id DESC LIMIT $limit`,
      ),
      page: db.prepare<{ pid: number | null; before: number; isRefusal: 0 | 1; limit: number }, AuditRow>(
        `SELECT id, at_ms AS atMs, event, registration, pid, by, detail FROM audit
         WHERE id < $before AND ($pid IS NULL OR pid = $pid) AND ($isRefusal = 0 OR ${REFUSED})
         ORDER BY id DESC LIMIT $limit`,
      ),
      refusedSince: db.prepare<{ hourMs: number; dayMs: number }, RefusedCount>(
        `SELECT event, count(nullif(at_ms > $hourMs, 0)) AS hour, count(*) AS day FROM audit
         WHERE at_ms > $dayMs AND ${REFUSED} GROUP BY event ORDER BY event`,
      ),
      changesOf: db
        .prepare<{ pid: number; sinceMs: number; limit: number }, number>(
          `SELECT at_ms FROM audit WHERE at_ms > $sinceMs AND pid = $pid AND ${CHANGED} ORDER BY at_ms DESC LIMIT $limit`,
        )
        .pluck(),
      prune: db.prepare<[number]>('DELETE FROM audit WHERE at_ms < ?'),
    };
  }

  /** Inside a transaction. */
  add(event: AuditEvent, atMs: number): void {
    this.hasNews = true;
    this.#statements.add.run({ ...event, detail: event.detail.slice(0, MAX_DETAIL_LENGTH), atMs });
  }

  /** Those after a row, in their order. */
  after(id: number, limit: number): AuditRow[] {
    return this.#statements.after.all(id, limit);
  }

  /** 0: there is none. */
  get lastId(): number {
    return this.#statements.lastId.get() ?? 0;
  }

  /** The last ones, the newest first. @param pid of this provider only */
  last(limit: number, pid?: number): AuditRow[] {
    return this.#statements.last.all({ pid: pid ?? null, limit });
  }

  /** The newest first. */
  page(
    limit: number,
    { before = Number.MAX_SAFE_INTEGER, pid, isRefusal = false }: AuditSelection,
  ): AuditRow[] {
    return this.#statements.page.all({ pid: pid ?? null, before, isRefusal: isRefusal ? 1 : 0, limit });
  }

  /** How often what was refused, since either time. */
  refusedSince(hourMs: number, dayMs: number): RefusedCount[] {
    return this.#statements.refusedSince.all({ hourMs, dayMs });
  }

  /** When a provider changed something of itself, the newest first. */
  changesOf(pid: number, sinceMs: number, limit: number): number[] {
    return this.#statements.changesOf.all({ pid, sinceMs, limit });
  }

  /** Forgets what was before. */
  prune(beforeMs: number): void {
    this.#statements.prune.run(beforeMs);
  }
}
