/** Tells if the consumer of a cursor has taken everything. */
import { CacheReader } from '../db/cache/read.js';
import { readCursor, startOf } from './cursor.js';

export class ConsumerLook {
  readonly #dbPath: string;
  readonly #file: string;
  #reader: CacheReader | undefined;

  constructor(dbPath: string, file: string) {
    this.#dbPath = dbPath;
    this.#file = file;
  }

  /**
   * The last change, where the cursor is at it; undefined where it is behind, or not there yet.
   * @throws LccError as readCursor and startOf
   */
  taken(): number | undefined {
    // The cursor first: a change that comes between the two is not taken.
    const cursor = readCursor(this.#file);
    if (cursor === undefined) return undefined;
    this.#reader ??= new CacheReader(this.#dbPath, '');
    this.#reader.renew();
    const { highWater } = this.#reader;
    const seq = startOf(this.#file, cursor, this.#reader);
    this.#reader.rest();
    return seq === highWater ? highWater : undefined;
  }
}
