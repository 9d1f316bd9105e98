/** Mails that wait for the server, and the count of those of the last day. */
import type { Db } from '../../lib/sqlite.js';

/** What a mail is for; its subject is fixed by that. */
export type MailKind = 'pair' | 'confirm' | 'reset' | 'changes' | 'sites';

/** Kinds that go to addresses that nobody has confirmed. */
export const FIRST_KINDS: readonly MailKind[] = ['pair', 'confirm'];

export interface NewMail {
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
  tries: number;
}

const SELECT = 'SELECT id, kind, registration, message, address, body, made_ms AS madeMs, tries FROM mail';

export class MailStore {
  readonly #statements;

  constructor(db: Db) {
    this.#statements = {
      add: db.prepare<NewMail & { nowMs: number; endsMs: number }>(
        `INSERT INTO mail(kind, registration, message, address, body, made_ms, due_ms, ends_ms)
         VALUES ($kind, $registration, $message, $address, $body, $nowMs, $nowMs, $endsMs)`,
      ),
      next: db.prepare<[number], WaitingMail>(`${SELECT} WHERE due_ms <= ? ORDER BY due_ms, id LIMIT 1`),
      due: db.prepare<[], number | null>('SELECT min(due_ms) FROM mail').pluck(),
      over: db.prepare<[number, number], WaitingMail>(`${SELECT} WHERE ends_ms <= ? ORDER BY id LIMIT ?`),
      later: db.prepare<[number, number]>('UPDATE mail SET tries = tries + 1, due_ms = ? WHERE id = ?'),
      remove: db.prepare<[number]>('DELETE FROM mail WHERE id = ?'),
      size: db.prepare<[], number>('SELECT count(*) FROM mail').pluck(),
      oldest: db.prepare<[], number | null>('SELECT min(made_ms) FROM mail').pluck(),
      waiting: db.prepare<[number], WaitingMail>(`${SELECT} ORDER BY made_ms, id LIMIT ?`),
      count: db.prepare<[number, string, string]>(
        'INSERT INTO mail_count(at_ms, mailbox, network) VALUES (?, ?, ?)',
      ),
      toMailbox: db
        .prepare<[string, number], number>('SELECT count(*) FROM mail_count WHERE mailbox = ? AND at_ms > ?')
        .pluck(),
      byNetwork: db
        .prepare<[string, number], number>('SELECT count(*) FROM mail_count WHERE network = ? AND at_ms > ?')
        .pluck(),
      inAll: db.prepare<[number], number>('SELECT count(*) FROM mail_count WHERE at_ms > ?').pluck(),
      forget: db.prepare<[number]>('DELETE FROM mail_count WHERE at_ms <= ?'),
      note: db.prepare<[string, number]>(
        'INSERT OR REPLACE INTO mail_unconfirmed(mailbox, at_ms) VALUES (?, ?)',
      ),
      isNoted: db
        .prepare<[string], number>('SELECT count(*) FROM mail_unconfirmed WHERE mailbox = ?')
        .pluck(),
      release: db.prepare<[string]>('DELETE FROM mail_unconfirmed WHERE mailbox = ?'),
      releaseOld: db.prepare<[number]>('DELETE FROM mail_unconfirmed WHERE at_ms <= ?'),
      operatorMs: db.prepare<[], number>("SELECT value FROM counter WHERE name = 'operator_mail'").pluck(),
      setOperatorMs: db.prepare<[number]>("UPDATE counter SET value = ? WHERE name = 'operator_mail'"),
    };
  }

  // Inside a transaction

  add(mail: NewMail, nowMs: number, endsMs: number): void {
    this.#statements.add.run({ ...mail, nowMs, endsMs });
  }

  /** It was tried in vain. */
  later({ id }: WaitingMail, dueMs: number): void {
    this.#statements.later.run(dueMs, id);
  }

  /** It is sent, or given up. @returns whether it waited */
  remove({ id }: WaitingMail): boolean {
    return this.#statements.remove.run(id).changes > 0;
  }

  /** One more to a mailbox. @param mailbox its hash @param network '' for the LCC's own doing */
  count(mailbox: string, network: string, nowMs: number): void {
    this.#statements.count.run(nowMs, mailbox, network);
  }

  /** Nobody has confirmed the mailbox, and a mail goes there: the only one. */
  noteUnconfirmed(mailbox: string, nowMs: number): void {
    this.#statements.note.run(mailbox, nowMs);
  }

  /** The mailbox was confirmed, or the mail never went there. */
  release(mailbox: string): void {
    this.#statements.release.run(mailbox);
  }

  /** Forgets what was counted, and who did not confirm, before. */
  forget(countedMs: number, unconfirmedMs: number): void {
    this.#statements.forget.run(countedMs);
    this.#statements.releaseOld.run(unconfirmedMs);
  }

  /** The operator is written to. */
  setOperatorMs(nowMs: number): void {
    this.#statements.setOperatorMs.run(nowMs);
  }

  // Reading

  /** The one that has waited longest of those that are due. */
  next(nowMs: number): WaitingMail | undefined {
    return this.#statements.next.get(nowMs);
  }

  /** When the next one is due. */
  get dueMs(): number | undefined {
    return this.#statements.due.get() ?? undefined;
  }

  /** Those that have waited too long. */
  over(nowMs: number, limit: number): WaitingMail[] {
    return this.#statements.over.all(nowMs, limit);
  }

  get size(): number {
    return this.#statements.size.get() ?? 0;
  }

  /** When the oldest one was made; undefined: none waits. */
  get oldestMs(): number | undefined {
    return this.#statements.oldest.get() ?? undefined;
  }

  /** The oldest ones first. */
  waiting(limit: number): WaitingMail[] {
    return this.#statements.waiting.all(limit);
  }

  /** Mails since then: to a mailbox, of a network's doing, and in all. */
  since(
    sinceMs: number,
    mailbox: string,
    network: string,
  ): { mailbox: number; network: number; all: number } {
    return {
      mailbox: this.#statements.toMailbox.get(mailbox, sinceMs) ?? 0,
      network: this.#statements.byNetwork.get(network, sinceMs) ?? 0,
      all: this.#statements.inAll.get(sinceMs) ?? 0,
    };
  }

  isUnconfirmed(mailbox: string): boolean {
    return (this.#statements.isNoted.get(mailbox) ?? 0) > 0;
  }

  /** When the operator was written to last. */
  get operatorMs(): number {
    return this.#statements.operatorMs.get() ?? 0;
  }
}
