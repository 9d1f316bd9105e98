/** Events of registration, for the operator; no secrets. */
import { SqlStore } from '../sqlite/sql-store.js';

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

interface AuditSelection {
  /** Id that those lie below. */
  before?: number | undefined;
  pid?: number | undefined;
  /** Only what was refused, and checks that failed. */
  isRefusal?: boolean;
}

interface RefusedCount {
  event: string;
  hour: number;
  day: number;
}

const SELECT = 'SELECT id, at_ms AS atMs, event, registration, pid, by, detail FROM audit';
const REFUSED = "(event LIKE '%refused' OR event = 'check failed')";
const MAX_DETAIL_LENGTH = 500;

export class AuditStore extends SqlStore {
  readonly #add = this.sql.run<[values: AuditEvent & { atMs: number }]>(
    'INSERT INTO audit(at_ms, event, registration, pid, by, detail) VALUES ($atMs, $event, $registration, $pid, $by, $detail)',
  );
  readonly #page = this.sql.rows<
    [values: { pid: number | null; before: number; isRefusal: 0 | 1; limit: number }],
    AuditRow
  >(
    `${SELECT} WHERE id < $before AND ($pid IS NULL OR pid = $pid) AND ($isRefusal = 0 OR ${REFUSED})
     ORDER BY id DESC LIMIT $limit`,
  );

  /** Inside a transaction. */
  add(event: AuditEvent, atMs: number): void {
    this.#add({ ...event, detail: event.detail.slice(0, MAX_DETAIL_LENGTH), atMs });
  }

  /** Those after a row, in their order. */
  readonly after = this.sql.rows<[id: number, limit: number], AuditRow>(
    `${SELECT} WHERE id > ? ORDER BY id LIMIT ?`,
  );

  /** 0: there is none. */
  readonly lastId = this.sql.number('SELECT max(id) FROM audit');

  /** The newest first. */
  page(
    limit: number,
    { before = Number.MAX_SAFE_INTEGER, pid, isRefusal = false }: AuditSelection = {},
  ): AuditRow[] {
    return this.#page({ pid: pid ?? null, before, isRefusal: isRefusal ? 1 : 0, limit });
  }

  /** How often what was refused, since either time. */
  readonly refusedSince = this.sql.rows<[values: { hourMs: number; dayMs: number }], RefusedCount>(
    `SELECT event, count(nullif(at_ms > $hourMs, 0)) AS hour, count(*) AS day FROM audit
     WHERE at_ms > $dayMs AND ${REFUSED} GROUP BY event ORDER BY event`,
  );

  /** Forgets what was before. */
  readonly prune = this.sql.run<[beforeMs: number]>('DELETE FROM audit WHERE at_ms < ?');
}
