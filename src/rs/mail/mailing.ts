/**
 * Who is written to, and how often. An address is given by somebody; a link in the one mail that goes there
 * makes it confirmed:
 *
 *     given ──mail──▶ pending ──its link──▶ confirmed: hears of changes, gets links to another password
 *                       ╰── nobody follows the link: it is never written to again
 */
import { hash, randomBytes, randomUUID } from 'node:crypto';
import type { RsDatabase } from '../../db/rs/database.js';
import { FIRST_KINDS, type MailKind } from '../../db/rs/mails.js';
import type { Registration } from '../../db/rs/registrations.js';
import { mailboxOf, maskedAddress, readMailAddress } from '../../lib/mail-address.js';
import { step } from '../../lib/steps.js';
import { Limits } from '../limits.js';
import { RsRequestRefused } from '../refusal.js';
import { changesLetter, confirmLetter, pairLetter } from './letters.js';
import { urlBelow } from '../options.js';
import type { MailOptions } from './options.js';

const TOKEN_BYTES = 20;
const TOKEN = /^[\w-]{27}$/;

/** The address of a provider, for its pages. */
export interface AddressStanding {
  confirmed: string | undefined;
  /** Waits for its link. */
  pending: string | undefined;
}

export interface MailingOptions {
  db: RsDatabase;
  options: MailOptions;
  nowMs: () => number;
  stir: () => void;
}

export class Mailing {
  readonly #db: RsDatabase;
  readonly #options: MailOptions;
  readonly #nowMs: () => number;
  readonly #limits: Limits;
  /** There is something to be sent, or gathered. */
  readonly stir: () => void;

  constructor({ db, options, nowMs, stir }: MailingOptions) {
    this.#db = db;
    this.#options = options;
    this.#nowMs = nowMs;
    this.#limits = new Limits(db, options.uses, nowMs);
    this.stir = stir;
  }

  get email(): MailOptions['email'] {
    return this.#options.email;
  }

  /**
   * The address in a request.
   * @returns undefined: none is given, or asked for
   * @throws RsRequestRefused 400 for none where one is required, and for one that is none
   */
  addressIn(text: string): string | undefined {
    if (this.#options.email === 'off') return undefined;
    if (text.trim() === '') {
      if (this.#options.email === 'optional') return undefined;
      throw new RsRequestRefused(400, 'email', 'the e-mail address is missing', 'give one that you read');
    }
    return addressOf(text);
  }

  /**
   * @throws RsRequestRefused 409 where an address is required and that of the registration is not confirmed
   */
  requireConfirmed(registration: number): void {
    if (this.#options.email !== 'required' || this.standingOf(registration).confirmed !== undefined) return;
    throw new RsRequestRefused(
      409,
      'unconfirmed',
      'the e-mail address is not confirmed',
      'follow the link in the mail, then say again that the file is there',
    );
  }

  /** The first mail of a pair, with its secrets; inside the transaction that issues it. @throws
   * RsRequestRefused 429 */
  first(
    address: string,
    pair: { capability: string; secret: string; password: string; registration: Registration },
  ): void {
    const { capability, secret, password, registration } = pair;
    const nowMs = this.#nowMs();
    const letter = (confirmUrl: string) =>
      pairLetter(
        {
          registration,
          secret,
          password,
          pairUrl: this.#urlOf(`pair/${capability}`),
          confirmUrl,
          nowMs,
        },
        this.#options,
      );
    this.#begin(registration.id, registration.pid, address, registration.network, 'pair', letter);
  }

  /**
   * A provider gives an address, or another one; it is used when its link was followed.
   * @param network of the one who asks
   * @throws RsRequestRefused 400, 403, 409 where rs.db does not know the provider, 429
   */
  change(pid: number, text: string, network: string): void {
    if (this.#options.email === 'off')
      throw new RsRequestRefused(403, 'email', 'this LCC sends no mail', 'ask its operator');
    const address = addressOf(text);
    this.#db.write(() => {
      const registration = this.#registrationOf(pid);
      const [first] = this.#db.addresses.of(registration).filter(each => each.address === address);
      if (first !== undefined)
        throw new RsRequestRefused(
          409,
          'email',
          first.isConfirmed ? 'the address is in use already' : 'a mail has gone to this address already',
          first.isConfirmed ? 'give another one' : 'follow the link in it, or give another address',
        );
      this.#limits.use('change', pid);
      this.#begin(registration, pid, address, network, 'confirm', confirmUrl =>
        confirmLetter(pid, confirmUrl, this.#options),
      );
    });
    this.#queued();
  }

  /** A provider is not written to any more; it hears of that, if the address was confirmed. @throws
   * RsRequestRefused 409, 429 */
  remove(pid: number): void {
    if (this.#options.email === 'required')
      throw new RsRequestRefused(409, 'email', 'this LCC requires an address', 'give another one instead');
    this.#db.write(() => {
      const registration = this.#registrationOf(pid);
      if (this.#db.addresses.of(registration).length === 0) return;
      this.#limits.use('change', pid);
      this.#takeOver(registration, pid, 'the address is not used any more');
      this.#db.addresses.removePending(registration);
      this.#note('address removed', registration, pid, '');
    });
    this.#queued();
  }

  /** The addresses of a provider; undefined where rs.db does not know it. */
  standing(pid: number): AddressStanding | undefined {
    const registration = this.#db.addresses.registrationOf(pid);
    return registration === undefined ? undefined : this.standingOf(registration);
  }

  standingOf(registration: number): AddressStanding {
    const all = this.#db.addresses.of(registration);
    const [confirmed, pending] = [true, false].map(is => all.find(({ isConfirmed }) => isConfirmed === is));
    return { confirmed: confirmed?.address, pending: pending?.address };
  }

  /** The link of a mail was followed, and its button pressed. @throws RsRequestRefused 410 for one that is
   * none, or was used */
  confirm(token: string): void {
    const isDone = this.#db.write(() => {
      const { addresses, mails } = this.#db;
      const address = TOKEN.test(token) ? addresses.byToken(hashOf(token)) : undefined;
      if (address === undefined) return false;
      const pid = addresses.pidOf(address.registration);
      this.#takeOver(address.registration, pid, 'another address is used from now on');
      addresses.confirm(this.#nowMs(), address.id);
      mails.release(keyOf(address.address));
      this.#note('address confirmed', address.registration, pid ?? null, maskedAddress(address.address));
      return true;
    });
    if (!isDone)
      throw new RsRequestRefused(
        410,
        'link',
        'this link is not good, or not any more',
        'it is good once; use the one in the latest mail',
      );
    this.#queued();
  }

  /** True if a mailbox may be written to once more today. Inside a transaction. @param reserve places that
   * are kept for others */
  hasRoom(address: string, reserve = 0): boolean {
    return this.#limits.left('mailbox', keyOf(address)) > reserve && this.#limits.left('mail', '') > 0;
  }

  /** One mail more; inside a transaction. @param network whose doing it is, '' for the LCC's own */
  queue(kind: MailKind, registration: number | null, address: string, network: string, body: string): void {
    const { mails } = this.#db;
    const nowMs = this.#nowMs();
    const domain = this.#options.from.slice(this.#options.from.lastIndexOf('@') + 1);
    const message = `<lcc.${randomUUID()}@${domain}>`;
    mails.add({ kind, registration, message, address, body }, nowMs);
    if (kind === 'sites') return;
    this.#limits.count('mailbox', keyOf(address));
    this.#limits.count('mail', '');
    if (network !== '') this.#limits.count('mailing', network);
    if (FIRST_KINDS.includes(kind)) mails.noteUnconfirmed(keyOf(address), nowMs);
  }

  /** Mails were committed. */
  #queued(): void {
    step('rs.mail.queued');
    this.stir();
  }

