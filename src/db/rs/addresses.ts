/** Addresses of providers, what confirmed ones will hear, and who asked for another password. */
import type { Db } from '../../lib/sqlite.js';

export interface StoredAddress {
  id: number;
  registration: number;
  address: string;
  isConfirmed: boolean;
  sinceMs: number;
}

export interface MailNote {
  id: number;
  atMs: number;
  text: string;
}

/** Asked for another password. */
export interface Forgotten {
  id: number;
  /** A number or an address, as it was typed. */
  asked: string;
  network: string;
}

interface Row extends Omit<StoredAddress, 'isConfirmed'> {
  isConfirmed: 0 | 1;
}

const SELECT =
  'SELECT id, registration, address, token IS NULL AS isConfirmed, mail_address.since_ms AS sinceMs FROM mail_address';

export class AddressStore {
  readonly #statements;

  constructor(db: Db) {
    this.#statements = {
      put: db.prepare<[number, string, string, number, number]>(
        'INSERT INTO mail_address(registration, address, token, since_ms, looked_ms) VALUES (?, ?, ?, ?, ?)',
      ),
      removePending: db.prepare<[number]>(
        'DELETE FROM mail_address WHERE registration = ? AND token IS NOT NULL',
      ),
      removeConfirmed: db.prepare<[number]>(
        'DELETE FROM mail_address WHERE registration = ? AND token IS NULL',
      ),
      confirm: db.prepare<[number, number]>(
        'UPDATE mail_address SET token = NULL, since_ms = ? WHERE id = ? AND token IS NOT NULL',
      ),
      byToken: db.prepare<[string], Row>(`${SELECT} WHERE token = ?`),
      of: db.prepare<[number], Row>(`${SELECT} WHERE registration = ? ORDER BY isConfirmed`),
      registrationOf: db
        .prepare<[number], number>('SELECT registration FROM registered WHERE pid = ?')
        .pluck(),
      pidOf: db.prepare<[number], number>('SELECT pid FROM registered WHERE registration = ?').pluck(),
      withAddress: db
        .prepare<[string, number], number>(
          `SELECT pid FROM mail_address JOIN registered USING (registration)
           WHERE address = ? AND token IS NULL ORDER BY pid LIMIT ?`,
        )
        .pluck(),
      unlooked: db.prepare<[number, number], Row>(
        `${SELECT} JOIN registered USING (registration) WHERE token IS NULL AND looked_ms <= ? ORDER BY looked_ms LIMIT ?`,
      ),
      looked: db.prepare<[number, number]>('UPDATE mail_address SET looked_ms = ? WHERE id = ?'),
      note: db.prepare<[number, string, number]>(
        `INSERT INTO mail_note(registration, at_ms, text)
         SELECT registration, ?, ? FROM mail_address WHERE registration = ? AND token IS NULL`,
      ),
      toHear: db.prepare<[number, number], Row>(
        `${SELECT} WHERE token IS NULL AND registration IN
           (SELECT registration FROM mail_note GROUP BY registration HAVING min(at_ms) <= ?) ORDER BY id LIMIT ?`,
      ),
      firstNote: db.prepare<[], number | null>('SELECT min(at_ms) FROM mail_note').pluck(),
      notesOf: db.prepare<[number, number], MailNote>(
        'SELECT id, at_ms AS atMs, text FROM mail_note WHERE registration = ? ORDER BY id LIMIT ?',
      ),
      notesCount: db
        .prepare<[number], number>('SELECT count(*) FROM mail_note WHERE registration = ?')
        .pluck(),
      removeNotes: db.prepare<[number]>('DELETE FROM mail_note WHERE registration = ?'),
      ask: db.prepare<[string, string, number]>(
        'INSERT INTO forgotten(asked, network, at_ms) VALUES (?, ?, ?)',
      ),
      asked: db.prepare<[number], Forgotten>(
        "SELECT id, asked, network FROM forgotten WHERE asked <> '' ORDER BY id LIMIT ?",
      ),
      answered: db.prepare<[number]>("UPDATE forgotten SET asked = '' WHERE id = ?"),
      askedBy: db
        .prepare<[string, number], number>('SELECT count(*) FROM forgotten WHERE network = ? AND at_ms > ?')
        .pluck(),
      askedInAll: db.prepare<[], number>("SELECT count(*) FROM forgotten WHERE asked <> ''").pluck(),
      forgetAsked: db.prepare<[number]>('DELETE FROM forgotten WHERE at_ms <= ?'),
      forgetNotes: db.prepare<[number]>('DELETE FROM mail_note WHERE at_ms <= ?'),
      link: db.prepare<[string, number, number]>(
        'INSERT INTO reset_link(token, pid, ends_ms) VALUES (?, ?, ?)',
      ),
      linkOf: db
        .prepare<[string, number], number>('SELECT pid FROM reset_link WHERE token = ? AND ends_ms > ?')
        .pluck(),
      unlink: db.prepare<[number]>('DELETE FROM reset_link WHERE pid = ?'),
      forgetLinks: db.prepare<[number]>('DELETE FROM reset_link WHERE ends_ms <= ?'),
    };
  }

  // Inside a transaction

  /** An address that waits for its link, in place of another that does. @param token its hash */
  putPending(registration: number, address: string, token: string, nowMs: number): void {
    this.removePending(registration);
    this.#statements.put.run(registration, address, token, nowMs, nowMs);
  }

  removePending(registration: number): void {
    this.#statements.removePending.run(registration);
  }

  removeConfirmed(registration: number): void {
    this.#statements.removeConfirmed.run(registration);
  }

  /** Confirms it; the one that was confirmed before has to be removed first. */
  confirm({ id }: StoredAddress, nowMs: number): void {
    this.#statements.confirm.run(nowMs, id);
  }

  /** Whether its provider needs a hint was looked at. */
  looked({ id }: StoredAddress, nowMs: number): void {
    this.#statements.looked.run(nowMs, id);
  }

  /** The confirmed address of a registration, if there is one, will hear this. */
  note(registration: number, text: string, nowMs: number): void {
    this.#statements.note.run(nowMs, text, registration);
  }

  removeNotes(registration: number): void {
    this.#statements.removeNotes.run(registration);
  }

  /** Somebody asks for another password. */
  ask(asked: string, network: string, nowMs: number): void {
    this.#statements.ask.run(asked, network, nowMs);
  }

  answered({ id }: Forgotten): void {
    this.#statements.answered.run(id);
  }

  /** A link that gives another password. @param token its hash */
  link(token: string, pid: number, endsMs: number): void {
    this.#statements.link.run(token, pid, endsMs);
  }

  /** All links of a provider are used up. */
  unlink(pid: number): void {
    this.#statements.unlink.run(pid);
  }

  /** Forgets who asked, and notes that could not be sent, before; and links that are over. */
  forget(askedMs: number, notedMs: number, nowMs: number): void {
    this.#statements.forgetAsked.run(askedMs);
    this.#statements.forgetNotes.run(notedMs);
    this.#statements.forgetLinks.run(nowMs);
  }

  // Reading

  /** @param token its hash */
  byToken(token: string): StoredAddress | undefined {
    return read(this.#statements.byToken.get(token));
  }

  /** The one that waits for its link first. */
  of(registration: number): StoredAddress[] {
    return this.#statements.of.all(registration).map(readRow);
  }

  /** The registration that a provider began with. */
  registrationOf(pid: number): number | undefined {
    return this.#statements.registrationOf.get(pid);
  }

  pidOf(registration: number): number | undefined {
    return this.#statements.pidOf.get(registration);
  }

  /** Providers that have confirmed an address. */
  withAddress(address: string, limit: number): number[] {
    return this.#statements.withAddress.all(address, limit);
  }

  /** Confirmed ones of providers that were not looked at since. */
  unlooked(sinceMs: number, limit: number): StoredAddress[] {
    return this.#statements.unlooked.all(sinceMs, limit).map(readRow);
  }

  /** Confirmed ones with something to hear from before. */
  toHear(beforeMs: number, limit: number): StoredAddress[] {
    return this.#statements.toHear.all(beforeMs, limit).map(readRow);
  }

  /** When the oldest thing to hear was noted. */
  get firstNoteMs(): number | undefined {
    return this.#statements.firstNote.get() ?? undefined;
  }

  notesOf(registration: number, limit: number): { notes: MailNote[]; count: number } {
    return {
      notes: this.#statements.notesOf.all(registration, limit),
      count: this.#statements.notesCount.get(registration) ?? 0,
    };
  }

  /** Those who asked, and were not looked at. */
  asked(limit: number): Forgotten[] {
    return this.#statements.asked.all(limit);
  }

  askedBy(network: string, sinceMs: number): number {
    return this.#statements.askedBy.get(network, sinceMs) ?? 0;
  }

  get askedInAll(): number {
    return this.#statements.askedInAll.get() ?? 0;
  }

  /** Whose link it is. @param token its hash */
  linkOf(token: string, nowMs: number): number | undefined {
    return this.#statements.linkOf.get(token, nowMs);
  }
}

function read(row: Row | undefined): StoredAddress | undefined {
  return row && readRow(row);
}

function readRow({ isConfirmed, ...row }: Row): StoredAddress {
  return { ...row, isConfirmed: isConfirmed === 1 };
}
