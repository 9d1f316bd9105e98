/**
 * Content that a machine may lose (semantics.md, rule 16). It is not synced file by file: now and then a
 * machine syncs its whole store, and up to which number of the change sequence that reaches is noted, its
 * sync point. Of a machine that connects nobody knows how it stopped: what its rows say of later numbers is
 * read again there, a page at a time while everything else goes on. A row with damaged content goes, and its
 * url is fetched again.
 *
 *     connected ──check a page──▶ … ──no row is left──▶ checked ──sync, every interval──▶ sync point noted
 *                     ▲   ╰──────a sync while checking reaches to the page before─────────────────▲
 *                     ╰── all since the sync point is taken for lost, unread ──◀── a sync failed ─╯
 *
 * A row that takes a new number meanwhile (a CP said something else of it) is met again further on. One that
 * was made since the machine connected, told by its id, needs no reading.
 */
import { beforeFirst } from '../config/shards.js';
import type { StoredRow } from '../db/cache/stores.js';
import type { Spoilt } from '../db/queue/refetch.js';
import type { WaitingSet } from '../db/queue/sets.js';
import type { QueueStore } from '../db/queue/store.js';
import type { Clock } from '../lib/clock.js';
import type { Log } from '../lib/log.js';
import { step } from '../lib/steps.js';
import type { UpkeepResult } from '../wire/upkeep.js';
import type { MachineErrands } from './machine-errands.js';

export interface SyncPointsOptions {
  store: QueueStore;
  clock: Clock;
  log: Log;
  /** Time between two syncs of a store that has something new. */
  intervalMs: number;
  /** Files of a machine that are read at a time. */
  window: number;
  errands: MachineErrands;
  /** Urls are queued again. */
  onSet: (set: WaitingSet) => void;
  /** Something was committed: there may be files to delete. */
  onCommit: () => void;
  /** A transaction failed; true: try again later. */
  failed: (error: unknown) => boolean;
}

interface Page {
  /** The number it reaches to. */
  toSeq: number;
  isLast: boolean;
  /** Files that are being read. */
  out: number;
  bad: StoredRow[];
  isUnable: boolean;
}

interface Machine {
  readonly id: string;
  /** Rows with numbers up to this one are known to be whole, as far as they were here when it connected. */
  checkedSeq: number;
  isChecked: boolean;
  /** Rows with higher ids were made later: their content is whole. */
  newIds: number;
  /** Nothing is read: a sync said that something is lost, and not what. */
  isLost: boolean;
  page: Page | undefined;
  isSyncing: boolean;
  isUnableToSync: boolean;
  files: number;
  suffered: number;
  cancelSync: () => void;
  cancelPage: () => void;
}

const RETRY_MS = 1000;

export class SyncPoints {
  readonly #options: SyncPointsOptions;
  readonly #machines = new Map<string, Machine>();

  constructor(options: SyncPointsOptions) {
    this.#options = options;
    options.errands.watch({
      came: id => this.#begin(id),
      left: id => {
        const machine = this.#machines.get(id);
        if (machine !== undefined) this.#drop(machine);
      },
    });
  }

  /** Number of machines that are not checked to the end. */
  get checking(): number {
    return [...this.#machines.values()].filter(machine => !machine.isChecked).length;
  }

  stop(): void {
    for (const machine of this.#machines.values()) this.#drop(machine);
  }

  #begin(id: string): void {
    const { stores } = this.#options.store;
    const checkedSeq = stores.synced(id);
    if (checkedSeq === undefined) return;
    const machine: Machine = {
      id,
      checkedSeq,
      isChecked: false,
      newIds: stores.lastSeq(),
      isLost: false,
      page: undefined,
      isSyncing: false,
      isUnableToSync: false,
      files: 0,
      suffered: 0,
      cancelSync: () => undefined,
      cancelPage: () => undefined,
    };
    this.#machines.set(id, machine);
    this.#syncLater(machine);
    this.#readPage(machine);
  }

  #drop(machine: Machine): void {
    machine.cancelSync();
    machine.cancelPage();
    machine.page = undefined;
    this.#machines.delete(machine.id);
  }