  /** The address waits for its link; the mail with it goes out, unless an earlier one was not confirmed. */
  #begin(
    registration: number,
    pid: number,
    address: string,
    network: string,
    kind: 'pair' | 'confirm',
    letter: (confirmUrl: string) => string,
  ): void {
    const { addresses, mails } = this.#db;
    const key = keyOf(address);
    const nowMs = this.#nowMs();
    this.#limits.demand('mailing', network);
    this.#limits.demand('mail', '');
    const token = randomBytes(TOKEN_BYTES).toString('base64url');
    addresses.putPending(registration, address, hashOf(token), nowMs);
    // Whose address it is decides, not who gave it: nobody is told which of these it was.
    const why = mails.isUnconfirmed(key)
      ? 'an earlier mail was not confirmed'
      : this.hasRoom(address)
        ? undefined
        : 'rs.mails_per_address';
    if (why === undefined)
      this.queue(kind, registration, address, network, letter(this.#urlOf(`confirm/${token}`)));
    const masked = maskedAddress(address);
    this.#note('address given', registration, pid, why === undefined ? masked : `${masked}, no mail: ${why}`);
  }

  /** The confirmed address, if there is one, is told for the last time. */
  #takeOver(registration: number, pid: number | undefined, text: string): void {
    const { addresses } = this.#db;
    const old = this.standingOf(registration).confirmed;
    if (old === undefined) return;
    addresses.note(this.#nowMs(), text, registration);
    const { notes, count } = addresses.notesOf(registration, MAX_NOTES);
    this.queue('changes', registration, old, '', changesLetter(pid, notes, count, this.#options));
    addresses.removeNotes(registration);
    addresses.removeConfirmed(registration);
  }

  #registrationOf(pid: number): number {
    const registration = this.#db.addresses.registrationOf(pid);
    if (registration !== undefined) return registration;
    throw new RsRequestRefused(409, 'email', 'the provider did not register here', 'ask the operator');
  }

  #urlOf(path: string): string {
    return urlBelow(this.#options.url, path);
  }

  #note(event: string, registration: number, pid: number | null, detail: string): void {
    this.#db.audit.add({ event, registration, pid, by: 'applicant', detail }, this.#nowMs());
  }
}

/** Most notes of one mail. */
export const MAX_NOTES = 50;

/** @throws RsRequestRefused 400 */
function addressOf(text: string): string {
  const address = readMailAddress(text.trim());
  // Without a dot it would be a name on the server of the LCC itself.
  if (address === undefined || !address.slice(address.lastIndexOf('@')).includes('.'))
    throw new RsRequestRefused(400, 'email', 'the e-mail address is none', 'write it as name@example.org');
  return address;
}

/** Key by which mailboxes are counted. */
export function keyOf(address: string): string {
  return hash('sha256', mailboxOf(address));
}

export function hashOf(token: string): string {
  return hash('sha256', token);
}
