/**
 * A provider comes from another shard: the rows of its parcel (parcel.ts), table by table, a slice in each
 * transaction. Sets and places get numbers of this shard at the beginning, changes as they are put in.
 * Whatever was put in before of it went first (clearing.ts). `put` and `begin` run inside the caller's
 * transaction.
 */
import type { Tally } from '../cache/tally.js';
import type { ContentStore } from '../cache/content.js';
import { SiteLogins } from '../providers/site-logins.js';
import type { Refetcher } from '../queue/refetch.js';
import { Counter } from '../sqlite/counters.js';
import type { Db } from '../sqlite/open.js';
import { Sql } from '../sqlite/sql-store.js';
import { CARRIED, unsAt, type Carried } from './carried.js';
import type { Parcel } from './parcel.js';

export interface ArrivalStores {
  content: ContentStore;
  refetch: Refetcher;
  tally: Tally;
}

/** A file of content, as the shard that it comes from has it. */
export interface ContentFile {
  machineId: string;
  fileId: string;
  md5: string;
  len: number;
}

/** The next rows of a table. */
export interface ParcelRows {
  table: string;
  rows: unknown[][];
  /** The file of each row of content. */
  files: ContentFile[];
}

interface Target {
  carried: Carried;
  columns: string[];
  insert: (values: unknown[]) => void;
}

export class ProviderArrival {
  readonly #parcel: Parcel;
  readonly #dst: number;
  readonly #stores: ArrivalStores;
  readonly #counters: { sets: Counter; places: Counter };
  readonly #logins: SiteLogins;
  readonly #targets: Target[];
  readonly #before = { sets: 0, places: 0 };
  #at = 0;
  #read = 0;

  /** @param dst this shard */
  constructor(db: Db, parcel: Parcel, dst: number, stores: ArrivalStores) {
    this.#parcel = parcel;
    this.#dst = dst;
    this.#stores = stores;
    this.#counters = { sets: new Counter(db, 'psetid'), places: new Counter(db, 'pos') };
    this.#logins = new SiteLogins(db);
    const sql = new Sql(db);
    this.#targets = CARRIED.map(carried => {
      const columns = parcel.columns(carried.table);
      const names = [...columns, ...(carried.renumbered?.includes('seq') === true ? ['seq'] : [])];
      const into = `INSERT INTO ${carried.table}(${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`;
      return { carried, columns, insert: sql.run<unknown[]>(into) };
    });
  }

  begin(): void {
    const { sets, places } = this.#parcel;
    this.#before.sets = sets === 0 ? 0 : this.#counters.sets.take(sets) - 1;
    this.#before.places = places === 0 ? 0 : this.#counters.places.take(places) - 1;
  }

  /** Reads on; undefined: all rows were read. */
  next(limit: number): ParcelRows | undefined {
    for (; this.#at < this.#targets.length; this.#at++, this.#read = 0) {
      const target = this.#targets[this.#at];
      if (target === undefined) break;
      const { table } = target.carried;
      const rows = this.#parcel.rows(table, this.#read, limit);
      if (rows.length === 0) continue;
      this.#read += rows.length;
      return { table, rows, files: table === 'lccurl' ? rows.map(row => fileOf(target.columns, row)) : [] };
    }
    return undefined;
  }

  /**
   * Puts rows in. Content without a file is fetched again: it goes with a tombstone, and its url is queued.
   * @param fileIds of content, its new file here
   */
  put({ table, rows }: ParcelRows, fileIds: readonly (string | undefined)[], nowS: number): void {
    const target = this.#targets.find(({ carried }) => carried.table === table);
    if (target === undefined) throw new Error(`no rows of ${table} come along`);
    const { columns, carried, insert } = target;
    const lost: number[] = [];
    rows.forEach((row, index) => {
      const values = row.map((value, at) => this.#valueOf(carried, columns[at] ?? '', value));
      if (table === 'sitelogin') this.#takeLogin(columns, values);
      if (table === 'lccurl') {
        const fileId = fileIds[index];
        if (fileId === undefined) lost.push(Number(values[columns.indexOf('id')]));
        else values[columns.indexOf('fetched_fileid')] = fileId;
      }
      // Nothing is known of content that is fetched again.
      if (table === 'visit' && this.#stores.content.row(Number(values[columns.indexOf('id')])) === undefined)
        return;
      if (carried.renumbered?.includes('seq') === true) values.push(this.#stores.tally.takeSeq());
      insert(values);
    });
    if (lost.length === 0) return;
    const { content, refetch } = this.#stores;
    const spoilt = lost.flatMap(id => content.row(id) ?? []).map(row => ({ row, file: 'kept' as const }));
    refetch.again(spoilt, nowS);
  }

  #valueOf({ sets, places, table }: Carried, column: string, value: unknown): unknown {
    const isPlace = places?.includes(column) === true || column === 'firstpos' || column === 'lastpos';
    const numbered = sets?.includes(column) === true ? 'sets' : isPlace ? 'places' : undefined;
    if (numbered !== undefined) return Number(value) > 0 ? Number(value) + this.#before[numbered] : value;
    const isUns = (table === 'absorbed' && column === 'uns') || column === 'latestuns';
    return isUns ? unsAt(this.#dst, String(value)) : value;
  }

  #takeLogin(columns: readonly string[], values: unknown[]): void {
    const at = columns.indexOf('login');
    const login = String(values[at]);
    // Without one, the one it had was lost before.
    if (login !== '') values[at] = this.#logins.set(this.#parcel.pid, login);
  }
}

function fileOf(columns: readonly string[], row: readonly unknown[]): ContentFile {
  const text = (column: string) => String(row[columns.indexOf(column)]);
  return {
    machineId: text('fetched_machineid'),
    fileId: text('fetched_fileid'),
    md5: text('md5'),
    len: Number(text('len')),
  };
}
