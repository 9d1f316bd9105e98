/** Reads of a UNS in lcc.db: a provider and the errors it has not received; at the end of a set, its last one
 * in the queue, and whether its quota has room. */
import { LccError, messageOf } from '../../lib/errors.js';
import { inodeOf } from '../../lib/inode.js';
import { placeOf, type UrlKey } from '../queue/folders.js';
import { corrupt, isInteger, isText } from '../sqlite/row-checks.js';
import { openReadOnly, storageError } from '../sqlite/open.js';
import { SqlStore } from '../sqlite/sql-store.js';
import { TruthReader, type ProviderTruth } from '../truth/reader.js';
import { PROVIDER, providerOf, type Provider } from './pidb.js';
import { AS_SERVED } from '../../wire/url.js';
import { MAX_SUMMED, WAITING_GROWTH } from '../queue/quota.js';

export interface ProviderError {
  errseq: number;
  code: number;
  text: string;
  /** As printed: ` curl="…" mimetype="…"`. */
  attrs: string;
  /** 1: content of its url has come since. */
  cured: 0 | 1;
}

/** The UNS's view of lcc.db. Every call sees the database as it is now, also when it was put in the place of
 * a damaged one meanwhile. */
export class PidbReader {
  readonly #path: string;
  #view: View | undefined;
  #inode: bigint | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /**
   * @throws LccError `input.missing` while there is no database, `data.malformed` where the provider cannot
   * be read
   */
  provider(pid: number): Provider | undefined {
    return this.#guard(({ provider }) => {
      const row = provider.get(pid);
      return row && providerOf(row);
    });
  }

  /** True while the provider moves between shards. @throws LccError as `provider` */
  isMoving(pid: number): boolean {
    return this.#guard(({ isMoving }) => isMoving(pid));
  }

  /** The id of the provider's last set in the queue: 0 before the first one, and where it cannot be read.
   * Undefined: there is no such provider any more. */
  latestSet(pid: number): number | undefined {
    try {
      return this.#guard(({ latest }) => latest(pid));
    } catch (error) {
      if (error instanceof LccError) return 0;
      throw error;
    }
  }

  /** The number of each provider's last connection; none while there is no database. */
  numbers(): [pid: number, seq: number][] {
    try {
      return this.#guard(({ numbers }) => numbers().map(({ pid, seq }) => [pid, seq]));
    } catch (error) {
      if (error instanceof LccError && error.code === 'input.missing') return [];
      throw error;
    }
  }

  /**
   * The first errors with errseq above `mark`, at most `limit`, and how many there are in all that the
   * provider has not received: kept ones above the mark, and ones that are only counted.
   * @throws LccError as `provider`
   */
  errorsAbove(pid: number, mark: number, limit: number): { shown: ProviderError[]; total: number } {
    return this.#guard(({ errors, total }) => {
      const shown = errors(pid, mark, limit);
      for (const { errseq, code, text, attrs } of shown)
        if (!isInteger(code) || !isText(text) || !isText(attrs))
          throw corrupt(`row ${errseq} of pierr has a value of another type`);
      // The Queue Manager may not have heard of the mark: what it still keeps and counts below is received
      // all the same.
      return { shown, total: shown.length === 0 ? 0 : total({ pid, mark }) };
    });
  }

  /** Worth of the provider's announcements; undefined where that cannot be read. */
  truth(pid: number, nowS: number): ProviderTruth | undefined {
    try {
      return this.#guard(({ truth }) => truth.read(nowS, pid)[0]);
    } catch (error) {
      if (error instanceof LccError) return undefined;
      throw error;
    }
  }

  /**
   * Growth of the provider's content when all that waits arrives as announced; nothing when too many wait.
   */
  waitingGrowth(pid: number): { files: number; space: number } {
    return this.#guard(({ waiting, waitingGrowth }) => {
      const isFew = waiting(pid) <= MAX_SUMMED;
      return (isFew ? waitingGrowth(pid, 0, -1) : undefined) ?? { files: 0, space: 0 };
    });
  }

  /** The content held of a url, and whether it is going to be fetched. */
  lookUp(pid: number, curl: string, mimetype: string): { heldBytes: number | undefined; isWaiting: boolean } {
    return this.#guard(({ held, isQueued }) => ({
      heldBytes: held({ pid, curl, mimetype }),
      isWaiting: isQueued(pid, curl, mimetype),
    }));
  }

  close(): void {
    this.#view?.close();
    this.#view = undefined;
  }

  /** A page that cannot be read, a damaged one say, concerns the caller that asked for it: not the process,
   * which serves others. */
  #guard<T>(read: (view: View) => T): T {
    try {
      return read(this.#open());
    } catch (error) {
      const named = error instanceof LccError ? error : storageError(this.#path, error);
      if (named instanceof LccError) throw named;
      throw new LccError('data.malformed', `${this.#path}: ${messageOf(error)}`, { cause: error });
    }
  }

  #open(): View {
    const inode = inodeOf(this.#path);
    if (this.#view !== undefined && inode === this.#inode) return this.#view;
    this.close();
    this.#inode = inode;
    return (this.#view = new View(openReadOnly(this.#path)));
  }
}

/** A database, and what the UNS asks it. */
class View extends SqlStore {
  readonly provider = this.db.prepare<[pid: number], unknown[]>(PROVIDER).raw();
  readonly latest = this.sql.value<[pid: number], number>('SELECT latestpsetid FROM pidb WHERE pid = ?');
  readonly isMoving = this.sql.has<[pid: number]>('SELECT 1 FROM moving WHERE pid = ?');
  readonly numbers = this.sql.rows<[], { pid: number; seq: number }>(
    'SELECT pid, lastconnseq AS seq FROM pidb',
  );
  readonly truth = new TruthReader(this.db);
  readonly waiting = this.sql.number<[pid: number]>('SELECT nurlproc FROM pidb WHERE pid = ?');
  readonly waitingGrowth = this.sql.row<
    [pid: number, from: number, limit: number],
    { files: number; space: number }
  >(WAITING_GROWTH);
  readonly held = this.sql.value<[{ pid: number; curl: string; mimetype: string }], number>(
    `SELECT len FROM lccurl WHERE pid = $pid AND curl = $curl
       AND (mimetype = $mimetype OR (served AND $mimetype = '${AS_SERVED}'))`,
  );
  readonly isQueued = this.sql.has<UrlKey>(`SELECT 1 FROM queued WHERE pos = ${placeOf()} AND op = 1`);
  readonly errors = this.sql.rows<[pid: number, mark: number, limit: number], ProviderError>(
    'SELECT errseq, code, text, attrs, cured FROM pierr WHERE pid = ? AND errseq > ? ORDER BY errseq LIMIT ?',
  );
  readonly total = this.sql.number<[{ pid: number; mark: number }]>(
    `SELECT max(above, nurlerrs - below) FROM pidb,
       (SELECT count(*) FILTER (WHERE errseq > $mark) AS above, count(*) FILTER (WHERE errseq <= $mark) AS below
        FROM pierr WHERE pid = $pid)
     WHERE pid = $pid`,
  );

  close(): void {
    this.db.close();
  }
}
