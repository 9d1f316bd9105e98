/**
 * Changes by a Registration Server: to providers that registered by themselves, within bounds that are ours;
 * and the controls of operators over any provider, each of which can be taken back. Each change is carried
 * out once, however often it is sent: its answer is kept in the transaction that makes it.
 *
 *     sent ──id is known──▶ answered as before
 *       ├──too many for now──▶ later, and nothing is kept
 *       ╰──▶ carried out, or refused for good ──commit──▶ answered
 */
import { limitText, type Settings } from '../config/settings/index.js';
import { firstTermsOf, isAbove, MOST_TERMS, termsAbove, type TermNumbers } from '../wire/terms.js';
import { RegisteredStore, type Standing } from '../db/providers/registered.js';
import type { UrlLife } from '../wire/url-life.js';
import type { QueueStore } from '../db/queue/store.js';
import type { Db } from '../db/sqlite/open.js';
import type { Clock } from '../lib/clock.js';
import type { Log } from '../lib/log.js';
import { step } from '../lib/steps.js';
import {
  digestOf,
  REMEMBERED_MS,
  type RsAnswer,
  type RsAsk,
  RS_CONTROLS,
  type RsChange,
  type RsControl,
  type RsRefusal,
  type RsTerms,
  TERM_NUMBERS,
} from '../wire/qm-rs.js';
import { rootProblem } from '../wire/roots.js';
import { rsQuestions } from './rs-questions.js';

const HOUR_S = 3600;
const DAY_S = 86_400;

export interface RsBounds {
  firstPid: number;
  /** Terms of a new provider, and the most that others may be given. */
  first: Required<Omit<RsTerms, 'timeofday'>>;
  most: Required<Omit<RsTerms, 'timeofday'>>;
  maxRoots: number;
  providersPerRoot: number;
  registrationsPerDay: number;
  /** Operations an hour of all providers, but for those of operators. */
  operationsPerHour: number;
  controlsPerHour: number;
  /** Until what one that leaves holds is removed. */
  leaveMs: number;
}

/** Carried out an hour: changes of a Registration Server; words of its operators. */
const HOURLY = { operationsPerHour: 1000, controlsPerHour: 1000 };

export function rsBoundsOf(rs: Settings['rs']): RsBounds {
  return { ...HOURLY, ...rs, first: firstTermsOf(rs), most: MOST_TERMS };
}

export interface RsOperationsOptions {
  db: Db;
  store: Pick<QueueStore, 'transaction' | 'providers' | 'moving'>;
  bounds: RsBounds;
  clock: Clock;
  log: Log;
  /** Called when the stored provider has changed. */
  changed: (pid: number) => void;
  /** Controls of lccctl over a provider, within a transaction; and their consequences. */
  controls: Readonly<Record<Exclude<RsControl, 'disable' | 'enable'>, (pid: number) => void>>;
  /** Delays of a provider are forgotten, and it is asked now. */
  flushed: (pid: number) => void;
  /** All that is known of a url. Left out: nothing. */
  livesOf?: (pid: number, url: string) => readonly UrlLife[];
}

export class RsOperations {
  readonly #options: RsOperationsOptions;
  readonly #registered: RegisteredStore;
  readonly #question: ReturnType<typeof rsQuestions>;

  constructor(options: RsOperationsOptions) {
    this.#options = options;
    this.#registered = new RegisteredStore(options.db);
    this.#question = rsQuestions(options.db, options.clock, options.livesOf);
  }

  /** Carries out a change, durably, or answers a question. @throws LccError as `QueueStore.transaction` */
  answer(ask: RsAsk): RsAnswer {
    return ask.id === undefined ? this.#question(ask.question) : this.#change(ask.id, ask.change);
  }

  #change(id: string, change: RsChange): RsAnswer {
    const { store, log, changed, flushed } = this.#options;
    const { op, pid } = change;
    const { answer, isNew } = store.transaction(() => this.#once(id, change));
    if (!isNew) return answer;
    step('qm.rs.committed');
    log.info('operation of the Registration Server', {
      op,
      pid,
      refused: 'refused' in answer ? answer.text : undefined,
    });
    if ('ok' in answer) (op === 'flush' ? flushed : changed)(pid);
    return answer;
  }

