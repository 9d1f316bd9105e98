/**
 * The free-space spool: deletions for machines that are away. They are noted in the table `freed`, in the
 * transaction that let go of the file; when their machine is away for a while they move to spool/fsm, a page
 * an entry, so that lcc.db does not grow with machines that never come back. When a machine connects they
 * return, an entry at a time.
 *
 *     freed ──page, machine away──▶ entry durable ──▶ rows removed
 *     freed ◀──rows noted, one transaction── entry read ◀── machine here; then the entry is removed
 *
 * A crash between two steps leaves a deletion in both places: it is asked for twice, which does no harm,
 * since names carry generations. A damaged entry is set aside; what it named lies in the store, where lccfsck
 * finds it.
 */
import type { FreedStore } from '../db/cache/freed.js';
import type { QueueStore } from '../db/queue/store.js';
import type { Clock } from '../lib/clock.js';
import { LccError, messageOf } from '../lib/errors.js';
import { Lines } from '../lib/lines.js';
import type { Log } from '../lib/log.js';
import type { Spool } from '../lib/spool.js';
import { step } from '../lib/steps.js';

export interface DeletionSpoolOptions {
  spool: Spool;
  store: QueueStore;
  clock: Clock;
  log: Log;
  /** Deletions in one entry; fewer stay where they are. */
  pageFiles: number;
  /** How long a machine must have been away. */
  awayMs: number;
  /** Size of the spool at which nothing more is moved. */
  maxBytes: number;
  /** Machines that can be reached now. */
  isHere: (machineid: string) => boolean;
  /** Deletions have returned: they can be sent. */
  returned: () => void;
  failed: (error: unknown) => boolean;
}

const LOOK_MS = 250;
/** Far more than a file id has. */
const MAX_LINE_LENGTH = 4096;

export class DeletionSpool {
  readonly #options: DeletionSpoolOptions;
  readonly #freed: FreedStore;
  /** Since when machines with deletions are away, monotonic milliseconds. */
  readonly #away = new Map<string, number>();
  #cancel: (() => void) | undefined;
  #working = Promise.resolve();
  #stopped = false;
  #full = false;

  constructor(options: DeletionSpoolOptions) {
    this.#options = options;
    this.#freed = options.store.freed;
  }

  /** Pages of deletions that wait for their machines. */
  get entries(): number {
    return this.#options.spool.entries.length;
  }

  /** Damaged pages that were set aside, and files that were none. */
  get aside(): { freed_pages_bad: number; foreign_files: number } {
    const { entries, foreign } = this.#options.spool.aside;
    return { freed_pages_bad: entries, foreign_files: foreign };
  }

  /** Pages that wait for each machine. */
  pagesByMachine(): Map<string, number> {
    const pages = new Map<string, number>();
    for (const { label } of this.#options.spool.entries) pages.set(label, (pages.get(label) ?? 0) + 1);
    return pages;
  }

  start(): void {
    this.#cancel = this.#options.clock.after(LOOK_MS, () => {
      this.#working = this.#look().then(
        () => (this.#stopped ? undefined : this.start()),
        (error: unknown) => {
          if (this.#options.failed(error) && !this.#stopped) this.start();
        },
      );
    });
  }

  /** Ends when nothing is being moved any more. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel?.();
    await this.#working;
    this.#options.spool.close();
  }

  /** At most one page each way. */
  async #look(): Promise<void> {
    const nowMs = this.#options.clock.monotonicMs();
    const machines = this.#freed.machines();
    for (const machineid of this.#away.keys())
      if (!machines.includes(machineid)) this.#away.delete(machineid);
    for (const machineid of machines) {
      if (this.#options.isHere(machineid)) this.#away.delete(machineid);
      else if (!this.#away.has(machineid)) this.#away.set(machineid, nowMs);
    }
    for (const [machineid, sinceMs] of this.#away)
      if (nowMs - sinceMs >= this.#options.awayMs) await this.#moveOut(machineid);
    await this.#moveBack();
  }

  async #moveOut(machineid: string): Promise<void> {
    const { spool, store, pageFiles, maxBytes, log } = this.#options;
    const page = this.#freed.page(machineid, 0, pageFiles);
    if (page.length < pageFiles) return;
    if (spool.bytes >= maxBytes) {
      if (!this.#full) log.warn('spool/fsm is full; deletions wait in lcc.db', { bytes: spool.bytes });
      this.#full = true;
      return;
    }
    this.#full = false;
    const writer = spool.create({ machineid });
    writer.write(page.map(({ fileid }) => `${fileid}\n`).join(''));
    const entry = await writer.commit(machineid);
    store.transaction(() => page.forEach(({ fid }) => this.#freed.remove(fid)));
    step('qm.fsm.moved');
    log.info('deletions wait in spool/fsm for their machine', {
      machineid,
      files: page.length,
      entry: entry.id,
    });
  }

  /** The oldest entry of a machine that is here and has little left to do. */
  async #moveBack(): Promise<void> {
    const { spool, store, isHere, pageFiles, returned, log } = this.#options;
    // A machine may have thousands of entries: it is asked about once.
    const idle = new Map<string, boolean>();
    const entry = spool.entries.find(({ label }) => {
      if (!idle.has(label))
        idle.set(label, isHere(label) && this.#freed.page(label, 0, pageFiles).length < pageFiles);
      return idle.get(label);
    });
    if (entry === undefined) return;
    let files: string[];
    try {
      files = this.#read(entry.id);
    } catch (error) {
      if (!(error instanceof LccError) || error.code !== 'data.malformed') throw error;
      spool.setAside(entry.id);
      log.error('deletions damaged and set aside; run lccfsck to find the files', {
        entry: entry.id,
        machineid: entry.label,
        error: messageOf(error),
      });
      return;
    }
    store.transaction(() => files.forEach(fileid => this.#freed.add(entry.label, fileid)));
    step('qm.fsm.returned');
    await spool.remove(entry.id);
    returned();
  }

  /** All of an entry, verified: a page. */
  #read(id: string): string[] {
    const lines = new Lines(
      MAX_LINE_LENGTH,
      () =>
        new LccError(
          'data.malformed',
          `spool/fsm/new/${id}: a line of more than ${MAX_LINE_LENGTH} characters`,
        ),
    );
    const files: string[] = [];
    for (const piece of this.#options.spool.read(id).content) files.push(...lines.read(piece));
    return files;
  }
}
