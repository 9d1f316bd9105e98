/**
 * Transitions of a registration with all that belongs into one transaction: the row, the operation for the
 * Queue Manager, the audit. lccd-rs and lccrs make them alike; of two that try at once one finds the state
 * changed.
 */
import type { Slots } from '../config/hours.js';
import type { AuditEvent } from '../db/rs/audit.js';
import type { RsDatabase } from '../db/rs/database.js';
import type { WaitingOperation } from '../db/rs/outbox.js';
import type { RegisteredProvider } from '../db/rs/providers.js';
import type { PairKind, Registration, RegistrationReason } from '../db/rs/registrations.js';
import type { ResetProof } from './proof/reset.js';
import { LccError } from '../lib/errors.js';
import { step } from '../lib/steps.js';
import type { RsAnswer, RsChange, RsControl, RsTerms } from '../wire/qm-rs.js';
import { changeText, givenTexts } from './mail/letters.js';
import type { Proof } from './proof/prove.js';
import { plainWords } from './refusal.js';
import { timeofdayOf } from './wishes.js';

/** One that needs no registration. */
export type OperatorChange = Extract<RsChange, { op: RsControl | 'limits' }>;

export class Transitions {
  readonly #db: RsDatabase;
  readonly #nowMs: () => number;
  readonly #slots: Slots;

  /** @param slots of the LCC */
  constructor(db: RsDatabase, nowMs: () => number, slots: Slots) {
    this.#db = db;
    this.#nowMs = nowMs;
    this.#slots = slots;
  }

