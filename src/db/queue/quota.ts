/**
 * Quotas at intake, as far as announced lengths tell (semantics.md, rule 14): by how much a provider's
 * content will grow when everything that waits, and everything its set queues, arrives as announced. A full
 * set starts from nothing, since what it does not name goes.
 *
 * Between two settlements sums are upper bounds (a url that waits already counts again); only when they come
 * near the limit must they be made exact, so that a set well within its quota costs no look-ups.
 */
import type { Held } from '../cache/content.js';
import type { ProviderUse } from '../cache/tally.js';
import { quotaText } from '../../wire/codes.js';
import { SqlStore } from '../sqlite/sql-store.js';
import type { SetState } from './absorbed.js';
import { isSameUrl, UNASKED, type QueuedUrl } from './row.js';

type SetPlaces = Pick<SetState, 'pid' | 'psetid' | 'firstpos' | 'lastpos'>;

/** Growth so far, kept with the set across restarts. */
interface Growth {
  files: number;
  space: number;
}

/** A provider that was removed. */
const UNLIMITED = { filesmax: Infinity, spacemax: Infinity, filesused: 0, spaceused: 0, enforced: false };

/** With more urls waiting, what they need is not summed up (25 ms): the quota is kept when their content
 * arrives. */
export const MAX_SUMMED = 20_000;

/**
 * The need of the rows that wait, but for those with places from … to …; `isToo` says which of them count.
 */
const growthOf = (isToo: string) => `SELECT count(*) FILTER (WHERE l.id IS NULL) AS files,
    total(max(0, coalesce(qdb.len, l.len, 0) - coalesce(l.len, 0))) AS space
  FROM qdb LEFT JOIN lccurl AS l ON (l.pid, l.curl) = (qdb.pid, qdb.curl) AND ${isSameUrl('qdb', 'l')}
  WHERE qdb.pid = ? AND op = 1 AND ${isToo} AND pos NOT BETWEEN ? AND ?`;
/** Urls that nobody announced take no room from those that their owner announces. */
export const WAITING_GROWTH = growthOf(`flags & ${UNASKED} = 0`);
const WHOLE_GROWTH = growthOf('TRUE');
const NOTHING: Growth = { files: 0, space: 0 };

/**
 * The needs of the sets before the one being taken, of each provider. Upper bounds that cost nothing serve
 * until one of them would refuse a url; then the rows that wait are summed up, once a set: from then on what
 * is needed only becomes what is used.
 */
export class EarlierSets extends SqlStore {
  readonly #selectWaiting = this.sql.value<[pid: number], number>('SELECT nurlproc FROM pidb WHERE pid = ?');
  readonly #sumWaiting = this.db.prepare<[number, number, number], Growth>(WAITING_GROWTH);
  readonly #sumWhole = this.db.prepare<[number, number, number], Growth>(WHOLE_GROWTH);
  /** By provider: bytes that what waits needs at most; unknown after a start. */
  readonly #space = new Map<number, number>();
  /** By provider: what was used and needed when it was summed up for a set. */
  readonly #summed = new Map<number, Growth & { psetid: number }>();

  /** Most that they need; rows of the set itself may be counted in. */
  bound({ pid, psetid }: SetPlaces, use: ProviderUse): Growth {
    const summed = this.#summed.get(pid);
    if (summed?.psetid === psetid) return stillNeeded(summed, use);
    const files = this.#selectWaiting(pid) ?? 0;
    if (files === 0) this.#space.set(pid, 0);
    return files === 0 ? NOTHING : { files, space: this.#space.get(pid) ?? Infinity };
  }

  /** Their need, without the set's own rows; nothing when too many wait, but for a set that nobody announced,
   * for which all that waits counts then. */
  sum(set: SetPlaces, use: ProviderUse, isUnasked: boolean): Growth {
    const { pid, psetid, firstpos, lastpos } = set;
    const summed = this.#summed.get(pid);
    if (summed?.psetid === psetid) return stillNeeded(summed, use);
    const waiting = this.#selectWaiting(pid) ?? 0;
    const isFew = waiting <= MAX_SUMMED;
    const many = isUnasked ? { files: waiting, space: 0 } : NOTHING;
    const sum = isUnasked ? this.#sumWhole : this.#sumWaiting;
    const need = (isFew ? sum.get(pid, firstpos, lastpos) : undefined) ?? many;
    if (isFew) this.#space.set(pid, need.space);
    this.#summed.set(pid, {
      psetid,
      files: use.filesused + need.files,
      space: use.spaceused + need.space,
    });
    return need;
  }

  /** The set being taken has removed content. */
  removed(pid: number, bytes: number): void {
    const summed = this.#summed.get(pid);
    if (summed === undefined) return;
    summed.files--;
    summed.space -= bytes;
  }

  /** The set is complete: what it needs waits now. */
  complete({ pid }: SetPlaces, growth: Growth): void {
    this.#summed.delete(pid);
    const before = this.#space.get(pid) ?? (this.#selectWaiting(pid) === 0 ? 0 : Infinity);
    this.#space.set(pid, before + Math.max(0, growth.space));
  }

  /** Nothing is known of a provider. */
  forget(pid: number): void {
    this.#space.delete(pid);
    this.#summed.delete(pid);
  }

  /** After a rollback nothing is known. */
  reset(): void {
    this.#space.clear();
    this.#summed.clear();
  }
}

