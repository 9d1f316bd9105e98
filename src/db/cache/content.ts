/**
 * The LCC DB as the Queue Manager writes it: one row per url whose content is held, a tombstone for each one let go of,
 * a `freed` row for each file no row points to any more. Every change takes the next number of the change sequence.
 * All methods run inside the caller's transaction.
 */
import type { Db } from '../open.js';
import { MTIME_TEXT } from '../queue/row.js';
import type { Tally } from './tally.js';

/** What is held of a url, as far as deciding about it needs. */
export interface Held {
  id: number;
  curl: string;
  mimetype: string;
  subtype: string | null;
  burl: string | null;
  givenfurl: string | null;
  md5: string;
  len: number;
  mtime: string | null;
  saidmd5: string | null;
  saidlen: number | null;
  etag: string | null;
  lastmodified: string | null;
  verified: number;
  fetched_machineid: string;
  fetched_fileid: string;
  psetid: number;
}

/** What the CP says of a url and content users see, besides the content itself. */
export interface Said {
  subtype: string | null;
  burl: string | null;
  furl: string | null;
  md5: string | null;
  len: number | null;
  mtime: string | null;
}

/** Content that has arrived. `mtime` is what the row shows: the CP's word, else the server's. */
export interface Arrived {
  md5: string;
  len: number;
  mtime: string | null;
  etag: string | null;
  lastmodified: string | null;
  verified: boolean;
  machineid: string;
  fileid: string;
}

const HELD = `id, curl, mimetype, subtype, burl, givenfurl, md5, len, mtime, saidmd5, saidlen, etag, lastmodified,
  verified, fetched_machineid, fetched_fileid, psetid`;

export class ContentStore {
  readonly #find;
  readonly #page;
  readonly #insert;
  readonly #move;
  readonly #replace;
  readonly #refresh;
  readonly #validate;
  readonly #stamp;
  readonly #delete;
  readonly #bury;
  readonly #free;
  readonly #tally: Tally;