  /** A check begins. @returns whether nobody else has begun one */
  begin(registration: Registration): boolean {
    const { id, endsMs = null } = registration;
    const nowMs = this.#nowMs();
    const hasBegun = this.#db.write(() => {
      const { registrations } = this.#db;
      if (!registrations.move(id, 'issued', 'checking', nowMs, { endsMs })) return false;
      registrations.tried(registration, nowMs);
      this.#note('check begun', registration, BY[registration.kind], `${registration.tries + 1}`);
      return true;
    });
    if (hasBegun) step('rs.check.begun');
    return hasBegun;
  }

  /**
   * A check has ended.
   * @param waitMs for which the operator is waited for; undefined: no operator is asked
   * @param reset what it replaces
   */
  end(
    registration: Registration,
    { failed, prefixes, addresses, dissent = [] }: Proof,
    waitMs: number | undefined,
    { generation }: Omit<ResetProof, 'proof'> = {},
  ): void {
    const { id, endsMs = null } = registration;
    const nowMs = this.#nowMs();
    const reached = addresses.length === 0 ? 'no connection' : addresses.join(' ');
    const at = [reached, ...dissent].join('; ');
    this.#db.write(() => {
      const { registrations } = this.#db;
      if (failed !== undefined) {
        if (registrations.move(id, 'checking', 'issued', nowMs, { reason: failed, endsMs }))
          this.#note('check failed', registration, 'rs', `${failed.code} (${at})`);
        return;
      }
      const proven = { proven: prefixes, reason: null, ...(generation !== undefined && { generation }) };
      if (!registrations.move(id, 'checking', 'proven', nowMs, proven)) return;
      this.#note('proven', registration, 'rs', `${prefixes.join(' ')} (${at})`);
      const next = waitMs === undefined ? 'applying' : 'waiting';
      registrations.move(id, 'proven', next, nowMs, waitMs === undefined ? {} : { endsMs: nowMs + waitMs });
      if (next === 'applying')
        this.#apply(
          { ...registration, proven: prefixes, generation: generation ?? registration.generation },
          {},
        );
    });
    step('rs.proof.committed');
  }

  /** Checks that a killed process had begun. @returns how many */
  putBack(): number {
    return this.#db.write(() => {
      const { registrations } = this.#db;
      const begun = registrations.inStates(['checking'], 1_000_000);
      for (const registration of begun) {
        const { id, endsMs = null } = registration;
        if (registrations.move(id, 'checking', 'issued', this.#nowMs(), { endsMs }))
          this.#note('check cut off', registration, 'rs', 'issued again');
      }
      return begun.length;
    });
  }

  /**
   * The operator lets a site join.
   * @param terms more than new providers get
   * @param who decides
   * @throws LccError `usage` when it does not wait, and for terms with another directory of a provider
   */
  approve(id: number, terms: RsTerms, who = 'lccrs'): void {
    this.#db.write(() => {
      const registration = this.#require(id);
      if (registration.kind !== 'new' && Object.keys(terms).length > 0) throw noTerms(registration);
      if (!this.#db.registrations.move(id, 'waiting', 'applying', this.#nowMs()))
        throw notWaiting(registration);
      this.#note('approved', registration, 'operator', `${who}: ${JSON.stringify(terms)}`);
      this.#apply(registration, terms);
    });
    step('rs.approved.committed');
  }

  /** The operator refuses a site, proven or not. @throws LccError `usage` when it neither waits nor is a pair
   * that nobody checks now */
  refuse(id: number, why: string, who = 'lccrs'): void {
    this.#db.write(() => {
      const registration = this.#require(id);
      const reason = refusedBecause(why);
      const from = registration.state === 'issued' ? 'issued' : 'waiting';
      if (!this.#db.registrations.move(id, from, 'refused', this.#nowMs(), { reason }))
        throw notWaiting(registration);
      this.#tell(registration, `${registration.prefix} is refused: ${why}`);
      this.#note('refused', registration, 'operator', `${who}: ${why}`);
    });
    step('rs.refused.committed');
  }

  /** Control of an operator over a provider, registered or added by lccpidb. @param why for the audit */
  control(change: OperatorChange, why: string, who: string): void {
    const { op, pid, ...limits } = change;
    const given = Object.keys(limits).length === 0 ? '' : ` ${JSON.stringify(limits)}`;
    this.#db.write(() => {
      this.#db.outbox.add(NO_REGISTRATION, change, this.#nowMs());
      this.#note(op, { id: NO_REGISTRATION, pid }, 'operator', `${who}: ${why}${given}`);
    });
    step('rs.control.committed');
  }

  /** The password of a rotation replaces the one before it. @returns whether nobody else has begun that */
  rotate(registration: Registration): boolean {
    const hasBegun = this.#db.write(() => {
      if (!this.#db.registrations.move(registration.id, 'issued', 'applying', this.#nowMs())) return false;
      this.#note('rotation begun', registration, 'provider', '');
      this.#apply(registration, {});
      return true;
    });
    if (hasBegun) step('rs.rotation.committed');
    return hasBegun;
  }

  /** The applicant gives up. @returns whether it could be */
  cancel(registration: Registration): boolean {
    const isCancelled = this.#db.write(() => {
      const { id } = registration;
      if (!this.#db.registrations.move(id, 'issued', 'cancelled', this.#nowMs())) return false;
      this.#note('cancelled', registration, BY[registration.kind], '');
      return true;
    });
    if (isCancelled) step('rs.cancelled.committed');
    return isCancelled;
  }

  /**
   * The Queue Manager has answered an operation for good.
   * @param firstPid the lowest number there is, where another one is needed
   */
  settle(operation: WaitingOperation, answer: Exclude<RsAnswer, { later: string }>, firstPid: number): void {
    const nowMs = this.#nowMs();
    const isNew = this.#db.write(() => {
      const { outbox, registrations } = this.#db;
      if (!outbox.remove(operation.id)) return false;
      const { op, pid } = operation.change;
      const of = { id: operation.registration, pid };
      if ('ok' in answer) this.#note(`${op} done`, of, 'qm', '');
      else this.#note(`${op} refused`, of, 'qm', answer.text);
      if (op === 'leave' || op === 'stay' || op === 'enable') this.#noteLeaving(pid, answer);
      if ('ok' in answer && !operation.isQuiet)
        for (const text of [changeText(operation.change), ...givenTexts(answer.ok)]) this.#tell(of, text);
      const registration = registrations.get(operation.registration);
      // Terms follow a registration that is over already.
      if (registration === undefined || OPERATION_OF[registration.kind] !== op) return true;
      if ('ok' in answer) {
        registrations.move(registration.id, 'applying', 'active', nowMs, { reason: null });
        if (op === 'register')
          this.#db.providers.put(registeredOf(registration, operation.change.timeofday ?? '', nowMs));
        return true;
      }
      if (op === 'register' && answer.refused === 'taken') this.#renumber(registration, firstPid);
      else {
        outbox.removeOf(registration.id);
        registrations.move(registration.id, 'applying', 'refused', nowMs, {
          reason: refusedBecause(answer.text),
        });
        this.#tell(registration, `${registration.prefix} is refused: ${answer.text}`);
      }
      return true;
    });
    if (isNew) step('rs.answer.committed');
  }

  /** Ends pairs that are over by time, and forgets those that have been for long. */
  tidy(keepMs: number, auditMs: number): void {
    const nowMs = this.#nowMs();
    const expired = this.#db.write(() => {
      const { registrations, audit } = this.#db;
      let count = 0;
      for (const registration of registrations.due(nowMs, DUE_AT_A_TIME)) {
        const { id, state } = registration;
        if (!registrations.move(id, state, 'expired', nowMs)) continue;
        count++;
        this.#note('expired', registration, 'rs', state);
        this.#tell(registration, `the registration of ${registration.prefix} is expired`);
      }
      registrations.forget(nowMs - keepMs);
      for (const pid of this.#db.providers.left(nowMs)) this.#db.feeds.removeOf(pid);
      this.#db.providers.forgetLeft(nowMs);
      audit.prune(nowMs - auditMs);
      return count;
    });
    if (expired > 0) step('rs.expired.committed');
  }

  /** Hours of providers, where a zone has changed its offset since they were mapped. @returns whether there
   * are any */
  mapHours(): boolean {
    const nowMs = this.#nowMs();
    const { providers, outbox } = this.#db;
    const moved = providers.zoned().flatMap(provider => {
      const { hours, zone, timeofday: told } = provider;
      if (hours === null || zone === null) return [];
      const timeofday = timeofdayOf({ hours, zone }, this.#slots, nowMs);
      return timeofday === told ? [] : [{ ...provider, timeofday }];
    });
    if (moved.length === 0) return false;
    this.#db.write(() => {
      for (const provider of moved) {
        const { pid, registration, timeofday, zone } = provider;
        providers.put(provider);
        outbox.add(registration, { op: 'terms', pid, timeofday }, nowMs, true);
        this.#note('hours mapped', { id: registration, pid }, 'rs', zone ?? '');
      }
    });
    step('rs.hours.committed');
    return true;
  }

  /** Inside a transaction. */
  #apply(registration: Registration, terms: RsTerms): void {
    const { id, kind, pid, password, proven, wishes, generation } = registration;
    const { outbox } = this.#db;
    const nowMs = this.#nowMs();
    if (kind === 'root') return void outbox.add(id, { op: 'root-add', pid, roots: proven }, nowMs);
    if (password === undefined) throw new LccError('bug', `registration ${id} has no password`);
    if (kind !== 'new') {
      if (generation === null) throw new LccError('bug', `registration ${id} replaces no password`);
      const kept = kind === 'reset' ? { roots: proven } : {};
      return void outbox.add(id, { op: 'password', pid, password, generation, ...kept }, nowMs);
    }
    const { bandwidth } = wishes;
    const timeofday = timeofdayOf(wishes, this.#slots, nowMs);
    const wished = { timeofday, ...(bandwidth !== undefined && { bandwidth }) };
    outbox.add(id, { op: 'register', pid, password, roots: proven, ...wished }, nowMs);
    if (Object.keys(terms).length > 0) outbox.add(id, { op: 'terms', pid, ...terms }, nowMs);
  }

  /** The same under another number; inside a transaction. */
  #renumber(registration: Registration, firstPid: number): void {
    const { outbox, registrations } = this.#db;
    const { id } = registration;
    const pid = registrations.nextPid(firstPid);
    registrations.renumber(pid, id);
    let terms: RsTerms = {};
    for (const { change } of outbox.of(id)) {
      if (change.op !== 'terms') continue;
      const { op: _op, pid: _pid, ...more } = change;
      terms = more;
    }
    outbox.removeOf(id);
    this.#apply({ ...registration, pid }, terms);
    this.#note('renumbered', { ...registration, pid }, 'rs', `instead of ${registration.pid}`);
  }

  /**
   * News for the confirmed address, if there is one: that of the registration that the provider began with.
   */
  #tell({ id, pid }: Pick<Registration, 'id' | 'pid'>, text: string | undefined): void {
    if (text === undefined) return;
    const { addresses } = this.#db;
    addresses.note(this.#nowMs(), text, addresses.registrationOf(pid) ?? id);
  }

  #noteLeaving(pid: number, answer: RsAnswer): void {
    if (!('ok' in answer)) return;
    const { leaveat } = answer.ok;
    this.#db.providers.leaves(typeof leaveat === 'number' ? leaveat * 1000 : null, pid);
  }

  #require(id: number): Registration {
    const registration = this.#db.registrations.get(id);
    if (registration === undefined)
      throw new LccError('usage', `there is no registration ${id}; see lccrs list`);
    return registration;
  }

  #note(
    event: string,
    { id, pid }: Pick<Registration, 'id' | 'pid'>,
    by: AuditEvent['by'],
    detail: string,
  ): void {
    const registration = id === NO_REGISTRATION ? null : id;
    this.#db.audit.add({ event, registration, pid, by, detail }, this.#nowMs());
  }
}

