/**
 * Where the queue has its urls: a folder, which is there once for each provider and type, and a name in it.
 * SQL that looks for a url says so with `placeOf` and `placesOf`.
 */
import type { Db } from '../../lib/sqlite.js';
import { SqlStore } from '../sqlite/sql-store.js';

/** Looked at in a step. */
const FOLDERS_A_STEP = 1000;
/** Below the ids of all folders. */
export const NO_FOLDER = 0;

/**
 * The beginning of a url up to the last slash but one of its path: with the last, each page of a site that
 * has a folder for each would have one here. Urls that differ behind `?` alone have the same one. '' where
 * there are no two slashes.
 */
export function folderOf(curl: string): string {
  const query = curl.indexOf('?');
  const last = curl.lastIndexOf('/', query < 0 ? curl.length : query);
  return last <= 0 ? '' : curl.slice(0, curl.lastIndexOf('/', last - 1) + 1);
}

/** Makes `url_folder` known to SQL on a connection. */
export function defineFolder(db: Db): void {
  db.function('url_folder', { deterministic: true }, curl => folderOf(String(curl)));
}

/** SQL: what is behind the folder of a url. */
export const nameOf = (curl: string) => `substr(${curl}, length(url_folder(${curl})) + 1)`;

/** The arguments of `placeOf`. */
export type UrlKey = [pid: number, curl: string, mimetype: string];

/** SQL: the place of a url; NULL where it does not wait. Takes, in this order, pid, curl and mimetype. */
export function placeOf(pid = '?', curl = '?', mimetype = '?'): string {
  return found(`${pid} AS p, ${curl} AS u, ${mimetype} AS t`, 'AND f.mimetype = t');
}

/** SQL: the places of a page, of whatever types. Takes pid and curl. */
export function placesOf(pid = '?', curl = '?'): string {
  return found(`${pid} AS p, ${curl} AS u`);
}

function found(values: string, isToo = ''): string {
  return `(SELECT queued.pos FROM (SELECT ${values})
    CROSS JOIN qfolder AS f ON f.pid = p AND f.folder = url_folder(u) ${isToo}
    CROSS JOIN queued ON queued.pid = p AND queued.folderid = f.id AND queued.name = ${nameOf('u')})`;
}

/** Where a url is in the queue. */
export interface UrlPlace {
  folderid: number;
  name: string;
}

export class QueueFolders extends SqlStore {
  readonly #select = this.sql.number<[pid: number, folder: string, mimetype: string]>(
    'SELECT id FROM qfolder WHERE pid = ? AND folder = ? AND mimetype = ?',
  );
  readonly #insert = this.sql.insert<[pid: number, folder: string, mimetype: string]>(
    'INSERT INTO qfolder(pid, folder, mimetype) VALUES (?, ?, ?)',
  );

  /** The folders with the next ids, in their order; none: there are no more. */
  readonly after = this.sql.rows<[id: number], { id: number; isUsed: 0 | 1 }>(
    `SELECT id, EXISTS (SELECT 1 FROM queued WHERE queued.pid = qfolder.pid AND folderid = id) AS isUsed
     FROM qfolder WHERE id > ? ORDER BY id LIMIT ${FOLDERS_A_STEP}`,
  );

  /** Inside a transaction. */
  readonly forget = this.sql.run<[id: number]>('DELETE FROM qfolder WHERE id = ?');

  /**
   * The place of a url, whose folder is made where there is none. Inside a transaction.
   * @param known ids of that provider's folders that were found in the same transaction; more are noted there
   */
  of(pid: number, curl: string, mimetype: string, known?: Map<string, number>): UrlPlace {
    const folder = folderOf(curl);
    const key = `${mimetype} ${folder}`;
    let folderid = known?.get(key);
    if (folderid === undefined) {
      folderid = this.#select(pid, folder, mimetype) || this.#insert(pid, folder, mimetype);
      known?.set(key, folderid);
    }
    return { folderid, name: curl.slice(folder.length) };
  }
}