  constructor(db: Db, tally: Tally) {
    this.#tally = tally;
    this.#find = db.prepare<[number, string, string], Held>(
      `SELECT ${HELD} FROM lccurl WHERE pid = ? AND curl = ? AND mimetype = ?`,
    );
    this.#page = db.prepare<[number, string, string, number], Held>(
      `SELECT ${HELD} FROM lccurl WHERE pid = ? AND (curl, mimetype) > (?, ?) ORDER BY curl, mimetype LIMIT ?`,
    );
    this.#insert = db.prepare(
      `INSERT INTO lccurl(id, pid, curl, mimetype, subtype, burl, givenfurl, md5, len, mtime, saidmd5, saidlen, etag,
         lastmodified, verified, fetched_time, fetched_machineid, fetched_fileid, psetid, seq)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.#move = db.prepare(
      `INSERT INTO lccurl(id, pid, curl, mimetype, subtype, burl, givenfurl, md5, len, mtime, saidmd5, saidlen, etag,
         lastmodified, verified, fetched_time, fetched_machineid, fetched_fileid, psetid, seq)
       SELECT ?, pid, curl, mimetype, subtype, burl, furl, ?, ?, coalesce(${MTIME_TEXT}, ?), nullif(md5, ?),
         nullif(len, ?), ?, ?, ?, ?, ?, ?, coalesce(named, psetid), ?
       FROM qdb WHERE pos = ? AND gen = ? AND op = 1`,
    );
    this.#replace = db.prepare(
      `UPDATE lccurl SET subtype = ?, burl = ?, givenfurl = ?, md5 = ?, len = ?, mtime = ?, saidmd5 = ?, saidlen = ?,
         etag = ?, lastmodified = ?, verified = ?, fetched_time = ?, fetched_machineid = ?, fetched_fileid = ?,
         psetid = ?, seq = ? WHERE id = ?`,
    );
    this.#refresh = db.prepare(
      `UPDATE lccurl SET subtype = ?, burl = ?, givenfurl = ?, mtime = ?, psetid = ?, seq = ? WHERE id = ?`,
    );
    this.#validate = db.prepare('UPDATE lccurl SET etag = ?, lastmodified = ?, psetid = ? WHERE id = ?');
    this.#stamp = db.prepare<[number, number]>('UPDATE lccurl SET psetid = ? WHERE id = ?');
    this.#delete = db.prepare<[number]>('DELETE FROM lccurl WHERE id = ?');
    this.#bury = db.prepare(
      'INSERT INTO tombstone(seq, id, pid, curl, mimetype, burl, deleted_time) VALUES (?, ?, ?, ?, ?, ?, ?)',
    );
    this.#free = db.prepare<[string, string]>('INSERT INTO freed(machineid, fileid) VALUES (?, ?)');
  }

  find(pid: number, curl: string, mimetype: string): Held | undefined {
    return this.#find.get(pid, curl, mimetype);
  }

  /** The provider's rows after a key, in the order of keys. */
  page(pid: number, after: { curl: string; mimetype: string }, limit: number): Held[] {
    return this.#page.all(pid, after.curl, after.mimetype, limit);
  }

  /** Content has arrived: the row is made or replaced, the file it pointed to before is freed. */
  store(
    key: { pid: number; curl: string; mimetype: string; psetid: number },
    said: Said,
    arrived: Arrived,
    held: Held | undefined,
    nowS: number,
  ): void {
    const seq = this.#tally.takeSeq();
    const tail = [
      said.subtype,
      said.burl,
      said.furl,
      arrived.md5,
      arrived.len,
      arrived.mtime,
      said.md5 === arrived.md5 ? null : said.md5,
      said.len === arrived.len ? null : said.len,
      arrived.etag,
      arrived.lastmodified,
      arrived.verified ? 1 : 0,
      nowS,
      arrived.machineid,
      arrived.fileid,
      key.psetid,
      seq,
    ];
    if (held === undefined) {
      this.#insert.run(seq, key.pid, key.curl, key.mimetype, ...tail);
      this.#tally.content(key.pid, 1, arrived.len);
    } else {
      this.#replace.run(...tail, held.id);
      if (held.fetched_machineid !== arrived.machineid || held.fetched_fileid !== arrived.fileid)
        this.free(held.fetched_machineid, held.fetched_fileid);
      this.#tally.content(key.pid, 0, arrived.len - held.len);
    }
  }

  /**
   * Content has arrived for a row of the queue of which nothing was held: its row is made from what the queue says, in
   * SQLite. `arrived.mtime` is the server's word. Nothing is done when the row is not as it was when it was sent.
   * @returns whether it was
   */
  move(sent: { pid: number; pos: number; gen: number }, arrived: Arrived, nowS: number): boolean {
    const seq = this.#tally.nextSeq;
    const { changes } = this.#move.run(
      seq,
      arrived.md5,
      arrived.len,
      arrived.mtime,
      arrived.md5,
      arrived.len,
      arrived.etag,
      arrived.lastmodified,
      arrived.verified ? 1 : 0,
      nowS,
      arrived.machineid,
      arrived.fileid,
      seq,
      sent.pos,
      sent.gen,
    );
    if (changes === 0) return false;
    this.#tally.takeSeq();
    this.#tally.content(sent.pid, 1, arrived.len);
    return true;
  }

  /**
   * The content held is confirmed; what the CP says of it may be new. Only what content users can see (subtype, burl,
   * furl, mtime) is a change of the LCC DB and takes a number of the sequence.
   */
  confirm(
    held: Held,
    said: Said,
    psetid: number,
    validators?: { etag: string | null; lastmodified: string | null },
  ): void {
    const mtime = said.mtime ?? held.mtime;
    if (
      said.subtype !== held.subtype ||
      said.burl !== held.burl ||
      said.furl !== held.givenfurl ||
      mtime !== held.mtime
    ) {
      this.#refresh.run(said.subtype, said.burl, said.furl, mtime, psetid, this.#tally.takeSeq(), held.id);
    } else if (validators === undefined && psetid !== held.psetid) {
      this.#stamp.run(psetid, held.id);
    }
    if (validators !== undefined) {
      this.#validate.run(
        validators.etag ?? held.etag,
        validators.lastmodified ?? held.lastmodified,
        psetid,
        held.id,
      );
    }
  }

  /** Notes which set named the row last. */
  stamp(held: Held, psetid: number): void {
    if (held.psetid < psetid) this.#stamp.run(psetid, held.id);
  }

  /** Lets go of content: tombstone, freed file, counters. */
  remove(pid: number, held: Held, nowS: number): void {
    this.#bury.run(this.#tally.takeSeq(), held.id, pid, held.curl, held.mimetype, held.burl, nowS);
    this.free(held.fetched_machineid, held.fetched_fileid);
    this.#delete.run(held.id);
    this.#tally.content(pid, -1, -held.len);
  }

  /** A file that no row points to. */
  free(machineid: string, fileid: string): void {
    this.#free.run(machineid, fileid);
  }
}

/** Whether the CP's words agree with what is held: all that it gives, and it gives something (semantics.md, rule 4). */
export function saysUnchanged(said: Said, held: Held): boolean {
  return (said.md5 !== null || said.len !== null || said.mtime !== null) && agrees(said, held);
}

/** Whether nothing that the CP gives contradicts what is held. */
export function agrees(said: Pick<Said, 'md5' | 'len' | 'mtime'>, held: Held): boolean {
  return (
    (said.md5 === null || said.md5 === held.md5 || said.md5 === held.saidmd5) &&
    (said.len === null || said.len === held.len || said.len === held.saidlen) &&
    (said.mtime === null || said.mtime === held.mtime)
  );
}
