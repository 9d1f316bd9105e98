/** Addresses of providers, what confirmed ones will hear, and who asked for another password. */
import { SqlStore } from '../sqlite/sql-store.js';

interface StoredAddress {
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

/** Gives another password, once. */
interface ResetLink {
  pid: number;
  /** Generation of the password that it replaces; null: not known. */
  generation: number | null;
}

export class AddressStore extends SqlStore {
  readonly #put = this.sql.run<[registration: number, address: string, token: string, number, number]>(
    'INSERT INTO mail_address(registration, address, token, since_ms, looked_ms) VALUES (?, ?, ?, ?, ?)',
  );
  readonly #notesOf = this.sql.rows<[registration: number, limit: number], MailNote>(
    'SELECT id, at_ms AS atMs, text FROM mail_note WHERE registration = ? ORDER BY id LIMIT ?',
  );
  readonly #notesCount = this.sql.number<[registration: number]>(
    'SELECT count(*) FROM mail_note WHERE registration = ?',
  );
  readonly #forgetAsked = this.sql.run<[askedMs: number]>('DELETE FROM forgotten WHERE at_ms <= ?');
  readonly #forgetNotes = this.sql.run<[notedMs: number]>('DELETE FROM mail_note WHERE at_ms <= ?');
  readonly #forgetLinks = this.sql.run<[nowMs: number]>('DELETE FROM reset_link WHERE ends_ms <= ?');

  // Inside a transaction

  /** An address that waits for its link, in place of another that does. @param token its hash */
  putPending(registration: number, address: string, token: string, nowMs: number): void {
    this.removePending(registration);
    this.#put(registration, address, token, nowMs, nowMs);
  }

  readonly removePending = this.sql.run<[registration: number]>(
    'DELETE FROM mail_address WHERE registration = ? AND token IS NOT NULL',
  );

  readonly removeConfirmed = this.sql.run<[registration: number]>(
    'DELETE FROM mail_address WHERE registration = ? AND token IS NULL',
  );

  /** Confirms it; the one that was confirmed before has to be removed first. */
  readonly confirm = this.sql.run<[nowMs: number, id: number]>(
    'UPDATE mail_address SET token = NULL, since_ms = ? WHERE id = ? AND token IS NOT NULL',
  );

  /** Somebody has looked if its provider needs a hint. */
  readonly looked = this.sql.run<[nowMs: number, id: number]>(
    'UPDATE mail_address SET looked_ms = ? WHERE id = ?',
  );

  /** The confirmed address of a registration, if there is one, will hear this. */
  readonly note = this.sql.run<[nowMs: number, text: string, registration: number]>(
    `INSERT INTO mail_note(registration, at_ms, text)
     SELECT registration, ?, ? FROM mail_address WHERE registration = ? AND token IS NULL`,
  );

  readonly removeNotes = this.sql.run<[registration: number]>('DELETE FROM mail_note WHERE registration = ?');

  /** Somebody asks for another password. */
  readonly ask = this.sql.run<[asked: string, network: string, nowMs: number]>(
    'INSERT INTO forgotten(asked, network, at_ms) VALUES (?, ?, ?)',
  );

  readonly answered = this.sql.run<[id: number]>('DELETE FROM forgotten WHERE id = ?');

  /** A link that gives another password. @param token its hash */
  readonly link = this.sql.run<[token: string, pid: number, endsMs: number, generation: number | null]>(
    'INSERT INTO reset_link(token, pid, ends_ms, generation) VALUES (?, ?, ?, ?)',
  );

  /** All links of a provider are used up. */
  readonly unlink = this.sql.run<[pid: number]>('DELETE FROM reset_link WHERE pid = ?');

  /** Forgets who asked, and notes that could not be sent, before; and links that are over. */
  forget(askedMs: number, notedMs: number, nowMs: number): void {
    this.#forgetAsked(askedMs);
    this.#forgetNotes(notedMs);
    this.#forgetLinks(nowMs);
  }

  // Reading

  /** @param token its hash */
  readonly byToken = this.sql.row<[token: string], Row, StoredAddress>(`${SELECT} WHERE token = ?`, readRow);

  /** The one that waits for its link first. */
  readonly of = this.sql.rows<[registration: number], Row, StoredAddress>(
    `${SELECT} WHERE registration = ? ORDER BY isConfirmed`,
    readRow,
  );

  /** The registration that a provider began with. */
  readonly registrationOf = this.sql.value<[pid: number], number>(
    'SELECT registration FROM registered WHERE pid = ?',
  );

  readonly pidOf = this.sql.value<[registration: number], number>(
    'SELECT pid FROM registered WHERE registration = ?',
  );

  /** Providers that have confirmed an address. */
  readonly withAddress = this.sql.values<[address: string, limit: number], number>(
    `SELECT pid FROM mail_address JOIN registered USING (registration)
     WHERE address = ? AND token IS NULL ORDER BY pid LIMIT ?`,
  );

  /** Confirmed ones of providers that were not looked at since; what a clock that was ahead noted counts as
   * before. */
  readonly unlooked = this.sql.rows<[beforeMs: number, nowMs: number, limit: number], Row, StoredAddress>(
    `${SELECT} JOIN registered USING (registration) WHERE token IS NULL AND (looked_ms <= ? OR looked_ms > ?)
     ORDER BY looked_ms LIMIT ?`,
    readRow,
  );

  /** Confirmed ones with something to hear from before; what a clock that was ahead noted counts so. */
  readonly toHear = this.sql.rows<[beforeMs: number, nowMs: number, limit: number], Row, StoredAddress>(
    `${SELECT} WHERE token IS NULL AND registration IN
       (SELECT registration FROM mail_note GROUP BY registration HAVING min(at_ms) <= ? OR min(at_ms) > ?) ORDER BY id LIMIT ?`,
    readRow,
  );

  /** When the oldest thing to hear was noted. */
  readonly firstNoteMs = this.sql.value<[], number>('SELECT min(at_ms) FROM mail_note');

  notesOf(registration: number, limit: number): { notes: MailNote[]; count: number } {
    return { notes: this.#notesOf(registration, limit), count: this.#notesCount(registration) };
  }

  /** Those who asked, and were not looked at. */
  readonly asked = this.sql.rows<[limit: number], Forgotten>(
    'SELECT id, asked, network FROM forgotten ORDER BY id LIMIT ?',
  );

  readonly askedInAll = this.sql.number('SELECT count(*) FROM forgotten');

  /** Whose link it is. @param token its hash */
  readonly linkOf = this.sql.row<[token: string, nowMs: number], ResetLink>(
    'SELECT pid, generation FROM reset_link WHERE token = ? AND ends_ms > ?',
  );
}

function readRow({ isConfirmed, ...row }: Row): StoredAddress {
  return { ...row, isConfirmed: isConfirmed === 1 };
}
