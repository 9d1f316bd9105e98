/** How urls of a provider stand: waiting, held, gone, with an error. */
import { formatAttribute, unescapeAttribute } from '../../lib/xml/escape.js';
import type { KeptError, RsErrorsWanted, UrlStanding } from '../../wire/qm-rs.js';
import type { Db } from '../sqlite/open.js';
import { placesOf } from './folders.js';

const MAX_TEXT_LENGTH = 300;

const KEPT = `SELECT errseq, code, attrs AS curl, substr(text, 1, ${MAX_TEXT_LENGTH}) AS text FROM pierr
         WHERE pid = $pid AND errseq > $after AND cured = 0`;
const BEGINS = 'AND substr(attrs, 1, length($from)) = $from ORDER BY errseq LIMIT $limit';
/** Attributes with this beginning, by an index; no address has the last of all characters. */
const BELOW = 'attrs >= $from AND attrs < $from || char(1114111)';
/** Errors below an address that are sorted; with more of them one is soon found in the order of all. */
const MOST_SORTED = 1000;

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

export class UrlStandings {
  readonly #statements;

  /** @param most rows of each state for one url */
  constructor(db: Db, most: number) {
    this.#statements = {
      waiting: db.prepare<[number, string], { mimetype: string; tries: number }>(
        `SELECT mimetype, tries FROM qdb WHERE pos IN ${placesOf()} AND op = 1 ORDER BY mimetype LIMIT ${most}`,
      ),
      held: db.prepare<[number, string], { mimetype: string; seq: number; bytes: number; at: number }>(
        `SELECT mimetype, seq, len AS bytes, fetched_time AS at FROM lccurl WHERE pid = ? AND curl = ?
         ORDER BY mimetype LIMIT ${most}`,
      ),
      // There is no index by curl: one with a browse url of its own is not found.
      gone: db.prepare<[string, number, string], { mimetype: string; seq: number; at: number }>(
        `SELECT mimetype, seq, deleted_time AS at FROM tombstone
         WHERE coalesce(burl, curl) = ? AND pid = ? AND curl = ? AND moved = 0 ORDER BY seq DESC LIMIT 1`,
      ),
      kept: db.prepare<ErrorsWanted, KeptRow>(`${KEPT} AND code = coalesce($code, code) ${BEGINS}`),
      ofCode: db.prepare<ErrorsWanted, KeptRow>(`${KEPT} AND code = $code ${BEGINS}`),
      below: db.prepare<ErrorsWanted, KeptRow>(
        `${KEPT.replace('FROM pierr', 'FROM pierr INDEXED BY pierr_url')} AND ${BELOW}
           AND code = coalesce($code, code) ${BEGINS}`,
      ),
      areManyBelow: db
        .prepare<{ pid: number; from: string }, number>(
          `SELECT count(*) > ${MOST_SORTED} FROM
             (SELECT 1 FROM pierr WHERE pid = $pid AND ${BELOW} LIMIT ${MOST_SORTED} + 1)`,
        )
        .pluck(),
      failed: db.prepare<[number, string], UrlError>(
        `SELECT mimetype, code, text FROM failure WHERE pid = ? AND curl = ? ORDER BY id DESC LIMIT ${most}`,
      ),
      errors: db.prepare<{ pid: number; from: string; to: string }, UrlError>(
        `SELECT attrs AS mimetype, code, substr(text, 1, ${MAX_TEXT_LENGTH}) AS text FROM pierr
         WHERE pid = $pid AND attrs >= $from AND attrs < $to AND cured = 0 ORDER BY errseq DESC LIMIT ${most}`,
      ),
    };
  }

  /** Errors that its CP has not received, newest first, then those that it has; nothing is known of one
   * without rows. */
  of(pid: number, curl: string): UrlStanding[] {
    const { waiting, held, failed } = this.#statements;
    const unreceived = this.unreceived(pid, curl);
    const isNews = ({ mimetype }: { mimetype: string }) =>
      !unreceived.some(error => error.mimetype === mimetype);
    const rows: UrlStanding[] = [
      ...waiting.all(pid, curl).map(row => ({ ...row, state: 'waiting' as const })),
      ...held.all(pid, curl).map(row => ({ ...row, state: 'held' as const })),
      ...[...unreceived, ...failed.all(pid, curl).filter(isNews)].map(row => ({
        ...row,
        state: 'error' as const,
      })),
    ];
    return rows.length > 0 ? rows : this.gone(pid, curl).map(row => ({ ...row, state: 'gone' as const }));
  }

  /** The last removals of the page. */
  gone(pid: number, curl: string): { mimetype: string; seq: number; at: number }[] {
    return this.#statements.gone.all(curl, pid, curl);
  }

  /** Errors of a url that its CP has not received, the newest first. */
  unreceived(pid: number, curl: string): UrlError[] {
    const from = `${formatAttribute('curl', curl)} `;
    // A blank, then any attribute.
    return this.#statements.errors
      .all({ pid, from, to: `${from.slice(0, -1)}!` })
      .map(({ mimetype: attrs, ...row }) => ({ ...row, mimetype: attributeOf(attrs, 'mimetype') }));
  }

  /** Errors that a provider has not received, in their order, after one of them. */
  errors(pid: number, { code, prefix = '', ...wanted }: RsErrorsWanted): KeptError[] {
    const from = prefix === '' ? '' : formatAttribute('curl', prefix).slice(0, -1);
    const { kept, ofCode, below, areManyBelow } = this.#statements;
    const areFewBelow = from !== '' && areManyBelow.get({ pid, from }) === 0;
    const statement = areFewBelow ? below : code === undefined ? kept : ofCode;
    return statement.all({ ...wanted, pid, from, code: code ?? null }).map(({ curl: attrs, ...row }) => ({
      ...row,
      curl: attributeOf(attrs, 'curl'),
      mimetype: attributeOf(attrs, 'mimetype'),
    }));
  }
}

function attributeOf(attrs: string, name: string): string {
  return unescapeAttribute(new RegExp(` ${name}="([^"]*)"`).exec(attrs)?.[1] ?? '');
}
