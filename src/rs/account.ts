/**
 * Changes that a provider makes to itself after it has registered; pages, API and e-mail call the same. Each
 * change is an operation in the outbox from the commit that promises it: killed or not, it is carried out
 * once.
 */
import type { ShownProvider } from '../db/providers/registered.js';
import type { WaitingOperation } from '../db/rs/outbox.js';
import type { Clock } from '../lib/clock.js';
import { step } from '../lib/steps.js';
import { strictRootCheck } from '../wire/roots.js';
import type { RsAnswer, RsChange } from '../wire/qm-rs.js';
import { Limits, LoginGuard, networkOf } from './limits.js';
import type { RsOptions } from './options.js';
import { busy, RsRequestRefused } from './refusal.js';
import type { IssuedPair, Registrar } from './registrar.js';
import type { RsRoom } from './room.js';
import type { UnsDoor } from './uns-door.js';
import { requireWithin, timeofdayOf, wishesOf, type WrittenWishes } from './wishes.js';
import { shownBy, type RsGround } from './ground.js';

/** The consent to a removal: the password, and the number of urls. */
export interface RemovalConsent {
  password: string;
  /** As the provider is told it has. */
  urls: number;
  /** Address of the client. */
  address: string;
}

/** How a change has gone so far. */
export type ChangeOutcome =
  | { state: 'done' }
  /** The Queue Manager is away, or lets it wait: it is carried out later by itself. */
  | { state: 'waiting' }
  | { state: 'refused'; what: string };

export interface AccountOptions extends Pick<RsGround, 'db' | 'ask' | 'applied'> {
  options: Pick<RsOptions, 'slots' | 'first' | 'maxRoots' | 'uses'>;
  registrar: Pick<Registrar, 'issueRoot' | 'issueRotation' | 'check' | 'find'>;
  room: Pick<RsRoom, 'demand'>;
  door: Pick<UnsDoor, 'look' | 'isRight'>;
  clock: Pick<Clock, 'nowMs' | 'monotonicMs' | 'after'>;
  /** For which an answer of the Queue Manager is waited for, before it is said to come later. */
  patienceMs: number;
}

export class Account {
  readonly #options: AccountOptions;
  /** By id of an operation: who waits for its answer. */
  readonly #waiting = new Map<string, (outcome: ChangeOutcome) => void>();
  readonly #limits: Limits;
  readonly #guard: LoginGuard;

  constructor(options: AccountOptions) {
    this.#options = options;
    const { db, clock } = options;
    this.#limits = new Limits(db, options.options.uses, () => clock.nowMs());
    this.#guard = new LoginGuard(clock, options.options.uses.login);
  }

  /** An operation has its answer; after it is written down. */
  settled({ id }: WaitingOperation, answer: Exclude<RsAnswer, { later: string }>): void {
    this.#waiting.get(id)?.('ok' in answer ? { state: 'done' } : { state: 'refused', what: answer.text });
  }

  // Passwords

  /**
   * Has a password checked, within what the network of the client may try: pages and API have one count.
   * @throws RsRequestRefused 429; the same as `check`
   */
  attempt<T>(address: string, check: () => Promise<T>): Promise<T> {
    return this.#guard.attempt(networkOf(address), check);
  }

  /**
   * Makes another password, which is not in use: it is from `registrar.check` of the pair on, and the old one
   * is void then.
   * @param network of the client
   * @throws RsRequestRefused 409, 429, 503
   */
  async beginRotation(pid: number, network: string): Promise<IssuedPair> {
    const { generation } = await this.show(pid);
    return this.#options.registrar.issueRotation(pid, generation, network);
  }