  #once(id: string, change: RsChange): { answer: RsAnswer; isNew: boolean } {
    const registered = this.#registered;
    const digest = digestOf(change);
    const known = registered.answered(id);
    if (known !== undefined) {
      const isSame = known.digest === digest;
      const answer = isSame
        ? (JSON.parse(known.answer) as RsAnswer)
        : refused('id', 'the id was that of another operation');
      return { answer, isNew: false };
    }
    const nowS = Math.floor(this.#options.clock.nowMs() / 1000);
    const later = this.#whyLater(change, nowS);
    if (later !== undefined) return { answer: { later }, isNew: false };
    const answer = this.#refusalOf(change, nowS) ?? this.#carryOut(change, nowS);
    registered.prune(nowS - REMEMBERED_MS / 1000);
    registered.note({
      id,
      op: change.op,
      pid: change.pid,
      digest,
      answer: JSON.stringify(answer),
      atS: nowS,
    });
    return { answer, isNew: true };
  }

  /** Providers keep no operator waiting. How often one provider may change itself is a limit of lccd-rs. */
  #whyLater(change: RsChange, nowS: number): string | undefined {
    const { operationsPerHour, controlsPerHour, registrationsPerDay } = this.#options.bounds;
    const { op, pid } = change;
    if (this.#options.store.moving.wayOf(pid) !== undefined) return `provider ${pid} moves to another home`;
    if (isControl(change) || op === 'limits')
      return this.#registered.controlsSince(nowS - HOUR_S) < controlsPerHour
        ? undefined
        : `too many words of operators in an hour: the limit is ${controlsPerHour}`;
    if (this.#registered.since(nowS - HOUR_S).all >= operationsPerHour)
      return `too many changes in an hour: the limit is ${operationsPerHour}`;
    if (op === 'register' && this.#registered.since(nowS - DAY_S).registrations >= registrationsPerDay)
      return `too many registrations in a day: the limit is ${limitText('rs.registrations_per_day', registrationsPerDay)}`;
    return undefined;
  }

  /** Why a change is refused for good; it has not begun. */
  #refusalOf(change: RsChange, nowS: number): RsAnswer | undefined {
    const { bounds } = this.#options;
    const { pid } = change;
    if (change.op === 'register') {
      if (pid < bounds.firstPid)
        return refused(
          'taken',
          `provider ${pid}: numbers begin with ${limitText('rs.first_pid', bounds.firstPid)}`,
        );
      if (this.#registered.wasUsed(pid)) return refused('taken', `provider ${pid}: the number is taken`);
      return this.#rootsRefused(pid, [], change.roots);
    }
    const standing = this.#registered.standing(pid);
    if (isControl(change)) return controlRefused(change, standing, nowS);
    if (change.op === 'limits') return this.#limitsRefused(change, standing);
    if (standing?.origin !== 'rs' || standing.left === 1)
      return refused('unknown', `provider ${pid}: there is none that registered by itself`);
    switch (change.op) {
      case 'password':
        if (change.generation !== standing.generation)
          return refused('generation', `provider ${pid}: its password is number ${standing.generation}`);
        return change.roots === undefined ? undefined : this.#unheld(pid, change.roots);
      case 'root-add':
        return this.#rootsRefused(pid, this.#registered.rootsOf(pid), change.roots);
      case 'root-rm': {
        const unheld = this.#unheld(pid, change.roots);
        if (unheld !== undefined || this.#registered.rootsOf(pid).length > new Set(change.roots).size)
          return unheld;
        return refused('roots', `provider ${pid}: its last root stays; it can leave`);
      }
      case 'terms':
        return tooMuch(change, bounds.most);
      case 'leave':
        return standing.enabled === 1
          ? undefined
          : refused('state', `provider ${pid}: it is leaving, or was disabled`);
      case 'stay':
        return standing.leaveat !== null && standing.leaveat > nowS
          ? undefined
          : refused('state', `provider ${pid}: it is not leaving, or its time is over`);
    }
  }

  /** An operator gives any provider terms, above `MOST_TERMS` no more than it has: who gives more does it by
   * lccpidb. */
  #limitsRefused(
    change: Extract<RsChange, { op: 'limits' }>,
    standing: Standing | undefined,
  ): RsAnswer | undefined {
    const { pid } = change;
    const has = this.#registered.termsOf(pid);
    if (has === undefined || standing?.left === 1)
      return refused('unknown', `provider ${pid}: there is none`);
    return tooMuch(change, this.#options.bounds.most, has);
  }

  #unheld(pid: number, roots: readonly string[]): RsAnswer | undefined {
    const has = this.#registered.rootsOf(pid);
    const other = roots.find(root => !has.includes(root));
    return other === undefined ? undefined : refused('roots', `provider ${pid}: it has no root ${other}`);
  }

  #rootsRefused(pid: number, has: readonly string[], more: readonly string[]): RsAnswer | undefined {
    const { maxRoots, providersPerRoot } = this.#options.bounds;
    const all = new Set([...has, ...more]);
    if (all.size > maxRoots)
      return refused('roots', `${all.size} roots, the limit is ${limitText('rs.max_roots', maxRoots)}`);
    for (const root of more) {
      const problem = rootProblem(root);
      if (problem !== undefined) return refused('roots', `a root that ${problem}`);
      if (new URL(root).href !== root || !root.endsWith('/'))
        return refused('roots', 'a root that is not written as parsers write it, or is no directory');
      if (this.#registered.sharersOf(root, pid) >= providersPerRoot)
        return refused(
          'roots',
          `others have registered ${root}, and no more may; ask the operator of this LCC`,
        );
    }
    return undefined;
  }

  #carryOut(change: RsChange, nowS: number): RsAnswer {
    const { bounds, controls } = this.#options;
    const { first, leaveMs } = bounds;
    const { pid } = change;
    const leavesS = nowS + Math.ceil(leaveMs / 1000);
    let given: readonly string[] = [];
    if (isControl(change)) {
      if (change.op === 'disable' || change.op === 'enable') this.#registered[change.op](pid);
      else controls[change.op](pid);
      return { ok: { pid } };
    }
    switch (change.op) {
      case 'register': {
        const terms = { ...lowerOf(change, first), timeofday: change.timeofday ?? '' };
        this.#registered.add(pid, change.password, terms, change.roots);
        break;
      }
      case 'password':
        this.#registered.changePassword(pid, change.password);
        given = this.#keepRoots(pid, change.roots, leavesS);
        break;
      case 'root-rm':
        this.#registered.removeRoots(pid, change.roots);
        break;
      case 'leave':
        this.#registered.leave(pid, leavesS);
        break;
      case 'stay':
        this.#registered.stay(pid);
        break;
      case 'root-add':
        this.#registered.addRoots(pid, change.roots);
        break;
      case 'terms':
      case 'limits': {
        const { op: _op, pid: _pid, ...terms } = change;
        this.#registered.changeTerms(pid, terms);
        break;
      }
    }
    const { generation = 0, leaveat = null } = this.#registered.standing(pid) ?? {};
    return {
      ok: {
        pid,
        generation,
        ...(leaveat !== null && { leaveat }),
        ...(given.length > 0 && { given, until: leavesS }),
      },
    };
  }

  /**
   * @param kept undefined: all @returns those that are given up, for what is held of them to go at that time
   */
  #keepRoots(pid: number, kept: readonly string[] | undefined, atS: number): readonly string[] {
    if (kept === undefined) return [];
    const others = this.#registered.rootsOf(pid).filter(root => !kept.includes(root));
    this.#registered.giveUpRoots(pid, others, atS);
    return others;
  }
}