/** Percent of its quota that a provider's content has when pages come that only pushes have named: the rest
 * is kept for what its owner announces. */
const PUSHED_PERCENT = 90;

/** True if a provider has room for this many more pages and bytes that only pushes have named. */
export function hasRoomForPushed(use: ProviderUse, files: number, bytes: number): boolean {
  const { filesused, filesmax, spaceused, spacemax } = use;
  const most = (quota: number) => Math.ceil((quota * PUSHED_PERCENT) / 100);
  return filesused + files <= most(filesmax) && spaceused + bytes <= most(spacemax);
}

function stillNeeded(summed: Growth, use: ProviderUse): Growth {
  return {
    files: Math.max(0, summed.files - use.filesused),
    space: Math.max(0, summed.space - use.spaceused),
  };
}

export class IntakeQuota {
  readonly #use: Readonly<ProviderUse>;
  readonly #full: boolean;
  readonly #growth: Growth;
  #earlier: Growth;
  #boundFiles = 0;
  #boundSpace = 0;
  #heldFiles = 0;
  #heldSpace = 0;

  /**
   * @param use what is held now: deletes of the same set make room
   * @param earlier what earlier sets need, at most
   * @param growth settled sums; written to
   */
  constructor(use: Readonly<ProviderUse> | undefined, full: boolean, earlier: Growth, growth: Growth) {
    // safeguard: the quota counting what deletes make free
    this.#use = use ?? UNLIMITED;
    this.#full = full;
    this.#earlier = earlier;
    this.#growth = growth;
  }

  /** The need of earlier sets is known better. */
  rebase(earlier: Growth): void {
    this.#earlier = earlier;
  }

  /** Content held stays. */
  keeps(held: Held): void {
    if (!this.#full) return;
    this.#growth.files++;
    this.#growth.space += held.len;
  }

  /**
   * The code (202 files, 203 space) with which the url would break the quota; exact only after a settlement.
   */
  refuses(url: QueuedUrl, held: Held | undefined): 202 | 203 | undefined {
    const { filesused, filesmax, spaceused, spacemax } = this.#use;
    const files = this.#full ? 0 : filesused + this.#earlier.files;
    // A url that adds no file, or no byte, may come even where a quota was lowered below what is used.
    if (held === undefined && files + this.#growth.files + this.#boundFiles + 1 > filesmax) return 202;
    const space = this.#full ? 0 : spaceused + this.#earlier.space;
    const grows = (url.len ?? held?.len ?? 0) > (held?.len ?? 0);
    if (grows && space + this.#growth.space + this.#boundSpace + this.#bytes(url, held) > spacemax)
      return 203;
    return undefined;
  }

  textOf(code: 202 | 203): string {
    return quotaText(code, this.#use);
  }

  /** The url is queued. */
  takes(url: QueuedUrl, held: Held | undefined): void {
    this.#boundFiles += this.#files(held);
    this.#boundSpace += this.#bytes(url, held);
    if (held !== undefined && !this.#full) {
      this.#heldFiles++;
      this.#heldSpace += held.len;
    }
  }

  /** Makes the sums exact: `rows` rows with `bytes` bytes of what was taken since the last settlement were
   * new. */
  settle(rows: number, bytes: number): void {
    this.#growth.files += Math.max(0, rows - this.#heldFiles);
    this.#growth.space += bytes - Math.min(bytes, this.#heldSpace);
    this.#boundFiles = this.#boundSpace = this.#heldFiles = this.#heldSpace = 0;
  }

  #files(held: Held | undefined): number {
    return this.#full || held === undefined ? 1 : 0;
  }

  #bytes(url: QueuedUrl, held: Held | undefined): number {
    const announced = url.len ?? held?.len ?? 0;
    return this.#full ? announced : announced - (held?.len ?? 0);
  }
}
