/** All rails as they are set up, for one daemon: what is stored of them is read again and again, what they
 * cannot take goes to their backlogs, and from there to them when they can. */
import type { BacklogOp, BacklogRow } from '../../db/clear/backlog.js';
import type { ClearDatabase } from '../../db/clear/database.js';
import type { RailRow } from '../../db/clear/rails.js';
import type { Clock } from '../../lib/clock.js';
import type { Log } from '../../lib/log.js';
import { step } from '../../lib/steps.js';
import { isPutOn } from '../drivers/index.js';
import { SoftRules } from '../soft-rules.js';
import type { ClearOptions } from '../options.js';
import { alsoOnCaches } from '../path-map.js';
import { readTargetMap, TargetMap } from '../target-map.js';
import type { Commits } from './commits.js';
import { MAX_RETRY_AFTER_MS } from '../outcomes.js';
import { Rail, type Leaving, type RailLedger } from './rail.js';
import type { Secrets } from './secrets.js';
import { senderFor, type Sender } from './sender.js';
import type { BacklogEntry, PageBody, PageTask } from './unit.js';

export interface FleetOptions {
  db: ClearDatabase;
  commits: Commits;
  clock: Clock;
  log: Log;
  limits: Pick<ClearOptions, 'rail' | 'sender'>;
  /** Which entries of backlogs this daemon replays. */
  op: BacklogOp;
  /** Reads the logins of rails. */
  secrets: () => Secrets;
  /**
   * The content that an entry is to put; undefined: it is not there, and the entry is looked at again later.
   */
  bodyOf?: (row: BacklogRow) => PageBody | undefined;
  /** Has the content of a page where an entry of a backlog finds it. @returns its name; null when it cannot
   * be kept */
  keepBody?: (body: PageBody) => string | null;
  sender?: (rail: RailRow, secrets: Secrets) => Sender;
  random?: () => number;
}

/** Entries of a backlog that are read into the line of its rail; the next are when half of them are done. */
const REPLAYED_PAGES = 256;
const NO_BODY = 'the content to put is not in the spool';
/** A line that is as long as this gives pages to the backlog, where another rail has nothing to do for want
 * of room. */
const SPILLED_FROM_PAGES = 1000;

export class Fleet implements RailLedger {
  readonly #options: FleetOptions;
  readonly #rails = new Map<string, Rail>();
  #byTarget = new Map<string, Rail[]>();
  #highestTier = 0;
  /** Pages of backlogs that are in the lines of their rails. */
  readonly #replayed = new Map<string, Set<string>>();
  /** Entries of backlogs that are settled up to a number, and not on disk yet: by rail and page. */
  readonly #settling = new Map<string, number>();
  #secrets: Secrets;
  #version: number | undefined;
  #whenQuiet: (() => void) | undefined;
  map = new TargetMap([], [], []);
  softRules = new SoftRules([], this.map);

  /** @throws LccError `config` for the file of secrets; as ClearDatabase.read */
  constructor(options: FleetOptions) {
    this.#options = options;
    this.#secrets = options.secrets();
    this.refresh();
  }

