/**
 * What a Registration Server may have changed: providers that registered by themselves, within bounds that are ours. Each change
 * is carried out once, however often it is sent: its answer is kept in the transaction that makes it.
 *
 *     sent ──id is known──▶ answered as before
 *       ├──too many for now──▶ later, and nothing is kept
 *       ╰──▶ carried out, or refused for good ──commit──▶ answered
 */
import type { Config } from '../config/load.js';
import { limitText } from '../config/settings/index.js';
import { RegisteredStore } from '../db/providers/registered.js';
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
  type RsChange,
  type RsQuestion,
  type RsRefusal,
  type RsTerms,
} from '../wire/qm-rs.js';
import { createRootCheck, rootProblem } from '../wire/roots.js';

const HOUR_S = 3600;
const DAY_S = 86_400;

export interface RsBounds {
  firstPid: number;
  /** Of a new provider, and what others may be given at most. */
  first: Required<Omit<RsTerms, 'timeofday'>>;
  most: Required<Omit<RsTerms, 'timeofday'>>;
  maxRoots: number;
  providersPerRoot: number;
  registrationsPerDay: number;
  operationsPerHour: number;
}

export function rsBoundsOf(config: Pick<Config, 'get'>): RsBounds {
  return {
    firstPid: config.get('rs.first_pid'),
    first: {
      filesmax: config.get('rs.filesmax'),
      spacemax: config.get('rs.spacemax_bytes'),
      fullsetsallowed: config.get('rs.fullsetsallowed'),
      bandwidth: config.get('rs.bandwidth_bytes_per_s'),
      priority: config.get('rs.priority'),
    },
    most: {
      filesmax: config.get('rs.most_filesmax'),
      spacemax: config.get('rs.most_spacemax_bytes'),
      fullsetsallowed: config.get('rs.most_fullsetsallowed'),
      bandwidth: config.get('rs.most_bandwidth_bytes_per_s'),
      priority: config.get('rs.most_priority'),
    },
    maxRoots: config.get('rs.max_roots'),
    providersPerRoot: config.get('rs.providers_per_root'),
    registrationsPerDay: config.get('rs.registrations_per_day'),
    operationsPerHour: config.get('rs.operations_per_hour'),
  };
}

export interface RsOperationsOptions {
  db: Db;
  store: Pick<QueueStore, 'transaction'>;
  bounds: RsBounds;
  clock: Clock;
  log: Log;
  /** What is known of a provider has changed. */
  changed: (pid: number) => void;
}

export class RsOperations {
  readonly #options: RsOperationsOptions;
  readonly #registered: RegisteredStore;

  constructor(options: RsOperationsOptions) {
    this.#options = options;
    this.#registered = new RegisteredStore(options.db);
  }

  /** Carries out a change, durably, or answers a question. @throws LccError as `QueueStore.transaction` */
  answer(ask: RsAsk): RsAnswer {
    return ask.id === undefined ? this.#tell(ask.question) : this.#change(ask.id, ask.change);
  }