function isControl(change: RsChange): change is Extract<RsChange, { op: RsControl }> {
  return RS_CONTROLS.some(op => op === change.op);
}

/**
 * An operator may do anything to a provider that there is; of one that leaves nothing comes back once its
 * time is over. One that lccpidb added and disabled is not enabled from here: who has taken over a
 * Registration Server would let it in again.
 */
function controlRefused(
  { op, pid }: Extract<RsChange, { op: RsControl }>,
  standing: Standing | undefined,
  nowS: number,
): RsAnswer | undefined {
  if (standing === undefined) return refused('unknown', `provider ${pid}: there is none`);
  if (op !== 'enable' && op !== 'disable') return undefined;
  if (standing.left === 1 || (standing.leaveat !== null && standing.leaveat <= nowS))
    return refused('state', `provider ${pid}: it has left`);
  const isOurs = standing.origin === 'rs' || standing.rsdisabled === 1;
  return op === 'disable' || standing.enabled === 1 || isOurs
    ? undefined
    : refused('state', `provider ${pid}: it was disabled by lccpidb, which alone enables it again`);
}

function refused(why: RsRefusal, text: string): RsAnswer {
  return { refused: why, text };
}

/** The refusal of terms of which any is above each of these. */
function tooMuch({ pid, ...terms }: RsTerms & { pid: number }, ...each: readonly TermNumbers[]) {
  const above = termsAbove(terms, ...each);
  return above && refused('terms', `provider ${pid}: ${above} is more than an approval may give`);
}

/** The terms asked for, nowhere above `first`; others as `first` has them. */
function lowerOf(terms: RsTerms, first: TermNumbers): TermNumbers {
  const lower = { ...first };
  for (const name of TERM_NUMBERS) {
    const value = terms[name];
    if (value !== undefined && !isAbove(name, value, first[name])) lower[name] = value;
  }
  return lower;
}
