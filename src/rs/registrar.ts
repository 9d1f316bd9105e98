/** Requests of applicants: a pair, "it is there", a look at how it stands; with the limits of each. */
import { hash, randomBytes } from 'node:crypto';
import type { PairKind, Registration, Wishes } from '../db/rs/registrations.js';
import { within } from '../lib/clock.js';
import { LccError, messageOf } from '../lib/errors.js';
import { isPrivateNetwork } from '../lib/network.js';
import { generatePassword, hashPassword } from '../lib/password.js';
import { step } from '../lib/steps.js';
import { Limits } from './limits.js';
import type { Mailing } from './mail/mailing.js';
import type { RsOptions } from './options.js';
import { prove, randomFileName, type Proof } from './proof/prove.js';
import { resetProof, type ResetProof } from './proof/reset.js';
import { RsRequestRefused, tooOften } from './refusal.js';
import type { RsRoom } from './room.js';
import { siteOf, type Site } from './site.js';
import { BY, type Transitions } from './transitions.js';
import { requireWithin, wishesOf, type WrittenWishes } from './wishes.js';
import { shownBy, type RsGround } from './ground.js';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const CAPABILITY_BYTES = 16;
const BUSY_MS = 10_000;
/** For which a request waits for the end of a check, before it says that it is under way. */
const CHECK_WAIT_MS = 3000;

/** A pair, as the one answer that shows all of it has it. */
export interface IssuedPair {
  capability: string;
  secret: string;
  /** '' of a pair for another root. */
  password: string;
  registration: Registration;
}

interface PairWanted {
  kind: PairKind;
  /** Undefined: the next number. */
  pid?: number;
  generation?: number;
  wishes: Wishes;
  site: Pick<Site, 'prefix' | 'host'>;
  network: string;
  /** Where the pair is sent as well. */
  mailTo?: ReturnType<Mailing['addressIn']>;
}

export interface RegistrarParts extends Pick<RsGround, 'db' | 'clock' | 'log' | 'fail' | 'ask' | 'applied'> {
  options: RsOptions;
  mailing: Mailing;
  transitions: Transitions;
  room: RsRoom;
}

export class Registrar {
  readonly #parts: RegistrarParts;
  readonly #limits: Limits;
  /** By id of the registration: its host, and the end of its check. */
  readonly #checks = new Map<number, { host: string; over: Promise<void> }>();

  constructor(parts: RegistrarParts) {
    const { db, options, clock } = parts;
    this.#parts = parts;
    this.#limits = new Limits(db, options.uses, () => clock.nowMs());
  }

  get checking(): number {
    return this.#checks.size;
  }

  /**
   * Step one: a pair for a directory of a site.
   * @param network of the applicant
   * @param email where the pair is sent as well; '' for none
   * @throws RsRequestRefused
   */
  issue(address: string, written: WrittenWishes, network: string, email = ''): IssuedPair {
    const { options, clock } = this.#parts;
    const wishes = wishesOf(written, options.slots, clock.nowMs());
    requireWithin(wishes, options.first.bandwidth);
    this.#requireOpen();
    const site = this.#siteOf(address);
    return this.#issue({ kind: 'new', wishes, site, network, mailTo: this.#parts.mailing.addressIn(email) });
  }

  /**
   * A pair for another root of a provider that has logged in: no password.
   * @throws RsRequestRefused
   */
  issueRoot(pid: number, address: string, network: string): IssuedPair {
    this.#requireOpen();
    return this.#issue({ kind: 'root', pid, wishes: {}, site: this.#siteOf(address), network });
  }

  /**
   * A pair for somebody who has forgotten the password: alike for numbers that are known and unknown. Nothing
   * is said of the number until the site is proven.
   * @param address of one of the roots
   * @throws RsRequestRefused
   */
  issueReset(pid: number, address: string, network: string): IssuedPair {
    return this.#issue({ kind: 'reset', pid, wishes: {}, site: this.#siteOf(address), network });
  }

  /**
   * Another password of a provider; it is not one before `check`. Nothing has to be proven.
   * @param generation of the password that it replaces
   * @throws RsRequestRefused
   */
  issueRotation(pid: number, generation: number, network: string): IssuedPair {
    const prefix = this.#parts.db.providers.get(pid)?.prefix ?? '';
    const host = prefix === '' ? '' : new URL(prefix).hostname;
    return this.#issue({ kind: 'rotation', pid, generation, wishes: {}, site: { prefix, host }, network });
  }

  /** How a pair stands. @throws RsRequestRefused 404 for what is none, 410 when it is over */
  find(capability: string): Registration {
    const registration = this.#parts.db.registrations.find(hash('sha256', capability));
    if (registration === undefined)
      throw new RsRequestRefused(404, 'unknown', 'there is no such pair', 'begin again with a new one');
    const { state } = registration;
    if (state === 'expired' || state === 'cancelled')
      throw new RsRequestRefused(410, state, `the pair is ${state}`, 'begin again with a new one');
    return registration;
  }