/** Who uses a pair. */
export const BY: Readonly<Record<PairKind, 'applicant' | 'provider'>> = {
  new: 'applicant',
  reset: 'applicant',
  root: 'provider',
  rotation: 'provider',
};

const DUE_AT_A_TIME = 1000;
/** Number of an operation that belongs to no registration. */
const NO_REGISTRATION = 0;
/** The Queue Manager's operation for each kind of pair. */
const OPERATION_OF: Readonly<Record<PairKind, RsChange['op']>> = {
  new: 'register',
  root: 'root-add',
  reset: 'password',
  rotation: 'password',
};

function registeredOf(
  { id, pid, prefix, wishes }: Registration,
  timeofday: string,
  sinceMs: number,
): RegisteredProvider {
  const { hours = null, zone = null } = wishes;
  return { pid, registration: id, prefix, sinceMs, hours, zone, timeofday, leavesMs: null };
}

function refusedBecause(what: string): RegistrationReason {
  return { code: 'refused', what: plainWords(what), do: 'ask the operator of this LCC' };
}

/** Those of a provider are changed where it is one. */
function noTerms({ id, pid }: Registration): LccError {
  return new LccError(
    'usage',
    `registration ${id} is another directory of provider ${pid}, and has no terms: approve it without; lccpidb set --pid=${pid} changes those of the provider`,
  );
}

function notWaiting({ id, state }: Registration): LccError {
  return new LccError(
    'usage',
    `registration ${id} is ${state}, and does not wait for approval; see lccrs list`,
  );
}
