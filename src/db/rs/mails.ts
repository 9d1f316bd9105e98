/** Mails that wait for the server, and mailboxes that nobody has confirmed. */
import { SqlStore } from '../sqlite/sql-store.js';

/** Purpose of a mail, which fixes its subject. */
export type MailKind = 'pair' | 'confirm' | 'reset' | 'changes' | 'sites';

/** Kinds that go to addresses that nobody has confirmed. */
export const FIRST_KINDS: readonly MailKind[] = ['pair', 'confirm'];

interface NewMail {
  kind: MailKind;
  registration: number | null;
  /** Message-ID, with its angle brackets. */
  message: string;
  address: string;
  body: string;
}

export interface WaitingMail extends NewMail {
  id: number;
  madeMs: number;
}

const SELECT = 'SELECT id, kind, registration, message, address, body, made_ms AS madeMs FROM mail';

export class MailStore extends SqlStore {
  readonly #add = this.sql.run<[values: NewMail & { nowMs: number }]>(
    `INSERT INTO mail(kind, registration, message, address, body, made_ms)
     VALUES ($kind, $registration, $message, $address, $body, $nowMs)`,
  );

  // Inside a transaction

  add(mail: NewMail, nowMs: number): void {
    this.#add({ ...mail, nowMs });
  }

  /** The server has it, or it is given up. @returns whether it waited */
  readonly remove = this.sql.changed<[id: number]>('DELETE FROM mail WHERE id = ?');

  /** Nobody has confirmed the mailbox, and a mail goes there: the only one. */
  readonly noteUnconfirmed = this.sql.run<[mailbox: string, nowMs: number]>(
    'INSERT OR REPLACE INTO mail_unconfirmed(mailbox, at_ms) VALUES (?, ?)',
  );

  /** The mailbox was confirmed, or the mail never went there. */
  readonly release = this.sql.run<[mailbox: string]>('DELETE FROM mail_unconfirmed WHERE mailbox = ?');

  /** Forgets who did not confirm before. */
  readonly releaseOld = this.sql.run<[unconfirmedMs: number]>(
    'DELETE FROM mail_unconfirmed WHERE at_ms <= ?',
  );

  /** The operator is written to. */
  readonly setOperatorMs = this.sql.run<[nowMs: number]>(
    "UPDATE counter SET value = ? WHERE name = 'operator_mail'",
  );

  // Reading

  /** The first one with a higher id. */
  readonly next = this.sql.row<[id: number], WaitingMail>(`${SELECT} WHERE id > ? ORDER BY id LIMIT 1`);

  readonly madeBefore = this.sql.rows<[ms: number, limit: number], WaitingMail>(
    `${SELECT} WHERE made_ms <= ? ORDER BY id LIMIT ?`,
  );

  readonly size = this.sql.number('SELECT count(*) FROM mail');

  /** When the oldest one was made; undefined: none waits. */
  readonly oldestMs = this.sql.value<[], number>('SELECT min(made_ms) FROM mail');

  /** The oldest ones first. */
  readonly waiting = this.sql.rows<[limit: number], WaitingMail>(`${SELECT} ORDER BY made_ms, id LIMIT ?`);

  readonly isUnconfirmed = this.sql.has<[mailbox: string]>(
    'SELECT 1 FROM mail_unconfirmed WHERE mailbox = ?',
  );

  /** When the operator was written to last. */
  readonly operatorMs = this.sql.number("SELECT value FROM counter WHERE name = 'operator_mail'");
}
