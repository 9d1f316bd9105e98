/**
 * Another password by mail. A request is kept and answered before anybody looks whose it is: known and
 * unknown ones cost the same.
 *
 *     asked ──commit──▶ answered, alike ─╌╌▶ looked at: a confirmed address gets a link, once
 */
import { randomBytes } from 'node:crypto';
import type { Forgotten } from '../../db/rs/addresses.js';
import { readMailAddress } from '../../lib/mail-address.js';
import { generatePassword, hashPassword } from '../../lib/password.js';
import { step } from '../../lib/steps.js';
import { Limits } from '../limits.js';
import { RsRequestRefused } from '../refusal.js';
import { resetLetter } from './letters.js';
import { hashOf, type Mailing } from './mailing.js';
import { urlBelow } from '../options.js';
import type { MailOptions } from './options.js';
import type { RsGround } from '../ground.js';

const TOKEN_BYTES = 20;
const TOKEN = /^[\w-]{27}$/;
/** Requests that wait to be looked at, and looked at in one go. */
const MOST_WAITING = 1000;
const AT_A_TIME = 20;
/** Providers of one address that get a link. */
const MAX_LINKS = 20;
const PID = /^[1-9]\d{0,9}$/;
/**
 * Mails a day to an address that only news may take: who asks often keeps nobody from hearing of a change.
 */
const RESERVED = 1;

export interface ForgottenOptions extends Pick<RsGround, 'db' | 'clock' | 'show' | 'applied'> {
  mailing: Mailing;
  options: MailOptions;
  stir: () => void;
}

export interface NewPassword {
  pid: number;
  password: string;
}

export class ForgottenPasswords {
  readonly #options: ForgottenOptions;

  constructor(options: ForgottenOptions) {
    this.#options = options;
  }

  /**
   * Somebody asks for another password.
   * @param text a provider's number, or an address
   * @throws RsRequestRefused 400 for what is neither, 403 where no mail is sent, 429, 503; alike for known
   * and unknown ones
   */
  ask(text: string, network: string): void {
    const { db, options, clock, stir } = this.#options;
    const asked = text.trim();
    if (options.email === 'off')
      throw new RsRequestRefused(403, 'email', 'this LCC sends no mail', 'prove it with a file instead');
    if (!PID.test(asked) && readMailAddress(asked) === undefined)
      throw new RsRequestRefused(
        400,
        'who',
        'this is neither a number nor an address',
        "give your provider's number, or the address that you confirmed",
      );
    const nowMs = clock.nowMs();
    db.write(() => {
      const { addresses } = db;
      new Limits(db, options.uses, () => nowMs).use('forgotten', network);
      if (addresses.askedInAll() >= MOST_WAITING)
        throw new RsRequestRefused(503, 'busy', 'too many ask at this moment', 'try again later');
      addresses.ask(asked, network, nowMs);
    });
    step('rs.forgotten.asked');
    stir();
  }

  /** Looks at those who asked. @returns whether there were any */
  async look(): Promise<boolean> {
    const { db } = this.#options;
    const all = db.addresses.asked(AT_A_TIME);
    for (const one of all) {
      const { pids } = this.#whose(one);
      const generations = new Map<number, number | null>();
      for (const pid of pids) generations.set(pid, await this.#generationOf(pid));
      db.write(() => this.#answer(one, generations));
      step('rs.forgotten.looked');
    }
    return all.length > 0;
  }

  /**
   * A link of a mail is followed, and its button pressed: another password, in place of the one that the
   * provider has now.
   * @throws RsRequestRefused 410 for a link that is none, was used, or is too old; 503 while the Queue
   * Manager is away
   */
  async exchange(token: string): Promise<NewPassword> {
    const { db, clock, applied } = this.#options;
    const link = TOKEN.test(token) ? hashOf(token) : '';
    const found = db.addresses.linkOf(link, clock.nowMs());
    if (found === undefined) throw notGood();
    const generation = await this.#generationOf(found.pid);
    if (generation === null)
      throw new RsRequestRefused(
        503,
        'busy',
        'passwords cannot be changed now',
        'press the button again later',
      );
    // Replaced since by somebody who knew it, or by the operator.
    if (generation !== (found.generation ?? generation)) throw notGood();
    const password = generatePassword();
    const pid = db.write(() => {
      const { addresses, outbox, audit } = db;
      // Meanwhile another one may have pressed it.
      const used = addresses.linkOf(link, clock.nowMs())?.pid;
      if (used === undefined) throw notGood();
      addresses.unlink(used);
      const nowMs = clock.nowMs();
      const registration = addresses.registrationOf(used) ?? 0;
      outbox.add(
        registration,
        { op: 'password', pid: used, password: hashPassword(password), generation },
        nowMs,
      );
      audit.add(
        { event: 'password replaced', registration, pid: used, by: 'applicant', detail: 'by mail' },
        nowMs,
      );
      return used;
    });
    step('rs.reset.committed');
    applied();
    return { pid, password };
  }

  /**
   * The address that a link goes to, and the providers that it is for: none where nobody has confirmed it.
   */
  #whose({ asked }: Forgotten): { address: string; pids: readonly number[] } {
    const isPid = PID.test(asked);
    const address = isPid ? this.#options.mailing.standing(Number(asked))?.confirmed : readMailAddress(asked);
    if (address === undefined) return { address: '', pids: [] };
    return {
      address,
      pids: isPid ? [Number(asked)] : this.#options.db.addresses.withAddress(address, MAX_LINKS),
    };
  }

  /** Generation of the password that a provider has now; null: the Queue Manager is away, or does not know
   * the provider. */
  async #generationOf(pid: number): Promise<number | null> {
    return (await this.#options.show(pid))?.generation ?? null;
  }

  #answer(one: Forgotten, generations: ReadonlyMap<number, number | null>): void {
    const { db, mailing, options, clock } = this.#options;
    const { addresses, audit } = db;
    const { network } = one;
    addresses.answered(one.id);
    const nowMs = clock.nowMs();
    const { address, pids } = this.#whose(one);
    if (pids.length === 0) return;
    const isSent = mailing.hasRoom(address, RESERVED);
    for (const pid of pids) {
      const detail = isSent ? 'a link goes out' : 'no mail: rs.mails_per_address, or too many in a day';
      audit.add({ event: 'password asked for', registration: null, pid, by: 'applicant', detail }, nowMs);
    }
    if (!isSent) return;
    const endsMs = nowMs + options.resetMs;
    const links = pids.map(pid => {
      const token = randomBytes(TOKEN_BYTES).toString('base64url');
      addresses.link(hashOf(token), pid, endsMs, generations.get(pid) ?? null);
      return { pid, url: urlBelow(options.url, `reset/${token}`) };
    });
    mailing.queue('reset', null, address, network, resetLetter(links, endsMs, nowMs, options));
  }
}

function notGood(): RsRequestRefused {
  return new RsRequestRefused(
    410,
    'link',
    'this link is not good, or not any more',
    'ask for another one; each is good once',
  );
}
