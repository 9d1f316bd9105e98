/**
 * The Queue Manager's promises as a program of a page (semantics.md, rules 1 to 5, 7, 10 to 12, 14, 17, 18). The real one
 * is held against it by pair.ts. A crash changes nothing here but what `restarted` says: that is the promise.
 *
 * Where the rules leave a choice, the model says what is allowed and the real one chooses: when the turn of a deleted
 * row comes (`mayGo`), in which order a full set removes what it does not name (`mayGo`, `mayLose`).
 */
import { forget, jump, leastUntilMs, leave, restart, save } from './model-backoff.js';
import {
  NOTHING_SAVED,
  type FusedSet,
  type Terms,
  type Url,
  type ProviderSet,
  type Row,
  type Held,
  type Words,
  type Provider,
  type Now,
  type Sent,
  type Result,
  type Rules,
} from './model-types.js';
import { agrees, confirmed, cure, keptOf, saysNothing } from './model-words.js';

export type * from './model-types.js';

export class Model {
  readonly providers = new Map<number, Provider>();
  /** Urls waiting or being fetched, in the order of their places. */
  rows: Row[] = [];
  readonly held = new Map<string, Held>();
  /** Complete sets: only their urls are fetched. */
  readonly complete = new Set<number>();
  /** Full sets with all urls absorbed: what they did not name is being removed. */
  readonly ending = new Map<number, ProviderSet>();
  /** Full sets with removals that the fuse holds back, or that are released and being carried out. */
  readonly fused = new Map<number, FusedSet>();
  /** Changes of the LCC DB so far: the last number of the change sequence. */
  changes = 0;
  readonly #rules: Rules;

  constructor(rules: Rules, terms: readonly Terms[]) {
    this.#rules = rules;
    for (const one of terms) {
      const site = { silent: false, ...NOTHING_SAVED, afterJumpMs: Infinity, saved: { ...NOTHING_SAVED } };
      this.providers.set(one.pid, { ...one, paused: false, wanted: false, errors: [], nurlerrs: 0, ...site });
    }
  }

  /** One url of a set is absorbed. @param refused over quota: it is reported instead (rule 14) */
  absorb(set: ProviderSet, url: Url, place: number, refused?: number): void {
    const row = this.rowOf(set.pid, url.key);
    const held = this.heldOf(set.pid, url.key);
    if (url.op === 'delete') {
      if (row?.op === 1) Object.assign(row, { op: 0, gen: row.gen + 1, named: set.id });
      if (held !== undefined) this.#letGo(held);
      return;
    }
    if (held !== undefined && set.full) held.named = set.id;
    if (row?.op === 1 && url.ifabsent) {
      row.named = set.id;
    } else if (row !== undefined) {
      // The first place is kept; the last operation and attributes win. A url that failed stays after the others.
      row.most = Math.max(row.most, url.len ?? 0);
      row.passed ||= row.op === 0 || row.tod !== undefined;
      const { len, md5, mtime, tod } = url;
      Object.assign(row, { op: 1, gen: row.gen + 1, len, md5, mtime, tod, named: set.id });
      if (row.tries > 1) Object.assign(row, { tries: 1, dueMs: 0 });
    } else if (held !== undefined && url.ifabsent) {
      held.named = set.id;
    } else if (held !== undefined && !saysNothing(url) && agrees(url, held)) {
      this.#confirm(held, url, set.id);
    } else if (refused !== undefined) {
      this.#report(set.pid, url.key, refused);
      // Named all the same: what is held of it stays when an earlier set's removals are released.
      if (held !== undefined) held.named = set.id;
    } else {
      const fresh = {
        gen: 1,
        op: 1 as const,
        tries: 0,
        dueMs: 0,
        out: false,
        heard: false,
        passed: false,
        early: false,
        behind: this.provider(set.pid).silent,
      };
      const { key, len, md5, mtime, tod } = url;
      this.rows.push({
        place,
        set: set.id,
        pid: set.pid,
        key,
        named: set.id,
        len,
        md5,
        mtime,
        most: len ?? 0,
        tod,
        ...fresh,
      });
    }
  }