  get rails(): readonly Rail[] {
    return [...this.#rails.values()];
  }

  railsOf(target: string): readonly Rail[] {
    return this.#byTarget.get(target) ?? [];
  }

  /** Reads what is stored: states, and whatever else has changed. @throws as ClearDatabase.read */
  refresh(): void {
    this.#options.db.read(() => this.#readSetup());
    this.#compare();
    for (const rail of this.#rails.values()) this.#replay(rail);
  }

  /** Within a read: what others have set up until then counts for the requests and publications that it
   * reads. */
  follow(): void {
    if (this.#options.db.version() !== this.#version) this.#readSetup();
  }

  /** Reads the logins again. @throws LccError `config` */
  reload(): void {
    this.#secrets = this.#options.secrets();
    for (const rail of this.#rails.values()) rail.changeSender(this.#senderFor(rail.row));
  }

  /** There is no room for more: what is ahead of rails that have nothing to do makes some. */
  spill(): void {
    const up = this.rails.filter(rail => !rail.isDown);
    const isIdle = up.some(rail => rail.waitingCount === 0 && rail.sendingCount < rail.row.workers);
    const longest = up.reduce<Rail | undefined>(
      (most, rail) => (rail.waitingCount > (most?.waitingCount ?? 0) ? rail : most),
      undefined,
    );
    if (!isIdle || longest === undefined || longest.waitingCount < SPILLED_FROM_PAGES) return;
    this.#options.log.debug('window full; rail leaves pages to its backlog', { rail: longest.name });
    longest.spill(Math.ceil(longest.waitingCount / 2));
  }

  /** Sends nothing more; resolves when nothing is under way, or the time is up. */
  stop(graceMs: number): Promise<void> {
    for (const rail of this.#rails.values()) rail.stop();
    return new Promise<void>(resolve => {
      const cancel = this.#options.clock.after(graceMs, resolve);
      this.#whenQuiet = () => {
        if (this.rails.some(rail => rail.sendingCount > 0)) return;
        cancel();
        resolve();
      };
      this.#whenQuiet();
    });
  }

  close(): void {
    for (const rail of this.#rails.values()) rail.close();
  }

  // Changes that rails must have on disk.

  quiet(): void {
    this.#whenQuiet?.();
  }

  lastSeq(): number {
    return this.#options.db.numbers.last('publish_seq');
  }

  alsoOf(rail: RailRow, url: string): readonly string[] {
    const also = alsoOnCaches(this.map, rail.target, url);
    return also.length === 0 || isPutOn(rail) ? [] : also;
  }

  park(rail: string, task: PageTask, { nextMs, dead, error, attempts }: Leaving): void {
    const { db, clock, commits, keepBody } = this.#options;
    const { url, op, contentId, body, seq = body?.seq } = task;
    const entry = {
      rail,
      url,
      op,
      contentId,
      bodySha: (body && keepBody?.(body)) ?? null,
      attempts,
      nextMs,
      dead: dead ? 1 : 0,
      error,
    } as const;
    commits.add(() => db.backlog.park(entry, clock.nowMs(), seq));
  }

  settle(rail: string, task: PageTask, seq: number, entry: BacklogEntry | undefined): void {
    const { db, commits } = this.#options;
    const { url, op, body } = task;
    const isPut = op === 'P' && body?.sha !== '';
    const above = entry === undefined ? [] : this.#railsAbove(rail, op);
    for (const one of above) one.hasBacklog = true;
    const key = `${rail} ${url}`;
    this.#settling.set(key, Math.max(seq, this.#settling.get(key) ?? 0));
    commits.add(
      () => {
        const left = db.backlog.get(rail, url);
        // Most pages have none, and a look costs less than changes of nothing.
        if (left !== undefined && isPut) db.backlog.overtake(rail, url, seq);
        else if (left !== undefined) db.backlog.settle(rail, url, seq);
        // A page to be put may be on its way, and arrive after the clearing.
        if (left?.op === 'P' && left.seq <= seq) this.#publishAgain(rail, url, left.seq - 1);
        else if (entry !== undefined) this.#publishAgain(rail, url, entry.seq);
        for (const { name, row } of above) {
          this.#tellAgain(name, task, rail);
          for (const other of this.alsoOf(row, url)) this.#tellAgain(name, { ...task, url: other }, rail);
        }
      },
      () => {
        if (this.#settling.get(key) === seq) this.#settling.delete(key);
        this.released(rail, url);
      },
    );
  }

  failed(rail: string, url: string, { seq, firstMs }: BacklogEntry, { nextMs, dead, error }: Leaving): void {
    const { db, clock, commits, limits } = this.#options;
    const isOld = clock.nowMs() - firstMs >= limits.rail.backlogMaxAgeMs;
    commits.add(
      () => {
        let isLeft = false;
        if (db.backlog.isOvertaken(rail, url, seq)) db.backlog.settle(rail, url, seq);
        else if (dead || isOld) db.backlog.bury({ rail, url, seq }, error);
        else isLeft = db.backlog.failed({ rail, url, seq }, nextMs, error);
        if (!isLeft) this.#publishAgain(rail, url, seq);
      },
      () => this.released(rail, url),
    );
  }

  released(rail: string, url: string): void {
    const replayed = this.#replayed.get(rail);
    if (replayed?.delete(url) !== true || replayed.size > REPLAYED_PAGES / 2) return;
    const found = this.#rails.get(rail);
    if (found !== undefined && !found.isDown) this.#replay(found);
  }

  down(rail: Rail, atMs: number, reason: string): void {
    const { db, commits } = this.#options;
    let stored: RailRow | undefined;
    commits.add(
      () => {
        stored = db.rails.setDown(rail.name, atMs, reason) ? undefined : db.rails.get(rail.name);
      },
      () => {
        step('clear.rail.down');
        if (stored !== undefined) rail.state.gaveWay(stored.changeTimeMs);
      },
    );
  }

  /** The other daemon may have put a newer page on the rail before the clearing of an entry reached it. */
  #publishAgain(rail: string, url: string, entrySeq: number): void {
    const { db, clock, op } = this.#options;
    const target = this.#rails.get(rail)?.row.target;
    if (op === 'D' && target !== undefined) db.soft.publishAgain({ url, target }, entrySeq, clock.nowMs());
  }

  /** Rails of higher tiers that may have got the old page from this one, while that was in its backlog. */
  #railsAbove(name: string, op: BacklogOp): Rail[] {
    const below = this.#rails.get(name)?.row;
    if (below === undefined || below.tier >= this.#highestTier) return [];
    const around = (target: string) => [target, ...this.map.groupsAbove(target)];
    const targets = new Set(around(below.target));
    return this.rails.filter(
      ({ row }) =>
        row.tier > below.tier &&
        (op === 'D' || !isPutOn(row)) &&
        around(row.target).some(target => targets.has(target)),
    );
  }

  #tellAgain(rail: string, { url, contentId, op, body }: PageTask, late: string): void {
    const { db, clock } = this.#options;
    const bodySha = op === 'P' ? '' : null;
    const error = `once more, after rail ${late} of a lower tier`;
    const entry = { rail, url, op, contentId, bodySha, attempts: 0, nextMs: 0, dead: 0, error } as const;
    db.backlog.park(entry, clock.nowMs(), body?.seq);
  }

  #readSetup(): void {
    const { db } = this.#options;
    const version = db.version();
    this.#refreshRails(db.rails.all());
    if (version !== this.#version) {
      this.map = readTargetMap(db);
      this.softRules = new SoftRules(db.soft.rules(), this.map);
    }
    this.#version = version;
  }

  #refreshRails(rows: readonly RailRow[]): void {
    const { db, commits, clock, log, limits, random = Math.random } = this.#options;
    const names = new Set(rows.map(row => row.name));
    for (const [name, rail] of this.#rails) {
      if (names.has(name)) continue;
      this.#rails.delete(name);
      this.#replayed.delete(name);
      rail.remove();
    }
    const parts = { ledger: this, limits: limits.rail, clock, log, random };
    const byTarget = new Map<string, Rail[]>();
    for (const row of rows) {
      let rail = this.#rails.get(row.name);
      if (rail === undefined) {
        rail = new Rail(row, this.#senderFor(row), parts);
        this.#rails.set(row.name, rail);
      } else {
        const isOther = setupOf(rail.row) !== setupOf(row);
        rail.refresh(row);
        if (isOther) rail.changeSender(this.#senderFor(row));
      }
      // Entries that are not on disk yet are not seen there. A page that is done settles entries of either
      // kind, also such as are given up.
      rail.hasBacklog = db.backlog.hasAny(row.name) || (rail.hasBacklog && commits.waitingCount > 0);
      byTarget.set(row.target, [...(byTarget.get(row.target) ?? []), rail]);
    }
    this.#byTarget = byTarget;
    this.#highestTier = Math.max(0, ...rows.map(({ tier }) => tier));
  }

  #compare(): void {
    for (const rails of this.#byTarget.values()) {
      const up = rails.filter(rail => !rail.isDown);
      const least = up.length < 2 ? undefined : Math.min(...up.map(rail => rail.waitingCount));
      for (const rail of up) rail.compare(least);
    }
  }

  /** Puts what is due into the line of a rail that is up, as long as that is short. */
  #replay(rail: Rail): void {
    const { db, clock, op, bodyOf, limits } = this.#options;
    if (rail.state.name !== 'up' || !rail.hasBacklog || rail.waitingCount >= REPLAYED_PAGES) return;
    const replayed = this.#replayed.get(rail.name) ?? new Set();
    this.#replayed.set(rail.name, replayed);
    if (replayed.size > REPLAYED_PAGES / 2) return;
    const rows = db.backlog.due(
      rail.name,
      op,
      clock.nowMs(),
      Math.max(limits.rail.backlogRetryMs, MAX_RETRY_AFTER_MS),
      REPLAYED_PAGES + replayed.size,
    );
    for (const row of rows) {
      const { url, contentId, seq, attempts, firstMs } = row;
      if (replayed.has(url) || seq <= (this.#settling.get(`${rail.name} ${url}`) ?? -1)) continue;
      const body = op === 'P' ? bodyOf?.(row) : undefined;
      const entry = { seq, attempts, firstMs };
      if (op === 'D' && row.bodySha === '') {
        // Overtaken. It may have been sent, after the page: by a process that was killed before it could note
        // that.
        replayed.add(url);
        this.settle(rail.name, { url, contentId, op }, seq, entry);
        continue;
      }
      if (op === 'P' && body === undefined) {
        // Others have their turn.
        const nextMs = clock.nowMs() + limits.rail.backlogRetryMs;
        this.failed(rail.name, url, entry, { nextMs, dead: false, error: NO_BODY, attempts });
        continue;
      }
      replayed.add(url);
      rail.replay({ url, contentId, op, ...(body && { body }) }, entry);
    }
  }

  #senderFor(row: RailRow): Sender {
    const { sender, limits, clock } = this.#options;
    return sender?.(row, this.#secrets) ?? senderFor(row, this.#secrets, limits.sender, clock);
  }
}

/** All that matters to its sender. */
function setupOf({ url, driver, workers, host, authRef, opts }: RailRow): string {
  return JSON.stringify([url, driver, workers, host, authRef, opts]);
}
