/**
 * What the Queue Manager promises of urls that nobody announced, beside those of their owner (spidering.md, sections 0, 2, 3):
 * one provider, its queue, what is held and known. The real one is held against it by model-unasked-pair.ts. Where a choice is
 * left, in which turn a row goes without a request, the real one chooses (`mayGo`).
 */
import { agrees, confirmed, cure, keptOf, saysNothing } from './model-words.js';
import type { Held as Words, Url as Said } from './model-types.js';
import {
  ANY,
  type Beside,
  isGated,
  isRefresh,
  neverFailed,
  NO_WORDS,
  viewOf,
  visited,
  type AnySet,
  type Held,
  type Known,
  type Result,
  type Row,
  type Url,
} from './model-unasked-types.js';

const DAY_S = 86_400;
export const FORBIDDEN = 615;
const NOINDEX = 618;

export class UnaskedModel {
  rows: Row[] = [];
  held: Held[] = [];
  readonly known = new Map<string, Known>();
  /** Errors that the owner is told. */
  readonly owner = { errors: [] as { code: number; key: string }[], nurlerrs: 0 };
  changes = 0;
  /** What its owner announced and was not held before; what was found gone. */
  readonly counts = { fresh: 0, removed: 0 };
  readonly #retries: number;
  /** Of a page at the last unasked look that found one changed: its length before and after, which is all of its bytes. */
  #lastChange: { from: number; to: number } | undefined;

  constructor(retries: number) {
    this.#retries = retries;
  }

  /** @param beside the number and the places of a set that is made beside it */
  absorb(set: AnySet, urls: readonly Url[], firstPlace: number, nowS: number, beside: Beside): void {
    let views: Row[] = [];
    urls.forEach((url, index) => {
      if (set.kind === 0) this.#announced(set, url, firstPlace + index, views);
      else if (set.kind === 1) this.#pushed(set, url, firstPlace + index, views);
      else this.#found(set, url, firstPlace + index, nowS);
      // Further rows of its pages are a set of their own at the end of each slice.
      if ((index + 1) % beside.sliceUrls !== 0 && index + 1 < urls.length) return;
      const id = views.length === 0 ? 0 : beside.set();
      for (const row of views) this.rows.push({ ...row, place: beside.place(), set: id, named: id });
      views = [];
    });
    if (!set.full) return;
    const isUnnamed = (row: Row) => row.kind === 0 && row.named < set.id;
    this.rows = this.rows.filter(row => !isUnnamed(row));
    for (const held of this.held.filter(one => one.hops === null && one.named < set.id)) {
      const isNamed = this.rows.some(row => row.kind === 0 && isOf(row, held) && row.named >= set.id);
      if (!isNamed) this.#letGo(held);
    }
  }