  /** The set counts. What a full one did not name is gone. */
  finish(set: ProviderSet): void {
    this.complete.add(set.id);
    if (!set.full) return;
    this.#removeUnnamed(set);
    this.#settle(set);
  }

  /** The fuse: the full set counts, what it did not name stays until the operator, or the same set again, says so. */
  hold(set: ProviderSet, digest: string): void {
    this.complete.add(set.id);
    this.ending.delete(set.id);
    this.#settle(set);
    this.fused.set(set.id, { ...set, digest, released: false });
    this.#report(set.pid, ALL, 205);
  }

  /** Whether a full set removes more content than the fuse lets pass; `slack`: what may have changed since. */
  isTooMuch(set: ProviderSet, slack: number): boolean {
    const { percent, urls } = this.#rules.fuse;
    if (percent >= 100) return false;
    const { files } = this.uses(set.pid);
    const removed = [...this.held.values()].filter(held => this.#leavesOut(set, held)).length;
    return removed + slack > Math.max(urls, ((files + slack) * percent) / 100);
  }

  /** The operator lets go of what is held back of a provider, or forgets it. */
  decide(pid: number, release: boolean): void {
    for (const set of this.fused.values()) {
      if (set.pid !== pid || set.released) continue;
      set.released = release;
      if (release) this.ending.set(set.id, set);
      else this.fused.delete(set.id);
    }
  }

  /** A released set has been carried out; what later sets named is left alone. */
  carriedOut(set: ProviderSet): void {
    this.#removeUnnamed(set);
    this.fused.delete(set.id);
  }

  /** Its rest is unreadable and will not come: what there is of it counts, a full set is wanted instead. */
  cutShort(set: ProviderSet): void {
    this.complete.add(set.id);
    this.ending.delete(set.id);
  }

  /** Whether a row may vanish: it asks for nothing, or a full set did not name it. */
  mayGo(row: Row): boolean {
    return row.op === 0 || this.#unnamed(row);
  }

  /** Whether content may vanish. */
  mayLose(held: Held): boolean {
    return this.#unnamed(held);
  }

  /** Content that vanished as it may. */
  lost(held: Held): void {
    this.#letGo(held);
  }

  /**
   * Why the row must not be sent now; undefined: it may. `hour` is the local hour of the day, `soon` that in a moment: what
   * may be fetched for that moment only is not begun any more, nor waited for.
   */
  refusal(row: Row, nowMs: number, hour: number, soon: number): string | undefined {
    const provider = this.provider(row.pid);
    if (row.op === 0) return 'it was deleted';
    if (row.out) return 'it is being fetched';
    if (!this.complete.has(row.set)) return 'its set is not complete';
    if (provider.paused) return 'its provider is paused';
    if (leastUntilMs(provider) > nowMs) return 'its site is left alone';
    if (!this.permits(row, hour)) return 'this is not its hour';
    if (row.dueMs > nowMs) return 'it failed and is not due';
    for (const other of this.rows) {
      if (other.pid !== row.pid || other === row || other.op === 0) continue;
      if (other.out && !other.heard && provider.failures > 0)
        return 'its site is being tried with another url';
      // Of hosts that do not answer, where there are others, nothing comes first.
      if (other.behind || row.behind) continue;
      if (other.out || other.tries > 0 || other.passed || !this.complete.has(other.set)) continue;
      if (row.early || !this.permits(other, hour) || !this.permits(other, soon)) continue;
      // A url that has failed need not wait for those with an hour that has only just come.
      if (row.tries > 0 && other.tod !== undefined) continue;
      if (row.tries === 0 ? other.place < row.place : other.set === row.set)
        return `${other.key} comes first`;
    }
    return undefined;
  }

  /** Whether the provider and the url itself may be fetched from at this hour of the day (rule 10). */
  permits({ pid, tod }: Pick<Row, 'pid' | 'tod'>, hour: number): boolean {
    if (this.provider(pid).mask[hour] === '0') return false;
    if (tod === undefined) return true;
    const [from = 0, to = from] = tod.split('-').map(Number);
    return from <= to ? from <= hour && hour <= to : hour >= from || hour <= to;
  }

  /** Whether a url may be refused for its provider's quota: what is held, waits and came with its set breaks it. */
  mayRefuse(pid: number, code: number, came: readonly Url[]): boolean {
    const waiting = this.rows.filter(row => row.pid === pid);
    let { files, space } = this.uses(pid);
    files += waiting.length + came.length;
    for (const { most } of waiting) space += most;
    for (const { len } of came) space += len ?? 0;
    const { filesmax, spacemax } = this.provider(pid);
    return code === 202 ? files > filesmax : space > spacemax;
  }

  /** A result is there: a site that does not answer is left alone at once, longer each time (rule 11). */
  heard(sent: Sent, result: Result, now: Now): void {
    for (const row of this.rows) if (row.place === sent.place) row.heard = true;
    this.#heardOfHost(sent.pid, result);
    if (result.is !== 'error') return;
    const { backoffMinMs, backoffMaxMs } = this.#rules;
    const provider = this.provider(sent.pid);
    let waitMs = result.retryAfterMs ?? 0;
    // Further failures of the same outage count once.
    if (result.reach === 'provider' && sent.failures === provider.failures)
      waitMs = backoffMinMs * 2 ** provider.failures++;
    if (waitMs === 0) return;
    leave(provider, now, Math.min(waitMs, backoffMaxMs));
  }

  /** Where a provider has several hosts, those that answer go before the one that does not. */
  #heardOfHost(pid: number, result: Result): void {
    const provider = this.provider(pid);
    provider.silent = provider.isSpread && result.is === 'error' && result.reach === 'provider';
    if (!provider.silent) return;
    for (const row of this.rows) row.behind ||= row.pid === pid;
  }