  /**
   * Makes another password and puts it in use; also for one who has come by a link of an e-mail.
   * @returns its `registration` is `active`, `applying` while the Queue Manager is away, or `refused`
   * @throws RsRequestRefused as `beginRotation`
   */
  async rotate(pid: number, network: string): Promise<IssuedPair> {
    const pair = await this.beginRotation(pid, network);
    await this.#options.registrar.check(pair.capability);
    await this.#answerOf(this.#operationOf(pair.registration.id));
    return { ...pair, registration: this.#options.registrar.find(pair.capability) };
  }

  // Roots

  /** A pair for another root. @throws RsRequestRefused 400, 403, 409, 429, 503 */
  async beginRoot(pid: number, url: string, network: string): Promise<IssuedPair> {
    const { most, text } = this.#options.options.maxRoots;
    const { roots } = await this.show(pid);
    if (roots.length >= most)
      throw new RsRequestRefused(
        409,
        'too-many',
        `there are ${roots.length} roots: the limit is ${text}`,
        'take one off first',
      );
    if (URL.canParse(url) && roots.includes(new URL(url).href))
      throw new RsRequestRefused(409, 'known', 'this is a root already', 'there is nothing to do');
    const around = URL.canParse(url) ? roots.find(root => strictRootCheck([root])(url)) : undefined;
    if (around !== undefined)
      throw new RsRequestRefused(
        409,
        'known',
        `this lies below ${around}, which is a root already`,
        'there is nothing to do: what lies there may be announced',
      );
    return this.#options.registrar.issueRoot(pid, url, network);
  }

  /**
   * Takes a root off; what lies outside of the others is removed.
   * @throws RsRequestRefused 400, 401, 409, 429, 503
   */
  async removeRoot(pid: number, root: string, consent: RemovalConsent): Promise<ChangeOutcome> {
    await this.#requireConsent(pid, consent);
    const { roots } = await this.show(pid);
    if (!roots.includes(root))
      throw new RsRequestRefused(400, 'unknown', 'this is none of your roots', 'give one as GET me shows it');
    if (roots.length === 1)
      throw new RsRequestRefused(409, 'last', 'this is your last root', 'leave this cache instead');
    return this.#change(pid, { op: 'root-rm', pid, roots: [root] }, root);
  }

  // Terms

  /**
   * Changes when and how fast is fetched; what is left out stays, and what is as it was is no change.
   * @throws RsRequestRefused 400, 409, 429, 503
   */
  async changeTerms(pid: number, written: WrittenWishes): Promise<ChangeOutcome> {
    const { options, db, clock } = this.#options;
    const { first, slots } = options;
    const wishes = wishesOf(written, slots, clock.nowMs());
    const { hours = null, zone = null } = wishes;
    const now = await this.#termsNow(pid);
    // Forms send back what stands in them: what an operator has given stays.
    const bandwidth = wishes.bandwidth === now?.bandwidth ? undefined : wishes.bandwidth;
    requireWithin({ bandwidth }, first.bandwidth);
    const known = db.providers.get(pid);
    if (known === undefined) throw notHere();
    const hasHours = written.hours !== undefined && written.hours !== '';
    const mapped = hasHours ? timeofdayOf(wishes, slots, clock.nowMs()) : undefined;
    const areSame = mapped === now?.timeofday && known.hours === hours && known.zone === zone;
    const timeofday = areSame ? undefined : mapped;
    const terms = {
      ...(bandwidth !== undefined && { bandwidth }),
      ...(timeofday !== undefined && { timeofday }),
    };
    if (Object.keys(terms).length === 0) return { state: 'done' };
    // Those that take something away go on without.
    this.#options.room.demand('changes');
    return this.#change(pid, { op: 'terms', pid, ...terms }, JSON.stringify(wishes), () => {
      if (timeofday !== undefined) db.providers.put({ ...known, hours, zone, timeofday });
    });
  }

  /**
   * Terms that hold at the Queue Manager; undefined: not known, as while something else is on its way there.
   */
  async #termsNow(pid: number): Promise<Pick<ShownProvider, 'bandwidth' | 'timeofday'> | undefined> {
    const told = await shownBy(this.#options.ask, pid);
    return this.#options.db.outbox.waitsFor(pid) ? undefined : (told ?? undefined);
  }

  // Leaving

  /**
   * The provider leaves: it is not enabled from then on; what it holds stays for `rs.leave_ms`, in which
   * `stay` undoes it.
   * @throws RsRequestRefused 401, 409, 503
   */
  async leave(pid: number, consent: RemovalConsent): Promise<ChangeOutcome> {
    await this.#requireConsent(pid, consent);
    if (this.#options.db.providers.get(pid) === undefined) throw notHere();
    return this.#change(pid, { op: 'leave', pid }, '');
  }

  /**
   * The provider stays after all. It cannot log in meanwhile: number and password are checked here.
   * @throws RsRequestRefused 401, 409, 503
   */
  async stay(pid: string, password: string, address: string): Promise<ChangeOutcome> {
    const look = () => this.#options.door.isRight(pid, password, address);
    const { enabled } = await this.attempt(address, look);
    if (enabled)
      throw new RsRequestRefused(409, 'state', 'this provider is not leaving', 'there is nothing to undo');
    return this.#change(Number(pid), { op: 'stay', pid: Number(pid) }, '');
  }

  // Looks

  /** @throws RsRequestRefused 409 for one that did not register here, 503 while the Queue Manager is away */
  async show(pid: number): Promise<ShownProvider> {
    const provider = await shownBy(this.#options.ask, pid);
    if (provider === undefined) throw busy();
    if (provider?.origin !== 'rs' || provider.left === 1) throw notHere();
    return provider;
  }

  // Doing

  /** @throws RsRequestRefused 401, 409 */
  async #requireConsent(pid: number, { password, urls, address }: RemovalConsent): Promise<void> {
    const { report } = await this.attempt(address, () => {
      if (!PASSWORD.test(password))
        throw new RsRequestRefused(401, 'login', 'that is not the password', 'give it again');
      return this.#options.door.look(String(pid), password, address);
    });
    if (report.files.used !== urls)
      throw new RsRequestRefused(
        409,
        'count',
        `there are not ${urls} urls of yours here, but ${report.files.used}`,
        'give the number of urls that would be removed',
      );
  }

  async #change(
    pid: number,
    change: RsChange,
    detail: string,
    besides: () => void = () => undefined,
  ): Promise<ChangeOutcome> {
    const { db, clock, applied } = this.#options;
    const nowMs = clock.nowMs();
    const id = db.write(() => {
      this.#limits.use('change', pid);
      besides();
      const registration = db.providers.get(pid)?.registration ?? null;
      db.audit.add({ event: `${change.op} asked`, registration, pid, by: 'provider', detail }, nowMs);
      return db.outbox.add(0, change, nowMs);
    });
    step('rs.change.committed');
    applied();
    return this.#answerOf(id);
  }

  #operationOf(registration: number): string | undefined {
    return this.#options.db.outbox.of(registration).at(-1)?.id;
  }

  /** Waits for the answer to an operation for a moment. @param id undefined: it has one */
  async #answerOf(id: string | undefined): Promise<ChangeOutcome> {
    if (id === undefined) return { state: 'done' };
    const { clock, patienceMs } = this.#options;
    return new Promise(resolve => {
      const cancel = clock.after(patienceMs, () => end({ state: 'waiting' }));
      const end = (outcome: ChangeOutcome) => {
        cancel();
        this.#waiting.delete(id);
        resolve(outcome);
      };
      this.#waiting.set(id, end);
    });
  }
}

const PASSWORD = /^[\w-]{1,100}$/;

function notHere(): RsRequestRefused {
  return new RsRequestRefused(
    409,
    'unknown',
    'this provider did not register by itself, or has left',
    'ask the operator of this LCC',
  );
}