  /** Of a page with several types that is announced as served each is meant. */
  #announced(set: AnySet, url: Url, place: number, views: Row[]): void {
    const { curl, type } = url;
    const held = this.held.filter(one => one.curl === curl).toSorted((a, b) => (a.type < b.type ? -1 : 1));
    const isOfAll = type === ANY && url.op !== 'delete' && url.ifabsent !== true;
    const [first, ...others] = held;
    if (!isOfAll || first === undefined || others.length === 0 || held.some(one => one.served === 1))
      return this.#said(set, url, place, views);
    this.#said(set, { ...url, type: first.type }, place, views);
    for (const other of others) {
      if (set.full) other.named = Math.max(other.named, set.id);
      const row = this.rowOf(curl, other.type);
      if (row?.kind === 0) {
        this.#saidAgain(row, set, url);
        continue;
      }
      this.rows = this.rows.filter(one => one !== row);
      const view = viewOf(views, curl, other.type);
      if (view !== undefined) {
        view.len = url.len;
        continue;
      }
      const own = { op: 1 as const, tries: 0, gen: 1, place, set: set.id, named: set.id, kind: set.kind };
      views.push({ ...own, curl, type: other.type, len: url.len, ifabsent: false, hops: null });
    }
  }

  /** Its owner's word. */
  #said(set: AnySet, url: Url, place: number, views: Row[]): void {
    const { curl, type } = url;
    const row = this.rowOf(curl, type);
    const same = this.#find(curl, type);
    const view = viewOf(views, curl, type);
    if (url.op === 'delete') {
      if (view !== undefined) views.splice(views.indexOf(view), 1);
      if (row?.op === 1) Object.assign(row, { op: 0, gen: row.gen + 1, named: set.id });
      if (same !== undefined) this.#letGo(same);
      return;
    }
    this.known.delete(curl);
    const held = same ?? (type === ANY && url.ifabsent ? this.#any(curl) : undefined);
    const own = row?.kind === 0 ? row : view;
    if (url.ifabsent && own?.op === 1) {
      own.named = set.id;
      if (held !== undefined) held.named = set.id;
      return;
    }
    if (held !== undefined && url.ifabsent) {
      held.named = set.id;
      return;
    }
    if (held !== undefined && own === undefined && !saysNothing(url) && agrees(url, held.belief)) {
      Object.assign(held.belief, confirmed(held.belief, url));
      Object.assign(held, { named: set.id, served: type === ANY ? 1 : 0, hops: null });
      return;
    }
    if (held !== undefined && set.full) held.named = set.id;
    if (view !== undefined) views.splice(views.indexOf(view), 1);
    if (row?.kind === 0) this.#saidAgain(row, set, url);
    else this.#wait(row, set, url, place);
  }

  /** What waits in its owner's name has his last words. */
  #saidAgain(row: Row, set: AnySet, { len, ifabsent = false }: Url): void {
    const again = { op: 1, gen: row.gen + 1, len, ifabsent, named: set.id, tries: Math.min(row.tries, 1) };
    Object.assign(row, again);
  }

  /** Each row that is held of a page is looked at, or the page; what waits is asked for as of now. */
  #pushed(set: AnySet, { curl }: Url, place: number, views: Row[]): void {
    const held = this.held.filter(one => one.curl === curl).toSorted((a, b) => (a.type < b.type ? -1 : 1));
    const owners = this.rows.filter(one => one.curl === curl && one.kind === 0 && one.op === 1);
    if (held.length === 0 && owners.length > 0) return owners.forEach(one => one.gen++);
    const types = held.length === 0 ? [ANY] : held.map(one => (one.served === 1 ? ANY : one.type));
    const fresh = types.filter(type => {
      const row = this.rowOf(curl, type);
      const waits = row?.op === 1 && row.kind <= 1;
      if (waits) row.gen++;
      else this.rows = this.rows.filter(one => one !== row);
      return !waits && viewOf(views, curl, type) === undefined;
    });
    fresh.forEach((type, index) => {
      const { id, kind } = set;
      const own = { op: 1 as const, tries: 0, gen: 1, place, set: id, named: id, kind };
      const row: Row = { ...own, curl, type, len: undefined, ifabsent: false, hops: 0 };
      if (index === 0) this.rows.push(row);
      else views.push(row);
    });
  }

  /** What nobody announced changes nothing of what waits or is held. */
  #found(set: AnySet, url: Url, place: number, nowS: number): void {
    const { curl, type } = url;
    const row = this.rowOf(curl, type);
    if (url.op === 'delete') {
      const held = this.#find(curl, type);
      const isMeant = set.kind === 2 && held?.hops != null && held.belief.len === url.md5;
      if (!isMeant || row !== undefined || this.rowOf(curl, ANY) !== undefined) return;
      this.#letGo(held);
      this.#note(curl, held.hops, NOINDEX, 30 * DAY_S, false, nowS);
      return;
    }
    const { hops = null, ifabsent = false } = url;
    // A person gives it: only what the site wishes still counts.
    const isWished = [FORBIDDEN, NOINDEX].includes(this.known.get(curl)?.code ?? 0);
    if (set.kind === 2 && hops === 0 && !isWished) this.known.delete(curl);
    if (row?.op === 1) return;
    const asked = { kind: set.kind, curl, type, hops, ifabsent };
    if (!this.isNeedless(asked, nowS)) this.#wait(row, set, url, place);
  }

  #wait(before: Row | undefined, set: AnySet, url: Url, place: number): void {
    // What an owner announces that waited as found is his, at his place, and what is on its way for it does not count.
    const gen = set.kind === 0 && before !== undefined ? before.gen + 1 : 1;
    this.rows = this.rows.filter(row => row !== before);
    const { curl, type, len, ifabsent = false, hops = null } = url;
    const { id, kind } = set;
    const fresh = { op: 1 as const, tries: 0, gen, place, set: id, named: id, kind };
    this.rows.push({ ...fresh, curl, type, len, ifabsent, hops: kind === 0 ? null : hops });
  }

  /** Whether what nobody announced need not be fetched. */
  isNeedless(
    row: Pick<Row, 'kind' | 'curl' | 'type' | 'hops' | 'ifabsent'>,
    nowS: number,
    isArrived = false,
  ): boolean {
    if (row.kind === 0) return false;
    if (isRefresh(row)) return this.#find(row.curl, row.type) === undefined;
    if (!row.ifabsent) return false;
    if (this.#any(row.curl) !== undefined) return true;
    const isAnnounced = this.rows.some(r => r.curl === row.curl && r.kind === 0 && r.op === 1);
    return !isArrived && (isAnnounced || (this.known.get(row.curl)?.untilS ?? 0) > nowS);
  }

  /** The row has vanished without a request. @returns false: it must not */
  mayGo(row: Row, nowS: number, isForbidden: boolean): boolean {
    if (row.op === 1 && !this.isNeedless(row, nowS)) {
      if (!isForbidden || !isGated(row)) return false;
      this.#forbidden(row, nowS);
    }
    this.#drop(row);
    return true;
  }

  answer(sent: { place: number; gen: number; conditional: boolean }, result: Result, nowS: number): void {
    const row = this.rows.find(one => one.place === sent.place);
    if (row === undefined) return;
    if (row.op === 0) return this.#drop(row);
    if (row.gen !== sent.gen) return;
    if (result.is === 'ok') return this.#store(row, result, nowS);
    if (result.is === 'redirect') return this.#redirect(row, result, nowS);
    if (result.is === 'unchanged') {
      const held = this.#find(row.curl, row.type);
      if (held === undefined) return;
      this.#confirm(row, held, confirmed(held.belief, row), nowS);
      return this.#drop(row);
    }
    const { code, reach } = result;
    // It is asked for again.
    if (reach === 'provider') return;
    if (reach === 'url' && row.tries < this.#retries) {
      row.tries++;
      return;
    }
    this.#drop(row);
    if (row.kind !== 0) return this.#foundFailed(row, code, reach, nowS);
    const held = this.#find(row.curl, row.type);
    if (held !== undefined) this.#letGo(held);
    this.owner.errors.push({ code, key: `${row.curl} ${row.type}` });
    this.owner.nurlerrs++;
  }

  rowOf(curl: string, type: string): Row | undefined {
    return this.rows.find(row => row.curl === curl && row.type === type);
  }

  heldOf(row: Pick<Row, 'curl' | 'type'>): Held | undefined {
    return this.#find(row.curl, row.type);
  }

  #store(row: Row, { len, type: served, file }: Extract<Result, { is: 'ok' }>, nowS: number): void {
    this.#drop(row);
    const { curl } = row;
    const type = row.type === ANY ? served : row.type;
    const before = this.#find(curl, row.type);
    const same = this.#find(curl, type);
    if (this.isNeedless(row, nowS, true)) return;
    const held = same ?? before;
    const named = row.kind !== 0 && held?.hops === null ? held.named : row.named;
    const claim =
      row.kind === 0
        ? { served: row.type === ANY ? (1 as const) : (0 as const), hops: null }
        : (held ?? { served: row.type === ANY ? (1 as const) : (0 as const), hops: row.hops });
    const { served: isServed, hops } = claim;
    if (before !== undefined && before !== same) this.#letGo(before);
    const belief = { ...NO_WORDS, len, ...keptOf(row, len, same?.belief) };
    if (held === undefined && row.kind === 0) this.counts.fresh++;
    const fresh = { belief, named, served: isServed, hops, ...neverFailed(nowS), visits: 0, changes: 0 };
    // Bytes that are held are no change, and the new file is nobody's.
    const isChanged = same?.belief.len !== len;
    this.#becameAsOthers(row, held, len);
    if (same === undefined) this.held.push({ curl, type, file, ...fresh });
    else Object.assign(same, fresh, visited(same, isChanged), isChanged ? { file } : {});
    if (isChanged) this.changes++;
    cure(this.owner, `${curl} ${row.type}`);
    if (row.kind !== 0) this.known.delete(curl);
  }

  /** Pages that differed and are the same now count as gone, where nobody had announced them and it is no audit. */
  #becameAsOthers(row: Row, held: Held | undefined, to: number): void {
    if (row.kind === 0 || row.kind === 4 || held === undefined || held.belief.len === to) return;
    const from = held.belief.len;
    if (this.#lastChange?.to === to && this.#lastChange.from !== from) this.counts.removed++;
    this.#lastChange = { from, to };
  }

  /** What was in memory is gone. */
  crashed(): void {
    this.#lastChange = undefined;
  }

  #confirm(row: Row, held: Held, belief: Pick<Words, 'wrong' | 'doubted'>, nowS: number): void {
    Object.assign(held.belief, belief);
    if (row.kind === 0 || held.hops !== null) held.named = row.named;
    if (row.kind === 0) Object.assign(held, { served: row.type === ANY ? 1 : 0, hops: null });
    else this.known.delete(row.curl);
    Object.assign(held, neverFailed(nowS), visited(held, false));
    cure(this.owner, `${row.curl} ${row.type}`);
  }

  #foundFailed(row: Row, code: number, reach: 'real' | 'url', nowS: number): void {
    const same = this.#find(row.curl, row.type);
    const held = same ?? (isRefresh(row) ? undefined : this.#any(row.curl));
    if (held === undefined && row.kind === 1) return;
    if (held === undefined) {
      if (this.#any(row.curl) !== undefined) return;
      if (code === 303) this.#note(row.curl, row.hops, code, 30 * DAY_S, false, nowS);
      else this.#note(row.curl, row.hops, code, reach === 'real' ? 7 * DAY_S : DAY_S, true, nowS);
    } else if ((row.kind === 1 && [404, 410].includes(code)) || this.#isGone(held, code, nowS)) {
      this.counts.removed++;
      this.#letGo(held);
      // Half a day, which is doubled four times.
      this.#note(row.curl, held.hops, code, 7 * DAY_S, true, nowS, -3);
    }
  }

  #forbidden({ curl, type, hops }: Row, nowS: number): void {
    const held = this.#find(curl, type) ?? this.#any(curl);
    const before = this.known.get(curl);
    const askedS = before?.code === FORBIDDEN ? before.askedS : nowS;
    this.#note(curl, hops, FORBIDDEN, DAY_S, false, nowS);
    Object.assign(this.known.get(curl) ?? {}, { askedS });
    if (held !== undefined && held.hops !== null && nowS - askedS >= 30 * DAY_S) this.#letGo(held);
  }

  #redirect(row: Row, { http, to, inside }: Extract<Result, { is: 'redirect' }>, nowS: number): void {
    const { curl } = row;
    const held = this.#any(curl);
    const there = inside ? this.#any(to) : undefined;
    const isMoved = held !== undefined && held.hops !== null && (http === 301 || http === 308);
    // Nothing is lost with a page whose bytes are held where it leads.
    const isCopy = isMoved && there !== undefined && there !== held && there.belief.len === held.belief.len;
    const goes = held !== undefined && (isMoved || this.#isGone(held, http, nowS));
    const isLost = goes && !isCopy;
    if (isLost) this.counts.removed++;
    if (goes) this.#letGo(held);
    // Asked, and not held: a link to it is not asked for again.
    if (held === undefined || goes)
      this.#note(curl, row.hops, http, 7 * DAY_S, isLost, nowS, isLost ? -3 : undefined);
    const isNews =
      inside &&
      to !== curl &&
      there === undefined &&
      (this.known.get(to)?.untilS ?? 0) <= nowS &&
      !this.rows.some(one => one.curl === to);
    if (!isNews) return this.#drop(row);
    Object.assign(row, { curl: to, type: ANY, gen: row.gen + 1, tries: 0, len: undefined, ifabsent: true });
  }

  /** 410; 404 twice, an hour apart; five failures in a row over seven days. */
  #isGone(held: Held, code: number, nowS: number): boolean {
    if (code === 410) return true;
    const isSecond = code === 404 && held.failed === 404;
    if (isSecond && nowS - held.checkedS >= 3600) return true;
    const sinceS = held.fails === 0 ? nowS : held.sinceS;
    if (held.fails + 1 >= 5 && nowS - sinceS >= 7 * DAY_S) return true;
    const checkedS = isSecond ? held.checkedS : nowS;
    Object.assign(held, { fails: held.fails + 1, failed: code, sinceS, checkedS });
    return false;
  }

  #note(
    curl: string,
    hops: number | null,
    code: number,
    termS: number,
    doubles: boolean,
    nowS: number,
    first?: number,
  ) {
    const before = this.known.get(curl);
    const times = first ?? (before?.code === code ? before.times + 1 : 1);
    const lastsS = doubles ? Math.min(90 * DAY_S, termS * 2 ** (times - 1)) : termS;
    this.known.set(curl, { code, times, hops, askedS: nowS, untilS: nowS + lastsS });
  }

  #letGo(held: Held): void {
    this.held = this.held.filter(one => one !== held);
    this.changes++;
  }

  #drop(row: Row): void {
    this.rows = this.rows.filter(one => one !== row);
  }

  /** As served: the row that was. */
  #find(curl: string, type: string): Held | undefined {
    return this.held.find(one => one.curl === curl && (type === ANY ? one.served === 1 : one.type === type));
  }

  #any(curl: string): Held | undefined {
    return this.held.filter(one => one.curl === curl).toSorted((a, b) => (a.type < b.type ? -1 : 1))[0];
  }
}

/** Whether what is held need not come again for these words. */
export const isAgreed = (row: Pick<Said, 'len'>, held: Held | undefined): boolean =>
  held !== undefined && agrees(row, held.belief);

function isOf(row: Row, held: Held): boolean {
  return row.curl === held.curl && (row.type === held.type || (row.type === ANY && held.served === 1));
}