  /** It was not fetched: as if it had never been sent. */
  givenBack(row: Row): void {
    Object.assign(row, { out: false, early: row.tries > 0 });
  }

  /** A result is written. */
  answer(sent: Sent, result: Result, now: Now): void {
    const provider = this.provider(sent.pid);
    const siteAnswers = result.is !== 'error' || result.reach !== 'provider';
    if (siteAnswers && provider.failures > 0 && sent.failures === provider.failures) {
      // It answers; that may be that it wants to be left alone.
      const patience = result.is === 'error' && result.retryAfterMs !== undefined;
      Object.assign(provider, { failures: 0, ...(patience ? {} : { untilMs: 0, untilWallMs: 0 }) });
    }
    save(provider, now);
    const row = this.rows.find(r => r.place === sent.place);
    if (row === undefined) return;
    row.out = row.heard = row.early = false;
    // What came meanwhile wins: a delete, or an update that makes it be fetched again (rule 12).
    if (row.op === 0) return this.drop(row);
    if (row.gen !== sent.gen) return this.givenBack(row);
    const held = this.heldOf(row.pid, row.key);
    if (result.is === 'ok') return this.#store(row, held, result);
    if (result.is === 'unchanged' && sent.conditional) {
      if (held === undefined) return;
      this.#confirm(held, row, row.named);
      cure(provider, row.key);
      return this.drop(row);
    }
    const { code, reach } = result.is === 'unchanged' ? { code: 611, reach: 'url' as const } : result;
    if (reach === 'provider') return this.givenBack(row);
    if (reach === 'url' && row.tries < this.#rules.retries) {
      row.dueMs = now.ms + this.#rules.retryDelayMs * 2 ** row.tries++;
      return;
    }
    if (held !== undefined) this.#letGo(held);
    this.#report(row.pid, row.key, code);
    this.drop(row);
  }

  /** The CP has received its first `count` kept errors; with the last of them, of how many it is told in all. */
  delivered(pid: number, count: number): void {
    const provider = this.provider(pid);
    const { length } = provider.errors.splice(0, count);
    if (length > 0) provider.nurlerrs = provider.errors.length === 0 ? 0 : provider.nurlerrs - length;
  }

  /** The wall clock was set; whether anybody looked at it since it was set before is not known. */
  jumped(byMs: number): void {
    for (const provider of this.providers.values()) jump(provider, byMs);
  }

