/** Whose content a file of the store is, as of now: every look-up sees what was committed last. */
import { openReadOnly, type Db } from '../open.js';
import { CONTENT_SUM_TEXT, isSoundText } from '../sums.js';

interface Owner {
  burl: string;
  sumtext: string;
  sum: number | null;
}

export class FileOwners {
  readonly #db: Db;
  readonly #find;
  readonly #machineId: string;

  /** @throws LccError as `openReadOnly` */
  constructor(path: string, machineId: string) {
    this.#db = openReadOnly(path);
    this.#machineId = machineId;
    this.#find = this.#db.prepare<[string, string], Owner>(
      `SELECT coalesce(burl, curl) AS burl, ${CONTENT_SUM_TEXT} AS sumtext, sum FROM lccurl
       WHERE fetched_fileid = ? AND fetched_machineid = ?`,
    );
  }

  /** The browse URL; undefined where no sound row has the file any more, or the row is not shown. */
  burlOf(fileid: string): string | undefined {
    const owner = this.#find.get(fileid, this.#machineId);
    return owner !== undefined && owner.burl !== '' && isSoundText(owner.sumtext, owner.sum)
      ? owner.burl
      : undefined;
  }

  close(): void {
    this.#db.close();
  }
}
