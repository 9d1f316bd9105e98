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

const MAX_DETAIL_LENGTH = 500;

export class AuditStore {
  readonly #statements;

  constructor(db: Db) {
    this.#statements = {
      add: db.prepare<AuditEvent & { atMs: number }>(
        'INSERT INTO audit(at_ms, event, registration, pid, by, detail) VALUES ($atMs, $event, $registration, $pid, $by, $detail)',
      ),
      last: db.prepare<{ pid: number | null; limit: number }, AuditRow>(
        `SELECT id, at_ms AS atMs, event, registration, pid, by, detail FROM audit
         WHERE pid = coalesce($pid, pid) OR ($pid IS NULL AND pid IS NULL) ORDER BY id DESC LIMIT $limit`,
      ),
      page: db.prepare<{ pid: number | null; before: number | null; limit: number }, AuditRow>(
        `SELECT id, at_ms AS atMs, event, registration, pid, by, detail FROM audit
         WHERE id < coalesce($before, id + 1) AND ($pid IS NULL OR pid = $pid) ORDER BY id DESC LIMIT $limit`,
      ),
      prune: db.prepare<[number]>('DELETE FROM audit WHERE at_ms < ?'),
    };
  }

  /** Inside a transaction. */
  add(event: AuditEvent, atMs: number): void {
    this.#statements.add.run({ ...event, detail: event.detail.slice(0, MAX_DETAIL_LENGTH), atMs });
  }

  /** The last ones, the newest first. @param pid of this provider only */
  last(limit: number, pid?: number): AuditRow[] {
    return this.#statements.last.all({ pid: pid ?? null, limit });
  }

  /** The newest first. @param before id that those of this page lie below */
  page(
    limit: number,
    { before, pid }: { before?: number | undefined; pid?: number | undefined },
  ): AuditRow[] {
    return this.#statements.page.all({ pid: pid ?? null, before: before ?? null, limit });
  }

  /** Forgets what was before. */
  prune(beforeMs: number): void {
    this.#statements.prune.run(beforeMs);
  }
}