  /** What a restart forgets: what was on its way, and how long failed urls are left alone. Sites it remembers. */
  restarted(now: Now): void {
    for (const row of this.rows)
      Object.assign(row, { out: false, heard: false, passed: false, early: false, behind: false, dueMs: 0 });
    for (const provider of this.providers.values()) {
      restart(provider, now, this.#rules.backoffMaxMs);
      provider.silent = false;
    }
  }

  /** The operator's `flush`. */
  flush(pid: number): void {
    forget(this.provider(pid));
    for (const row of this.rows) if (row.pid === pid) row.dueMs = 0;
  }

  rowOf(pid: number, key: string): Row | undefined {
    return this.rows.find(r => r.pid === pid && r.key === key);
  }
  heldOf(pid: number, key: string): Held | undefined {
    return this.held.get(`${pid} ${key}`);
  }
  provider(pid: number): Provider {
    const found = this.providers.get(pid);
    if (found === undefined) throw new Error(`no provider ${pid}`);
    return found;
  }
  /** Files and bytes held of a provider. */
  uses(pid: number): { files: number; space: number } {
    let files = 0;
    let space = 0;
    for (const held of this.held.values()) {
      if (held.pid !== pid) continue;
      files++;
      space += held.len;
    }
    return { files, space };
  }
  drop(row: Row): void {
    this.rows = this.rows.filter(r => r !== row);
  }

  #store(row: Row, held: Held | undefined, { len, file }: Extract<Result, { is: 'ok' }>): void {
    const { files, space } = this.uses(row.pid);
    const { filesmax, spacemax } = this.provider(row.pid);
    const growth = len - (held?.len ?? 0);
    this.drop(row);
    if (held === undefined && files + 1 > filesmax) return this.#report(row.pid, row.key, 202);
    if (growth > 0 && space + growth > spacemax) return this.#report(row.pid, row.key, 203);
    const { pid, key, named } = row;
    cure(this.provider(pid), key);
    const isSame = held?.len === len;
    const kept = keptOf(row, len, held);
    // Bytes that are held are no change, and the new file is nobody's.
    if (isSame) Object.assign(held, kept, { named });
    else this.held.set(`${pid} ${key}`, { pid, key, len, ...kept, named, file });
    if (!isSame) this.changes++;
  }

  #confirm(held: Held, said: Words, named: number): void {
    Object.assign(held, confirmed(held, said), { named });
  }

  #letGo(held: Held): void {
    this.held.delete(`${held.pid} ${held.key}`);
    this.changes++;
  }

  #report(pid: number, key: string, code: number): void {
    const provider = this.provider(pid);
    provider.nurlerrs++;
    // Errors reported to a CP at a login are not the ones that come after it: the newest is always kept.
    if (provider.errors.length >= this.#rules.errorsKept) provider.errors.pop();
    provider.errors.push({ code, key });
  }

  #unnamed(what: Row | Held): boolean {
    return [...this.ending.values()].some(set => this.#leavesOut(set, what));
  }

  /** Whether a full set, and every later one, does not name it. */
  #leavesOut({ pid, id }: ProviderSet, what: Row | Held): boolean {
    if (what.pid !== pid || what.named >= id) return false;
    return (this.rowOf(pid, what.key)?.named ?? 0) < id;
  }

  #removeUnnamed(set: ProviderSet): void {
    this.rows = this.rows.filter(row => !this.#leavesOut(set, row));
    for (const held of this.held.values()) if (this.#leavesOut(set, held)) this.#letGo(held);
    this.ending.delete(set.id);
  }

  /** A full set fulfils the wish for one, and settles what earlier ones would have removed. */
  #settle({ pid, id }: ProviderSet): void {
    this.provider(pid).wanted = false;
    for (const earlier of this.fused.values()) {
      if (earlier.pid !== pid || earlier.id >= id) continue;
      this.fused.delete(earlier.id);
      this.ending.delete(earlier.id);
    }
  }
}

/** What a held set is reported for. */
const ALL = ' */*';
