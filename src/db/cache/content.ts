/**
 * The LCC DB as the Queue Manager writes it: one row per url whose content is held, a tombstone for each one
 * let go of, a `freed` row for each file no row points to any more. Every change takes the next number of the
 * change sequence. All methods run inside the caller's transaction.
 */
import { corrupt, isInteger, isIntegerOrNull, isText, isTextOrNull } from '../sqlite/row-checks.js';
import { JointStore } from '../sqlite/sql-store.js';
import { beliefConfirmed, beliefOf, type Belief } from './as-announced.js';
import { DeletionStore } from './deletions.js';
import type { FreedStore } from './freed.js';
import type { Arrived, Claim, Held, Said } from './held.js';
import { AS_SERVED } from '../../wire/url.js';
import type { VisitStore } from '../truth/visits.js';
import type { Tally } from './tally.js';

export type { Arrived, Claim, Held, Said } from './held.js';

/** How what is held was confirmed by its site. */
interface Confirmation {
  belief: Belief;
  verified: boolean;
  etag: string | null;
  lastmodified: string | null;
  /** Left out where the site did not send them again. */
  charset?: string | null;
  finalurl?: string | null;
  robots?: string | null;
}

const HELD = `id, seq, curl, mimetype, subtype, burl, givenfurl, md5, len, mtime, saidmd5, saidlen, doubted, etag, lastmodified,
  http_charset, verified, fetched_time, fetched_machineid, fetched_fileid, psetid, served, hops`;

/** A row as its owner's, of the type that he gave. */
const OWNERS: Claim = { served: 0, hops: null };