  /**
   * Step two: the file is said to be there. Returns at once where it is being checked already, or was proven.
   * @param givesUp of a reset: roots without the file are taken off
   * @returns resolves when the check is over
   * @throws RsRequestRefused 429 when it is too often, 404 and 410 as `find`
   */
  check(capability: string, givesUp = false): Promise<void> {
    const registration = this.find(capability);
    const { id, host, state } = registration;
    const underWay = this.#checks.get(id);
    if (underWay !== undefined) return underWay.over;
    if (state !== 'issued') return Promise.resolve();
    if (registration.kind === 'rotation') {
      if (this.#parts.transitions.rotate(registration)) this.#parts.applied();
      return Promise.resolve();
    }
    requirePrivate(registration);
    if (registration.kind === 'new') this.#parts.mailing.requireConfirmed(id);
    this.#requirePatience(registration);
    if (!this.#parts.transitions.begin(registration)) return Promise.resolve();
    const over = this.#run(registration, givesUp).finally(() => this.#checks.delete(id));
    this.#checks.set(id, { host, over });
    return over;
  }

  /**
   * As `check`, but waits for its end for a moment only.
   * @returns how the pair stands then
   */
  async checkAWhile(capability: string, givesUp: boolean): Promise<Registration> {
    await within(this.#parts.clock, this.check(capability, givesUp), CHECK_WAIT_MS);
    return this.find(capability);
  }

  /** The applicant gives up. @throws RsRequestRefused 409 when it is too late, 404 and 410 as `find` */
  cancel(capability: string): void {
    const registration = this.find(capability);
    if (!this.#parts.transitions.cancel(registration))
      throw new RsRequestRefused(
        409,
        'too-late',
        `the pair is ${registration.state}`,
        'wait until that is over; a provider that is active is removed by its operator',
      );
  }

  /** When no check is under way. */
  async idle(): Promise<void> {
    await Promise.all([...this.#checks.values()].map(({ over }) => over));
  }

  async #run(registration: Registration, givesUp: boolean): Promise<void> {
    const { mode, waitMs } = this.#parts.options;
    const { id, kind } = registration;
    try {
      const { proof: found, ...reset } = await this.#prove(registration, givesUp);
      // Who has forgotten a password waits for nobody: the site is known already.
      const isAtOnce = mode === 'open' || kind === 'reset';
      this.#parts.transitions.end(registration, found, isAtOnce ? undefined : waitMs, reset);
      if (found.dissent !== undefined)
        this.#parts.log.warn('vantages do not agree', { registration: id, they: found.dissent.join('; ') });
      if (found.failed === undefined && isAtOnce) this.#parts.applied();
      this.#parts.mailing.stir();
    } catch (error) {
      if (!(error instanceof LccError)) return this.#parts.fail(error);
      // The pair stays in its state until the next start puts it back.
      this.#parts.log.error('end of a check not written', { registration: id, error: messageOf(error) });
    }
  }

  async #prove(registration: Registration, givesUp: boolean): Promise<ResetProof> {
    const { proof, site: rules } = this.#parts.options;
    const at = (prefix: string): Promise<Proof> => {
      const site = siteOf(prefix, rules);
      return 'code' in site
        ? Promise.resolve({ failed: site, prefixes: [], addresses: [] })
        : prove(site, registration, { ...proof, clock: this.#parts.clock });
    };
    const first = await at(registration.prefix);
    if (registration.kind !== 'reset' || first.failed !== undefined) return { proof: first };
    return resetProof(first, await shownBy(this.#parts.ask, registration.pid), at, givesUp);
  }

  #requireOpen(): void {
    const { mode, contact } = this.#parts.options;
    if (mode === 'closed')
      throw new RsRequestRefused(
        403,
        'closed',
        'this LCC takes no new sites',
        contact === '' ? 'ask its operator' : `ask ${contact}`,
      );
  }

  /** @throws RsRequestRefused 400 */
  #siteOf(address: string): Site {
    const site = siteOf(address, this.#parts.options.site);
    if ('code' in site) throw new RsRequestRefused(400, site.code, site.what, site.do);
    return site;
  }

  #issue({ kind, pid: known, generation, wishes, site, network, mailTo }: PairWanted): IssuedPair {
    const { firstPid, pairMs } = this.#parts.options;
    const { prefix, host } = site;
    const [secret, password] = [generatePassword(), kind === 'root' ? '' : generatePassword()];
    const capability = randomBytes(CAPABILITY_BYTES).toString('hex');
    const nowMs = this.#parts.clock.nowMs();
    const registration = this.#parts.db.write(() => {
      const { registrations, audit } = this.#parts.db;
      if (kind === 'rotation') this.#limits.use('password', known ?? 0);
      else {
        // Somebody without a password is no new provider.
        if (kind !== 'reset') this.#parts.room.demand();
        this.#requireRoom(kind === 'reset' ? undefined : host, network, nowMs);
      }
      const pid = known ?? registrations.nextPid(firstPid);
      const pair = {
        kind,
        generation: generation ?? null,
        capability: hash('sha256', capability),
        prefix,
        host,
        file: kind === 'rotation' ? '' : randomFileName(),
        secret: hash('sha256', secret),
        password: password === '' ? null : hashPassword(password),
        wishes,
        network,
      };
      const id = registrations.issue(pair, pid, nowMs, nowMs + pairMs);
      const event = kind === 'new' ? 'issued' : `${kind} issued`;
      audit.add({ event, registration: id, pid, by: BY[kind], detail: `${prefix} from ${network}` }, nowMs);
      const made = registrations.get(id);
      if (made === undefined) throw new LccError('bug', 'a pair that was made is not there');
      if (mailTo !== undefined)
        this.#parts.mailing.first(mailTo, { capability, secret, password, registration: made });
      return made;
    });
    step('rs.pair.committed');
    this.#parts.mailing.stir();
    return { capability, secret: kind === 'rotation' ? '' : secret, password, registration };
  }

  /** @param host undefined: it does not count */
  #requireRoom(host: string | undefined, network: string, nowMs: number): void {
    const { openPairs, perHost } = this.#parts.options.limits;
    const { registrations } = this.#parts.db;
    // Whoever tries the product on the operator's own machines is no stranger.
    if (!isPrivateNetwork(network)) this.#limits.use('pair', network);
    // Sooner where one of them is cancelled.
    const untilEnd = (endsMs: number | undefined) => Math.min(DAY_MS, (endsMs ?? nowMs + DAY_MS) - nowMs);
    if (host !== undefined && registrations.openOf(host) >= perHost.most && !this.#makeRoom(host, network))
      throw tooOften(
        'too-many',
        `too many open pairs for this host: the limit is ${perHost.text}`,
        untilEnd(registrations.firstEndOf(host)),
      );
    if (registrations.open() >= openPairs.most)
      throw tooOften(
        'too-many',
        `too many open pairs: the limit is ${openPairs.text}`,
        untilEnd(registrations.firstEndOf()),
      );
  }

  /** A pair of the network that has the most of them for this host gives way, unless that is the one which
   * asks: nobody keeps the owner of a site from registering it. @returns whether one did */
  #makeRoom(host: string, network: string): boolean {
    const { db, clock, options } = this.#parts;
    const { registrations, audit } = db;
    const busiest = registrations.busiestOf(host);
    if (busiest === undefined || busiest.pairs <= registrations.openOf(host, network)) return false;
    const least = registrations.leastOf(host, busiest.network);
    const nowMs = clock.nowMs();
    if (least === undefined || !registrations.move(least.id, 'issued', 'cancelled', nowMs)) return false;
    const detail = `${least.prefix} from ${least.network}, to ${network}: ${options.limits.perHost.text}`;
    audit.add({ event: 'gave way', registration: least.id, pid: least.pid, by: 'rs', detail }, nowMs);
    return true;
  }

  #requirePatience({ host, tries, triedMs }: Registration): void {
    const { checkInterval, checksPerHour, checks, checking } = this.#parts.options.limits;
    const nowMs = this.#parts.clock.nowMs();
    const lastHour = triedMs.filter(ms => ms > nowMs - HOUR_MS && ms <= nowMs);
    if (tries >= checks.most)
      throw new RsRequestRefused(
        409,
        'used-up',
        `this pair was checked too often: the limit is ${checks.text}`,
        'cancel it, and begin again with a new one',
      );
    const [first = nowMs] = lastHour.slice(-checksPerHour.most);
    if (lastHour.length >= checksPerHour.most)
      throw tooOften(
        'too-often',
        `too many checks in an hour: the limit is ${checksPerHour.text}`,
        first + HOUR_MS - nowMs,
      );
    const sinceMs = nowMs - (lastHour.at(-1) ?? -Infinity);
    if (sinceMs < checkInterval.most)
      throw tooOften(
        'too-often',
        `a check so soon after the last one: there are ${checkInterval.text} between two`,
        checkInterval.most - sinceMs,
      );
    const others = [...this.#checks.values()];
    if (others.some(one => one.host === host))
      throw tooOften('too-often', 'another check of this host is under way', BUSY_MS);
    if (others.length >= checking.most)
      throw tooOften('too-often', `too many checks at a time: the limit is ${checking.text}`, BUSY_MS);
  }
}

/** @throws RsRequestRefused 409 where its password stood in the public file: it never comes into use */
function requirePrivate({ reason }: Registration): void {
  if (reason?.code === 'password') throw new RsRequestRefused(409, 'void', reason.what, reason.do);
}
