/** The row whose content a file of the store is, as of now: every look-up sees what was committed last. */
import { openReadOnly, type Db } from '../sqlite/open.js';

export class FileOwners {
  readonly #db: Db;
  readonly #selectOwner;
  readonly #machineId: string;

  /** @throws LccError as `openReadOnly` */
  constructor(path: string, machineId: string) {
    this.#db = openReadOnly(path);
    this.#machineId = machineId;
    this.#selectOwner = this.#db
      .prepare<[string, string], string>(
        'SELECT coalesce(burl, curl) FROM lccurl WHERE fetched_fileid = ? AND fetched_machineid = ?',
      )
      .pluck();
  }

  /** The browse URL; undefined where no row has the file any more, or the row is not shown. */
  burlOf(fileid: string): string | undefined {
    const burl = this.#selectOwner.get(fileid, this.#machineId);
    return burl === '' ? undefined : burl;
  }

  close(): void {
    this.#db.close();
  }
}