export class ContentStore extends JointStore<{ tally: Tally; freed: FreedStore; visits: VisitStore }> {
  readonly #selectContent = this.sql.row<[pid: number, curl: string, mimetype: string], Held>(
    `SELECT ${HELD} FROM lccurl WHERE pid = ? AND curl = ? AND mimetype = ?`,
  );
  readonly #selectServed = this.sql.row<[pid: number, curl: string], Held>(
    `SELECT ${HELD} FROM lccurl WHERE pid = ? AND curl = ? AND served = 1`,
  );
  readonly #updateClaim = this.sql.run<[served: number, hops: number | null, id: number]>(
    'UPDATE lccurl SET served = ?, hops = ? WHERE id = ?',
  );
  readonly #insertContent = this.sql.run<unknown[]>(
    `INSERT INTO lccurl(id, pid, curl, mimetype, subtype, burl, givenfurl, md5, len, mtime, saidmd5, saidlen, doubted,
       etag, lastmodified, http_charset, finalurl, robots, verified, fetched_time, fetched_machineid, fetched_fileid, psetid,
       seq, served, hops)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  // OR FAIL: one row needs no statement journal to undo it alone, which INSERT … SELECT has otherwise.
  // Doubted as by `beliefOf`.
  // safeguard: the generation in results
  // safeguard: a delete during the fetch winning
  readonly #insertFromQueue = this.sql.changes<unknown[]>(
    `INSERT OR FAIL INTO lccurl(id, pid, curl, mimetype, subtype, burl, givenfurl, md5, len, mtime, saidmd5, saidlen, doubted,
       etag, lastmodified, http_charset, finalurl, robots, verified, fetched_time, fetched_machineid, fetched_fileid, psetid,
       seq)
     SELECT ?, pid, curl, mimetype, subtype, burl, furl, ?, ?, ?, nullif(md5, ?), nullif(len, ?),
       CASE WHEN md5 IS NULL THEN ? OR coalesce(len <> ?, 0) ELSE md5 <> ? END, ?, ?, ?, ?, ?, ?, ?, ?, ?,
       coalesce(named, psetid), ?
     FROM qdb WHERE pos = ? AND gen = ? AND op = 1 ON CONFLICT(pid, curl, mimetype) DO NOTHING`,
  );
  readonly #replaceContent = this.sql.run<unknown[]>(
    `UPDATE lccurl SET subtype = ?, burl = ?, givenfurl = ?, md5 = ?, len = ?, mtime = ?, saidmd5 = ?, saidlen = ?,
       doubted = ?, etag = ?, lastmodified = ?, http_charset = ?, finalurl = ?, robots = ?, verified = ?, fetched_time = ?,
       fetched_machineid = ?, fetched_fileid = ?, psetid = ?, seq = ?, served = ?, hops = ?, changed_time = NULL
     WHERE id = ?`,
  );
  readonly #updateSaid = this.sql.run<unknown[]>(
    `UPDATE lccurl SET subtype = ?, burl = ?, givenfurl = ?, http_charset = ?, psetid = ?, seq = ?, changed_time = ?
     WHERE id = ?`,
  );
  readonly #updateTime = this.sql.run<[mtime: string | null, id: number]>(
    'UPDATE lccurl SET mtime = ? WHERE id = ?',
  );
  readonly #updateValidators = this.sql.run<unknown[]>(
    `UPDATE lccurl SET etag = ?, lastmodified = ?, verified = ?, psetid = ?, finalurl = iif(?, ?, finalurl),
       robots = iif(?, ?, robots) WHERE id = ?`,
  );
  readonly #updateBelief = this.sql.run<unknown[]>(
    'UPDATE lccurl SET saidmd5 = ?, saidlen = ?, doubted = ? WHERE id = ?',
  );
  readonly #updateSet = this.sql.run<[psetid: number, id: number]>(
    'UPDATE lccurl SET psetid = ? WHERE id = ?',
  );
  readonly #deleteContent = this.sql.run<[id: number]>('DELETE FROM lccurl WHERE id = ?');
  readonly deletions = new DeletionStore(this.db);

  /** The row of that id. */
  readonly row = this.sql.row<[id: number], Held & { pid: number }, Held & { pid: number }>(
    `SELECT pid, ${HELD} FROM lccurl WHERE id = ?`,
    whole,
  );

  /** The content held of a url: of one as served the row of the served type. */
  find(pid: number, curl: string, mimetype: string): Held | undefined {
    const isServed = mimetype === AS_SERVED;
    const held = isServed ? this.#selectServed(pid, curl) : this.#selectContent(pid, curl, mimetype);
    if (held === undefined) return undefined;
    if (held.curl !== curl || (!isServed && held.mimetype !== mimetype))
      throw corrupt(`row ${held.id} of lccurl is not the one that its index points to`);
    return whole(held);
  }

  /** A row of the page, of whatever type. */
  readonly findAny = this.sql.row<[pid: number, curl: string], Held, Held>(
    `SELECT ${HELD} FROM lccurl WHERE pid = ? AND curl = ? LIMIT 1`,
    whole,
  );

  /** Content has arrived: the row is made or replaced, the file it pointed to before is freed. */
  store(
    key: { pid: number; curl: string; mimetype: string; psetid: number },
    said: Said,
    arrived: Arrived,
    held: Held | undefined,
    nowS: number,
    { served, hops }: Claim = OWNERS,
  ): void {
    if (held !== undefined) this.#buryBurl(key.pid, held, said.burl, nowS);
    const seq = this.stores.tally.takeSeq();
    const { saidmd5, saidlen, doubted } = beliefOf(said, arrived, held);
    const tail = [
      said.subtype,
      said.burl,
      said.furl,
      arrived.md5,
      arrived.len,
      arrived.mtime,
      saidmd5,
      saidlen,
      doubted,
      arrived.etag,
      arrived.lastmodified,
      arrived.charset,
      arrived.finalurl,
      arrived.robots,
      arrived.verified ? 1 : 0,
      nowS,
      arrived.machineid,
      arrived.fileid,
      key.psetid,
      seq,
      served,
      hops,
    ];
    if (held === undefined) {
      this.#insertContent(seq, key.pid, key.curl, key.mimetype, ...tail);
      this.stores.tally.content(key.pid, 1, arrived.len);
    } else {
      this.#replaceContent(...tail, held.id);
      // safeguard: freeing the file that is replaced
      if (held.fetched_machineid !== arrived.machineid || held.fetched_fileid !== arrived.fileid)
        this.#letGo(seq, key.pid, held, nowS);
      this.stores.tally.content(key.pid, 0, arrived.len - held.len);
    }
  }

  /**
   * Content has arrived for a row of the queue, its owner's, of which nothing was held: its row is made from
   * what the queue says, in SQLite. Nothing is done when the row is not as it was when it was sent, or
   * content came as served.
   * @returns whether it was
   */
  move(sent: { pid: number; pos: number; gen: number }, arrived: Arrived, nowS: number): boolean {
    const seq = this.stores.tally.nextSeq;
    const changes = this.#insertFromQueue(
      seq,
      arrived.md5,
      arrived.len,
      arrived.mtime,
      arrived.md5,
      arrived.len,
      arrived.isOlder ? 1 : 0,
      arrived.len,
      arrived.md5,
      arrived.etag,
      arrived.lastmodified,
      arrived.charset,
      arrived.finalurl,
      arrived.robots,
      arrived.verified ? 1 : 0,
      nowS,
      arrived.machineid,
      arrived.fileid,
      seq,
      sent.pos,
      sent.gen,
    );
    if (changes === 0) return false;
    this.stores.tally.takeSeq();
    this.stores.tally.content(sent.pid, 1, arrived.len);
    return true;
  }

  /**
   * The content held is confirmed; what the CP says of it may be new, and is kept. The same bytes are no
   * change and take no number of the sequence, whenever they are said to have been modified. Another address
   * or subtype is one, for only the CP says what they are, and so is another encoding, in which the same
   * bytes are another text.
   * @param fetched where its site has confirmed it, and not the CP's words alone
   */
  confirm(
    pid: number,
    held: Held,
    said: Said,
    psetid: number,
    nowS: number,
    fetched?: Confirmation,
    { served, hops }: Claim = OWNERS,
  ): void {
    const { subtype, burl, furl } = said;
    const mtime = said.mtime ?? held.mtime;
    const charset = fetched?.charset === undefined ? held.http_charset : fetched.charset;
    const isChange =
      subtype !== held.subtype ||
      burl !== held.burl ||
      furl !== held.givenfurl ||
      charset !== held.http_charset;
    if (isChange) {
      this.#buryBurl(pid, held, burl, nowS);
      this.#updateSaid(subtype, burl, furl, charset, psetid, this.stores.tally.takeSeq(), nowS, held.id);
    } else if (fetched === undefined && psetid !== held.psetid) {
      this.#updateSet(psetid, held.id);
    }
    // safeguard: the same bytes taking no number when they are said to be newer
    if (mtime !== held.mtime) this.#updateTime(mtime, held.id);
    if (fetched !== undefined) {
      const { etag, lastmodified, verified, finalurl, robots } = fetched;
      this.#updateValidators(
        etag,
        lastmodified,
        verified ? 1 : held.verified,
        psetid,
        finalurl === undefined ? 0 : 1,
        finalurl ?? null,
        robots === undefined ? 0 : 1,
        robots ?? null,
        held.id,
      );
    }
    // Claims, which nobody sees: whose the row is.
    if (served !== held.served || hops !== held.hops) this.#updateClaim(served, hops, held.id);
    const { saidmd5, saidlen, doubted } = fetched?.belief ?? beliefConfirmed(said, held);
    if (saidmd5 !== held.saidmd5 || saidlen !== held.saidlen || doubted !== held.doubted)
      this.#updateBelief(saidmd5, saidlen, doubted, held.id);
  }

  /** The content that is held has arrived once more: the row is confirmed, and the new file is nobody's. */
  same(
    pid: number,
    held: Held,
    said: Said,
    arrived: Arrived,
    psetid: number,
    nowS: number,
    claim?: Claim,
  ): void {
    const { machineid, fileid } = arrived;
    if (held.fetched_machineid !== machineid || held.fetched_fileid !== fileid) this.free(machineid, fileid);
    this.confirm(pid, held, said, psetid, nowS, { ...arrived, belief: beliefOf(said, arrived, held) }, claim);
  }

  /** Notes which set named the row last. */
  stamp(held: Held, psetid: number): void {
    if (held.psetid < psetid) this.#updateSet(psetid, held.id);
  }

  /**
   * Lets go of content: tombstone, freed file, counters.
   * @param file `kept` where it may be another's
   */
  remove(pid: number, held: Held, nowS: number, file: 'freed' | 'kept' = 'freed'): void {
    const seq = this.#bury(pid, held, nowS, 0);
    if (file === 'freed') this.#letGo(seq, pid, held, nowS);
    this.#drop(pid, held);
  }

  /** Another shard has it from now on: it goes from here, and no deletion is reported. */
  cede(pid: number, held: Held, nowS: number): void {
    this.#letGo(this.stores.tally.takeSeq(), pid, held, nowS);
    this.#drop(pid, held);
  }

  #drop(pid: number, { id, len }: Held): void {
    this.#deleteContent(id);
    this.stores.visits.forget(id);
    this.stores.tally.content(pid, -1, -len);
  }

  /** The file of a row is no longer its file. */
  #letGo(seq: number, pid: number, held: Held, nowS: number): void {
    const { mimetype, fetched_machineid, fetched_fileid } = held;
    const file = { machineid: fetched_machineid, fileid: fetched_fileid };
    this.deletions.leave({ seq, pid, mimetype, ...file, left_time: nowS });
    this.free(fetched_machineid, fetched_fileid);
  }

  /** @returns the number of the change */
  #bury(pid: number, { id, curl, mimetype, burl }: Held, nowS: number, moved: 0 | 1): number {
    const seq = this.stores.tally.takeSeq();
    this.deletions.bury({ seq, id, pid, curl, mimetype, burl, deleted_time: nowS, moved });
    return seq;
  }

  /** A row that gets another browse URL: the one it had is gone, whether or not it has one from now on. */
  #buryBurl(pid: number, held: Held, burl: string | null, nowS: number): void {
    if (held.burl === '' || (held.burl ?? held.curl) === (burl ?? held.curl)) return;
    this.#bury(pid, held, nowS, 1);
  }

  /** A file that no row points to. */
  free(machineid: string, fileid: string): void {
    this.stores.freed.add(machineid, fileid);
  }
}

/** @throws as SQLite for damage, for a row whose values are not of their columns' types */
function whole<Row extends Held>(row: Row): Row {
  const { curl, mimetype, md5, fetched_machineid, fetched_fileid } = row;
  const { subtype, burl, givenfurl, mtime, saidmd5, etag, lastmodified, http_charset } = row;
  const { id, seq, len, verified, fetched_time, psetid, saidlen, doubted, served, hops } = row;
  const isWhole =
    [curl, mimetype, md5, fetched_machineid, fetched_fileid].every(isText) &&
    [subtype, burl, givenfurl, mtime, saidmd5, etag, lastmodified, http_charset].every(isTextOrNull) &&
    [id, seq, len, verified, fetched_time, psetid, doubted, served].every(isInteger) &&
    isIntegerOrNull(saidlen) &&
    isIntegerOrNull(hops);
  if (!isWhole) throw corrupt(`row ${id} of lccurl has a value of another type`);
  return row;
}
