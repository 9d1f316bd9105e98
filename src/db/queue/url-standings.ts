/** How urls of a provider stand: waiting, held, gone, with an error. */
import { formatAttribute, unescapeAttribute } from '../../lib/xml/escape.js';
import type { KeptError, RsErrorsWanted, UrlStanding } from '../../wire/qm-rs.js';
import type { Db } from '../sqlite/open.js';
import { AT_MOST } from '../sqlite/paging.js';
import { SqlStore } from '../sqlite/sql-store.js';
import { placesOf } from './folders.js';

const MAX_TEXT_LENGTH = 300;

interface UrlError {
  mimetype: string;
  code: number;
  text: string;
}

type KeptRow = Omit<KeptError, 'mimetype'>;

interface ErrorsWanted {
  pid: number;
  after: number;
  limit: number;
  code: number | null;
  /** Beginning of `attrs`; '' = all. */
  from: string;
}

export class UrlStandings extends SqlStore {
  readonly #waiting = this.sql.rows<
    [pid: number, curl: string, most: number],
    { mimetype: string; tries: number }
  >(`SELECT mimetype, tries FROM qdb WHERE pos IN ${placesOf()} AND op = 1 ORDER BY mimetype ${AT_MOST}`);
  readonly #held = this.sql.rows<
    [pid: number, curl: string, most: number],
    { mimetype: string; seq: number; bytes: number; at: number }
  >(
    `SELECT mimetype, seq, len AS bytes, fetched_time AS at FROM lccurl WHERE pid = ? AND curl = ?
     ORDER BY mimetype ${AT_MOST}`,
  );
  // There is no index by curl: one with a browse url of its own is not found.
  readonly #gone = this.sql.rows<
    [of: { pid: number; curl: string }],
    { mimetype: string; seq: number; at: number }
  >(
    `SELECT mimetype, seq, deleted_time AS at FROM tombstone
     WHERE coalesce(burl, curl) = $curl AND pid = $pid AND curl = $curl AND moved = 0 ORDER BY seq DESC LIMIT 1`,
  );
  readonly #kept = this.sql.rows<[ErrorsWanted], KeptRow>(
    `SELECT errseq, code, attrs AS curl, substr(text, 1, ${MAX_TEXT_LENGTH}) AS text FROM pierr
     WHERE pid = $pid AND errseq > $after AND cured = 0 AND code = coalesce($code, code)
       AND substr(attrs, 1, length($from)) = $from ORDER BY errseq LIMIT $limit`,
  );
  readonly #failed = this.sql.rows<[pid: number, curl: string, most: number], UrlError>(
    `SELECT mimetype, code, text FROM failure WHERE pid = ? AND curl = ? ORDER BY id DESC ${AT_MOST}`,
  );
  readonly #errors = this.sql.rows<[{ pid: number; from: string; to: string; most: number }], UrlError>(
    `SELECT attrs AS mimetype, code, substr(text, 1, ${MAX_TEXT_LENGTH}) AS text FROM pierr
     WHERE pid = $pid AND attrs >= $from AND attrs < $to AND cured = 0 ORDER BY errseq DESC LIMIT $most + 0`,
  );
  readonly #most: number;

  /** @param most rows of each state for one url */
  constructor(db: Db, most: number) {
    super(db);
    this.#most = most;
  }

  /** Errors that its CP has not received, newest first, then those that it has; nothing is known of one
   * without rows. */
  of(pid: number, curl: string): UrlStanding[] {
    const unreceived = this.unreceived(pid, curl);
    const isNews = ({ mimetype }: { mimetype: string }) =>
      !unreceived.some(error => error.mimetype === mimetype);
    const rows: UrlStanding[] = [
      ...this.#waiting(pid, curl, this.#most).map(row => ({ ...row, state: 'waiting' as const })),
      ...this.#held(pid, curl, this.#most).map(row => ({ ...row, state: 'held' as const })),
      ...[...unreceived, ...this.#failed(pid, curl, this.#most).filter(isNews)].map(row => ({
        ...row,
        state: 'error' as const,
      })),
    ];
    return rows.length > 0 ? rows : this.gone(pid, curl).map(row => ({ ...row, state: 'gone' as const }));
  }

  /** The last removals of the page. */
  gone(pid: number, curl: string): { mimetype: string; seq: number; at: number }[] {
    return this.#gone({ pid, curl });
  }

  /** Errors of a url that its CP has not received, the newest first. */
  unreceived(pid: number, curl: string): UrlError[] {
    const from = `${formatAttribute('curl', curl)} `;
    // A blank, then any attribute.
    return this.#errors({ pid, from, to: `${from.slice(0, -1)}!`, most: this.#most }).map(
      ({ mimetype: attrs, ...row }) => ({
        ...row,
        mimetype: attributeOf(attrs, 'mimetype'),
      }),
    );
  }

  /** Errors that a provider has not received, in their order, after one of them. */
  errors(pid: number, { code, prefix = '', ...wanted }: RsErrorsWanted): KeptError[] {
    const from = prefix === '' ? '' : formatAttribute('curl', prefix).slice(0, -1);
    return this.#kept({ ...wanted, pid, from, code: code ?? null }).map(({ curl: attrs, ...row }) => ({
      ...row,
      curl: attributeOf(attrs, 'curl'),
      mimetype: attributeOf(attrs, 'mimetype'),
    }));
  }
}

function attributeOf(attrs: string, name: string): string {
  return unescapeAttribute(new RegExp(` ${name}="([^"]*)"`).exec(attrs)?.[1] ?? '');
}