  #readPage(machine: Machine): void {
    const { store, window, errands } = this.#options;
    const rows = store.stores.since(machine.checkedSeq, window);
    const asked = rows.filter(row => row.machineid === machine.id && !isNewer(row.id, machine.newIds));
    const page: Page = {
      toSeq: rows.at(-1)?.seq ?? machine.checkedSeq,
      isLast: rows.length < window,
      out: asked.length,
      bad: machine.isLost ? asked : [],
      isUnable: false,
    };
    machine.page = page;
    machine.files += asked.length;
    if (machine.isLost || asked.length === 0) return this.#finishPage(machine, page);
    for (const content of asked) {
      const { machineid: machineId, fileid: fileId, md5, len } = content;
      errands.ask(
        machineId,
        'check',
        (peer, id) => peer.upkeep({ kind: 'check', id, machineId, fileId, md5, len }),
        ({ status }) => this.#checked(machine, page, content, status),
      );
    }
  }

  #checked(machine: Machine, page: Page, content: StoredRow, status: UpkeepResult['status']): void {
    // The machine is away, or all is read again.
    if (machine.page !== page) return;
    page.out--;
    if (status === 'bad') page.bad.push(content);
    if (status === 'unable') page.isUnable = true;
    if (page.out === 0) this.#finishPage(machine, page);
  }

  #finishPage(machine: Machine, page: Page): void {
    machine.page = undefined;
    const isSettled = this.#fetchAgain(machine, page.bad);
    if (isSettled === undefined) return;
    if (!isSettled || page.isUnable) return this.#readLater(machine, RETRY_MS);
    machine.checkedSeq = page.toSeq;
    if (!page.isLast) return this.#readLater(machine, 0);
    machine.isChecked = true;
    machine.isLost = false;
    const { id, files, suffered } = machine;
    if (files > 0) {
      const level = suffered > 0 ? 'warn' : 'info';
      this.#options.log[level]('content stored since the last sync point was checked', {
        machine: id,
        files,
        fetched_again: suffered,
      });
    }
  }

  #readLater(machine: Machine, delayMs: number): void {
    machine.cancelPage = this.#options.clock.after(delayMs, () => this.#readPage(machine));
  }

  /** @returns whether their rows are gone; undefined after a failure that will not pass */
  #fetchAgain(machine: Machine, bad: readonly StoredRow[]): boolean | undefined {
    if (bad.length === 0) return true;
    const { store, clock, onSet, onCommit, failed } = this.#options;
    const nowS = Math.floor(clock.nowMs() / 1000);
    try {
      const { sets, count } = store.transaction(() => {
        const spoilt = bad.flatMap(content => this.#spoilt(content));
        return { sets: store.refetch.again(spoilt, nowS), count: spoilt.length };
      });
      step('qm.refetch.committed');
      machine.suffered += count;
      sets.forEach(onSet);
      onCommit();
      return true;
    } catch (error) {
      return failed(error) ? false : undefined;
    }
  }

  /** The row, if it still points to that file. */
  #spoilt({ id, machineid, fileid }: StoredRow): Spoilt[] {
    const { content } = this.#options.store;
    const row = content.row(id);
    if (row === undefined || row.fetched_machineid !== machineid || row.fetched_fileid !== fileid) return [];
    return [{ row, file: 'freed' }];
  }

  #syncLater(machine: Machine): void {
    machine.cancelSync = this.#options.clock.after(this.#options.intervalMs, () => {
      this.#syncLater(machine);
      this.#sync(machine);
    });
  }

  #sync(machine: Machine): void {
    if (machine.isSyncing) return;
    const { store, errands } = this.#options;
    const { stores } = store;
    const seq = machine.isChecked ? stores.lastSeq() : machine.checkedSeq;
    if (seq <= (stores.synced(machine.id) ?? seq)) return;
    machine.isSyncing = true;
    const machineId = machine.id;
    errands.ask(
      machineId,
      'sync',
      (peer, id) => peer.upkeep({ kind: 'sync', id, machineId }),
      ({ status }) => this.#synced(machine, seq, status),
    );
  }

  #synced(machine: Machine, seq: number, status: UpkeepResult['status']): void {
    const { store, log, failed } = this.#options;
    machine.isSyncing = false;
    if (status === 'away' || this.#machines.get(machine.id) !== machine) return;
    if (status === 'unable') {
      if (!machine.isUnableToSync) log.warn('machine cannot sync its store', { machine: machine.id });
      machine.isUnableToSync = true;
      return;
    }
    if (status === 'bad') return this.#mistrust(machine);
    machine.isUnableToSync = false;
    try {
      store.transaction(() => store.stores.noteSynced(machine.id, seq));
      step('qm.synced.noted');
    } catch (error) {
      // The next one reaches further.
      failed(error);
    }
  }

  #mistrust(machine: Machine): void {
    const { store, log } = this.#options;
    log.error('machine lost content: everything since its last sync point is fetched again', {
      machine: machine.id,
    });
    machine.cancelPage();
    machine.checkedSeq = store.stores.synced(machine.id) ?? 0;
    machine.newIds = store.stores.lastSeq();
    machine.isChecked = false;
    machine.isLost = true;
    machine.files = 0;
    machine.suffered = 0;
    this.#readPage(machine);
  }
}

/**
 * True if a row was made here since `newIds` was the last number given out; one that came from another shard
 * may have been here before.
 */
function isNewer(id: number, newIds: number): boolean {
  return id > newIds && beforeFirst(id) === beforeFirst(newIds);
}
