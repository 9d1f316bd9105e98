/** The row whose content a file of the store is, as of now: every look-up sees what was committed last. */
import { LccReader } from '../sqlite/lcc-reader.js';

export class FileOwners extends LccReader {
  readonly #selectOwner = this.sql.value<[fileid: string, machineid: string], string>(
    'SELECT coalesce(burl, curl) FROM lccurl WHERE fetched_fileid = ? AND fetched_machineid = ?',
  );
  readonly #machineId: string;

  /** @throws LccError as `openReadOnly` */
  constructor(path: string, machineId: string) {
    super(path);
    this.#machineId = machineId;
  }

  /** The browse URL; undefined where no row has the file any more, or the row is not shown. */
  burlOf(fileid: string): string | undefined {
    const burl = this.#selectOwner(fileid, this.#machineId);
    return burl === '' ? undefined : burl;
  }
}