  #change(id: string, change: RsChange): RsAnswer {
    const { store, log, changed } = this.#options;
    const { op, pid } = change;
    const { answer, isNew } = store.transaction(() => this.#once(id, change));
    if (!isNew) return answer;
    step('qm.rs.committed');
    log.info('operation of the Registration Server', {
      op,
      pid,
      refused: 'refused' in answer ? answer.text : undefined,
    });
    if ('ok' in answer) changed(pid);
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
    const answer = this.#refusalOf(change) ?? this.#carryOut(change);
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

  #whyLater({ op }: RsChange, nowS: number): string | undefined {
    const { operationsPerHour, registrationsPerDay } = this.#options.bounds;
    if (this.#registered.since(nowS - HOUR_S).all >= operationsPerHour)
      return `too many changes in an hour: the limit is ${limitText('rs.operations_per_hour', operationsPerHour)}`;
    if (op === 'register' && this.#registered.since(nowS - DAY_S).registrations >= registrationsPerDay)
      return `too many registrations in a day: the limit is ${limitText('rs.registrations_per_day', registrationsPerDay)}`;
    return undefined;
  }

  /** Why a change is refused for good; it has not begun. */
  #refusalOf(change: RsChange): RsAnswer | undefined {
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
    if (standing?.origin !== 'rs')
      return refused('unknown', `provider ${pid}: there is none that registered by itself`);
    switch (change.op) {
      case 'password':
        return change.generation === standing.generation
          ? undefined
          : refused('generation', `provider ${pid}: its password is number ${standing.generation}`);
      case 'root-add':
        return this.#rootsRefused(pid, this.#registered.rootsOf(pid), change.roots);
      case 'terms': {
        const above = termsAbove(change, bounds.most);
        return above === undefined
          ? undefined
          : refused('terms', `provider ${pid}: ${above} is more than rs.most_${above}… allows`);
      }
    }
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
          `others have registered ${root}, the limit is ${limitText('rs.providers_per_root', providersPerRoot)}`,
        );
    }
    return undefined;
  }

  #carryOut(change: RsChange): RsAnswer {
    const { first } = this.#options.bounds;
    const { pid } = change;
    switch (change.op) {
      case 'register': {
        const terms = { ...lowerOf(change, first), timeofday: change.timeofday ?? '' };
        this.#registered.add(pid, change.password, terms, change.roots);
        break;
      }
      case 'password':
        this.#registered.changePassword(pid, change.password);
        break;
      case 'root-add':
        this.#registered.addRoots(pid, change.roots);
        break;
      case 'terms': {
        const { op: _op, pid: _pid, ...terms } = change;
        this.#registered.changeTerms(pid, terms);
        break;
      }
    }
    const { generation = 0 } = this.#registered.standing(pid) ?? {};
    return { ok: { pid, generation } };
  }

  #tell(question: RsQuestion): RsAnswer {
    switch (question.op) {
      case 'find':
        return { ok: { pids: this.#around(question.url) } };
      case 'show':
        return { ok: { provider: this.#registered.show(question.pid) ?? null } };
      case 'status':
        return { ok: { providers: this.#registered.count } };
    }
  }

  /** Providers with a root around a url. */
  #around(url: string): number[] {
    if (rootProblem(url.replace(/[?#].*$/s, '')) !== undefined) return [];
    const { origin, pathname } = new URL(url);
    const parts = pathname.split('/');
    const above = parts.map((_, i) => `${origin}${parts.slice(0, i + 1).join('/')}`);
    const roots = above.flatMap(root => [root, `${root}/`]);
    return this.#registered
      .withRoots(roots)
      .filter(pid => createRootCheck(this.#registered.rootsOf(pid))(url));
  }
}

function refused(why: RsRefusal, text: string): RsAnswer {
  return { refused: why, text };
}

const NUMBERS = ['filesmax', 'spacemax', 'fullsetsallowed', 'bandwidth', 'priority'] as const;
type Numbers = Required<Omit<RsTerms, 'timeofday'>>;

/** A bandwidth of 0 has no limit. */
function isAbove(name: keyof Numbers, value: number, most: number): boolean {
  if (name !== 'bandwidth' || most === 0) return name !== 'bandwidth' && value > most;
  return value === 0 || value > most;
}

function termsAbove(terms: RsTerms, most: Numbers): string | undefined {
  return NUMBERS.find(name => {
    const value = terms[name];
    return value !== undefined && isAbove(name, value, most[name]);
  });
}

/** What is asked for, nowhere above `first`; what is not asked for, as `first` has it. */
function lowerOf(terms: RsTerms, first: Numbers): Numbers {
  const lower = { ...first };
  for (const name of NUMBERS) {
    const value = terms[name];
    if (value !== undefined && !isAbove(name, value, first[name])) lower[name] = value;
  }
  return lower;
}
