/**
 * The store of one machine: a folder of content files, with the names that are given out and taken back here.
 *
 *     DIR/machine-id      whose store it is (another machine's is refused), and an id of its own
 *     DIR/names.db        what is in use, gone, free (db/names/names.ts)
 *     DIR/ab/cd/ID.GEN    content, written by robots, as it is (docs/design/compression-at-rest.md)
 *
 * Names are reserved in blocks, so that handing one out costs nothing; a deletion is noted durably (many in
 * one commit) before it is acknowledged, its file stays for the grace period, then it is unlinked and its id
 * is free again. Without room to note it the file goes all the same when its grace is over: its id is taken
 * until that can be noted, so nothing new gets the name, and a disk that deletions alone can empty does not
 * have to be emptied by hand.
 */
import { randomBytes } from 'node:crypto';
import { mkdirSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { NamesDb, type Name } from '../db/names/names.js';
import { markStore, readStoreMark, storeWord } from '../db/names/store-mark.js';
import type { Marks } from '../db/sqlite/marks.js';
import { describeRoom, type FreeDisk } from '../config/free-disk.js';
import type { Clock } from '../lib/clock.js';
import { spaceOf, type DiskSpace } from '../lib/disk-space.js';
import { makeDirectoryDurably } from '../lib/durable.js';
import { errnoOf, LccError, messageOf } from '../lib/errors.js';
import type { Log } from '../lib/log.js';
import { step } from '../lib/steps.js';
import { fileIdOf, folderOf, nameOf } from '../db/names/naming.js';
import type { UpkeepRequest, UpkeepResult } from '../wire/upkeep.js';
import { adopt } from './adoption.js';
import { Leftovers } from './leftovers.js';
import { Room } from './room.js';
import { StoreUpkeep } from './upkeep.js';

export interface StoreOptions {
  dir: string;
  machineId: string;
  /** Time for which the file of deleted content stays. */
  graceMs: number;
  /** Names reserved at a time: what a crash may lose. */
  blockNames: number;
  /** Free space that the disk must have, or `full` is true; what is being fetched counts as stored. */
  minFree: FreeDisk;
  /** The longest that a robot's attempt goes on. */
  attemptMs: number;
  clock: Clock;
  log: Log;
  /** Called with an error after which nothing can be promised any more (a failed commit). */
  fail(error: unknown): void;
  /** The disk itself is asked by default. */
  space?: (this: void) => DiskSpace;
}

/** Deletions are collected this long, so that one commit serves many. */
const NOTE_DELAY_MS = 10;
const NOTE_BATCH = 1000;
/** The first of those that found no room: a smaller commit may find some. */
const NOTE_FEW = 32;
/** Files unlinked in one go: about 10 µs each. */
const SWEEP_BATCH = 200;
const SWEEP_INTERVAL_MS = 500;
const FULL_RETRY_MS = 1000;

interface Noting {
  name: Name;
  atMs: number;
  done: () => void;
  /** True if the file went before there was room to note it. */
  isUnlinked?: boolean;
}

export class Store {
  readonly #options: StoreOptions;
  readonly #names: NamesDb;
  readonly #marks: Marks;
  /** Said to Queue Managers: of this store, and of no other that the machine ever had; and of this run of its
   * Bot Manager. */
  readonly word: string;
  readonly upkeep: StoreUpkeep;
  readonly leftovers: Leftovers;
  readonly adopted = new Map<string, Name>();
  readonly #room: Room;
  readonly #startMs: number;
  readonly #baseMs: number;
  readonly #folders = new Set<string>();
  #ready: Name[] = [];
  #noting: Noting[] = [];
  #cancelNoting: (() => void) | undefined;
  #cancelSweep: (() => void) | undefined;
  #namesFull = false;
  #closed = false;

  /**
   * Opens a store, making one of an empty or missing folder.
   * @throws LccError `config` when it belongs to another machine, `try.later` when another Bot Manager has it
   */
  constructor(options: StoreOptions) {
    this.#options = options;
    // Content may be of sites that ask for a login.
    makeDirectoryDurably(options.dir, 0o750);
    const id = claim(options.dir, options.machineId);
    this.#names = openNames(options);
    const { clock, log } = options;
    const noted = () => step('bm.mark.noted');
    this.#marks = this.#names.newMarks({ clock, log, failed: error => this.#isFull(error), noted });
    this.#marks.start();
    const starts = this.#guarded(() => this.#names.noteStart());
    this.word = storeWord({ id, starts, run: randomBytes(4).toString('hex') });
    this.#room = new Room(options.space ?? (() => spaceOf(options.dir)), options.minFree);
    this.upkeep = new StoreUpkeep(options.dir, options.log);
    this.leftovers = new Leftovers(options);
    this.#startMs = options.clock.monotonicMs();
    this.#baseMs = this.#names.lastAtMs;
    this.#scheduleSweep(0);
  }

  get dir(): string {
    return this.#options.dir;
  }
  get machineId(): string {
    return this.#options.machineId;
  }
  /** Names that can be given out without asking the disk for more ids, and those waiting for their grace to
   * end. */
  get freeNames(): number {
    return this.#names.freeCount + this.#ready.length;
  }
  get namesInGrace(): number {
    return this.#names.goneCount;
  }
  /** True if there was no room for noting names, when that was tried last. */
  get namesFull(): boolean {
    return this.#namesFull;
  }
  /** Deletions not yet acknowledged. */
  get deletionsWaiting(): number {
    return this.#noting.length;
  }

  /**
   * True if the disk has less room than it must keep. Asks the disk: a few microseconds.
   * @param fetching contents being fetched, which will take some of it
   */
  full(fetching = 0): boolean {
    if (this.#namesFull && !this.#refill()) return true;
    return this.#room.isShort(fetching);
  }

  /** Free and needed space of the disk, as it was when it was asked last: in figures … */
  roomStatus() {
    const { freeBytes, totalBytes, neededBytes } = this.#room.figures;
    return { free_bytes: freeBytes, total_bytes: totalBytes, needed_bytes: neededBytes };
  }

  /** … and in words. */
  describeRoom(): string {
    if (this.#namesFull) return `no room for ${join(this.#options.dir, 'names.db')}`;
    const { neededBytes, ...space } = this.#room.figures;
    return describeRoom(this.#options.minFree, space, neededBytes);
  }

  /** True if the store may be full after `contents` more. Does not ask the disk. */
  mayBeFull(contents: number): boolean {
    return this.#room.isNear(contents);
  }

  /** Does what a source asks about what is stored. */
  async tend(request: UpkeepRequest): Promise<Pick<UpkeepResult, 'status' | 'fileId'>> {
    return request.kind === 'adopt' ? adopt(this, request) : { status: await this.upkeep.answer(request) };
  }

  /** A content of `bytes` was stored. */
  stored(bytes: number): void {
    this.#room.stored(bytes);
  }

  /** A name nothing holds, its folder made; undefined when the disk has no room even for noting it. */
  take(): Name | undefined {
    if (this.#ready.length === 0 && !this.#refill()) return undefined;
    const name = this.#ready.pop();
    if (name === undefined) return undefined;
    const folder = folderOf(name.id);
    if (!this.#folders.has(folder)) {
      mkdirSync(join(this.#options.dir, folder), { recursive: true });
      this.#folders.add(folder);
    }
    return name;
  }

  /** Takes back a name under which nothing was ever written: the next one asks for it. */
  giveBack(name: Name): void {
    this.#ready.push(name);
  }

  pathOf(name: Name): string {
    return `${this.#options.dir}/${fileIdOf(name)}`;
  }

  /**
   * Deletes a file: `done` is called once that is durably noted; the file itself goes when its grace has
   * passed. Also called for what is gone already and for ids that are no file of a store (logged): there is
   * nothing to delete.
   */
  delete(fileId: string, done: () => void): void {
    const name = nameOf(fileId);
    if (name === undefined) {
      this.#options.log.warn('deletion ignored: not a file of this store', { fileid: fileId.slice(0, 200) });
      done();
      return;
    }
    this.#note({ name, atMs: this.#nowMs(), done });
  }

  /** Removes a file that was written but never reported: without grace. */
  discard(name: Name): void {
    this.#note({ name, atMs: this.#nowMs() - this.#options.graceMs, done: () => undefined });
  }

  /** Notes what is waiting, puts unused names back, and lets go of the store. */
  close(): void {
    if (this.#closed) return;
    this.#noteNow();
    this.#closed = true;
    this.#cancelNoting?.();
    this.#cancelSweep?.();
    this.leftovers.close();
    const unused = this.#ready;
    this.#ready = [];
    this.#guarded(() => this.#names.release(unused));
    this.#marks.stop();
    this.#names.close();
  }

  /** Time on the store's own clock: it passes only while a Bot Manager runs and never jumps. */
  #nowMs(): number {
    return Math.round(this.#baseMs + this.#options.clock.monotonicMs() - this.#startMs);
  }

  /** Reserves a block of names; false when there is no room to note them. */
  #refill(): boolean {
    const block = this.#guarded(() => this.#names.reserve(this.#options.blockNames));
    if (block === undefined) return false;
    // Given out from the end: the lowest id first.
    this.#ready.unshift(...block.reverse());
    return true;
  }

  #note(noting: Noting): void {
    this.#noting.push(noting);
    if (this.#noting.length >= NOTE_BATCH && !this.#namesFull) this.#noteNow();
    else this.#cancelNoting ??= this.#options.clock.after(NOTE_DELAY_MS, () => this.#noteNow());
  }

  #noteNow(): void {
    this.#cancelNoting?.();
    this.#cancelNoting = undefined;
    if (this.#closed || this.#noting.length === 0) return;
    for (let size = this.#namesFull ? NOTE_FEW : NOTE_BATCH; this.#noting.length > 0; size *= 2) {
      const batch = this.#noting.slice(0, Math.min(size, NOTE_BATCH));
      const noted = this.#guarded(() => {
        this.#names.note(batch);
        return true;
      });
      if (noted === undefined) {
        // The deletion waits, unacknowledged, until there is room: its own file may make some.
        const delayMs = this.#unlinkUnnoted() > 0 ? 1 : FULL_RETRY_MS;
        this.#cancelNoting ??= this.#options.clock.after(delayMs, () => this.#noteNow());
        return;
      }
      this.#noting.splice(0, batch.length);
      for (const { done } of batch) done();
      step('bm.deletions.acknowledged');
    }
  }

  /** Unlinks files after their grace whose deletion finds no room to be noted. @returns how many */
  #unlinkUnnoted(): number {
    const nowMs = this.#nowMs();
    const due = this.#noting
      .filter(({ atMs, isUnlinked }) => isUnlinked !== true && atMs <= nowMs - this.#options.graceMs)
      .slice(0, SWEEP_BATCH);
    const taken = new Set(this.#names.taken(due.map(({ name }) => name)));
    for (const noting of due) {
      // The same as when it is noted: a deletion that is sent again must not touch what came after it.
      if (!taken.has(noting.name) || this.#unlink(noting.name)) noting.isUnlinked = true;
      else noting.atMs = nowMs;
    }
    if (due.length > 0) step('bm.files.unlinked');
    return due.length;
  }

  #scheduleSweep(delayMs: number): void {
    this.#cancelSweep = this.#options.clock.after(delayMs, () => this.#sweep());
  }

  #sweep(): void {
    if (this.#closed) return;
    const goneBefore = this.#nowMs() - this.#options.graceMs;
    const due = this.#names.due(goneBefore, SWEEP_BATCH);
    if (due.length > 0) {
      const stuck = due.filter(name => !this.#unlink(name));
      step('bm.files.unlinked');
      const freed = this.#guarded(() => {
        this.#names.free(stuck.length === 0 ? due : due.filter(name => !stuck.includes(name)));
        this.#names.postpone(stuck, this.#nowMs());
        return true;
      });
      if (freed === undefined) return this.#scheduleSweep(FULL_RETRY_MS);
    }
    this.#scheduleSweep(due.length === SWEEP_BATCH ? 1 : SWEEP_INTERVAL_MS);
  }

  /** Removes a file, whether it is there or not; false when it cannot be removed: another grace later it is
   * tried again. */
  #unlink(name: Name): boolean {
    try {
      unlinkSync(this.pathOf(name));
      return true;
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return true;
      this.#options.log.error('cannot remove a deleted file', { error: messageOf(error) });
      return false;
    }
  }

  /** Runs a commit. A full disk gives undefined and is tried again later; after any other failure nothing
   * goes on. */
  #guarded<T>(work: () => T): T | undefined {
    try {
      const result = work();
      if (this.#namesFull)
        this.#options.log.info('names.db: can be written again', { store: this.#options.dir });
      this.#namesFull = false;
      this.#marks.committed();
      return result;
    } catch (error) {
      if (this.#isFull(error)) return undefined;
      throw error;
    }
  }

  /**
   * True if a commit found no room, and is to be tried again later; after any other failure nothing goes on.
   */
  #isFull(error: unknown): boolean {
    if (!(error instanceof LccError) || error.code !== 'io.full') {
      this.#options.fail(error);
      return false;
    }
    if (!this.#namesFull)
      this.#options.log.error('names.db: disk full; free space on it', { error: messageOf(error) });
    this.#namesFull = true;
    return true;
  }
}

/** Marks a new store as this machine's, or makes sure that it is. @returns the store's id */
function claim(dir: string, machineId: string): string {
  const mark = readStoreMark(dir);
  if (mark !== undefined && mark.machineId !== machineId) {
    throw new LccError(
      'config',
      `${dir}: the store of machine "${mark.machineId}", not "${machineId}"; set bm.machine_id to "${mark.machineId}", or give another store`,
    );
  }
  if (mark?.storeId !== undefined) return mark.storeId;
  const id = markStore(dir, machineId);
  step('bm.store.claimed');
  return id;
}

/**
 * names.db when the Bot Manager starts. Where there is none beside content, or beside a mark of one, a new
 * one is not taken for that of an empty store: its ids begin far beyond all.
 * @throws LccError `config` for one that is not the one served last, and as NamesDb
 */
function openNames({ dir, log }: { dir: string; log: Log }): NamesDb {
  const path = join(dir, 'names.db');
  const names = new NamesDb(path);
  if ((names.madeFrom ?? 0) > 0)
    log.error('names.db: missing although there is content; new ids begin far beyond the existing ones', {
      store: dir,
    });
  const old = names.wentBack();
  if (old === undefined) return names;
  names.close();
  throw new LccError('config', `${path}: ${old}`);
}
