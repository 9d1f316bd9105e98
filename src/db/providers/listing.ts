/** Providers as operators list them: a page of those that match. */
import type { RsProviderPage, RsProviderRow } from '../../wire/rs-looks.js';
import type { Db } from '../sqlite/open.js';

interface Row extends Omit<RsProviderRow, 'enabled' | 'paused'> {
  enabled: number;
  paused: number;
}

/** @param search part of a number or of a root; '': all of them */
export function readProviderPage(db: Db, search: string, after: number, limit: number): RsProviderPage {
  const rows = db
    .prepare<{ search: string; like: string; after: number; limit: number }, Row>(
      `SELECT pid, origin, enabled, paused, coalesce((SELECT min(root) FROM proots WHERE proots.pid = pidb.pid), '') AS root,
         (SELECT count(*) FROM proots WHERE proots.pid = pidb.pid) AS roots, nurlproc AS waiting, nurlerrs AS errors,
         filesused AS files, spaceused AS bytes, fullsetwanted AS full_set_wanted, lastconntime * 1000 AS connected_ms
       FROM pidb WHERE pid > $after AND ($search = '' OR instr(CAST(pid AS TEXT), $search) > 0
         OR EXISTS(SELECT 1 FROM proots WHERE proots.pid = pidb.pid AND root LIKE $like ESCAPE '\\'))
       ORDER BY pid LIMIT $limit`,
    )
    .all({ search, like: `%${search.replace(/[\\%_]/g, '\\$&')}%`, after, limit: limit + 1 });
  const shown = rows.slice(0, limit);
  return {
    providers: shown.map(row => ({ ...row, enabled: row.enabled !== 0, paused: row.paused !== 0 })),
    next: rows.length > limit ? (shown.at(-1)?.pid ?? null) : null,
  };
}
