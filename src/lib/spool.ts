/**
 * A directory of messages that were promised to be delivered: written once, read in order, removed when
 * delivered.
 *
 *     create ─▶ tmp/ ──write──▶ fsync ──▶ rename to new/ ──▶ fsync of new/ ──▶ promised ──▶ read ──▶ removed
 *                 │                                                              ╰─ damaged, refused ─▶ bad/
 *                 ╰─ anything else, or a crash ─▶ removed; it was never promised
 *
 * Why nothing promised is lost: `commit` resolves only after the file and then its name were synced, in that
 * order. Why nothing else is delivered: a name in new/ exists only for files that were whole and synced
 * before they got it, and every frame of a file is checksummed together with its place (spool-frames.ts).
 *
 * Entries are ordered by a number that is given when they are committed and never used again, not even when
 * the spool was empty in between: `sequence` holds a number that all given ones are below, raised ahead of
 * use. One process at a time serves a spool; it holds a lock that dies with it.
 */
import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, readdirSync, renameSync, statSync, unlinkSync } from 'node:fs';
import { unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { spaceOf, type DiskSpace } from './disk-space.js';
import { makeDirectoryDurably, openDirectory, syncDirectoryAside, writeFileDurably } from './durable.js';
import { errnoOf, LccError, messageOf } from './errors.js';
import { tryLock, type Lock } from './lock.js';
import type { Log } from './log.js';
import { readIfThere } from './read-if-there.js';
import {
  asSpoolError,
  FRAME_READ_BYTES,
  readFrames,
  type SpoolEntry,
  type SpoolHeader,
} from './spool-frames.js';
import { FrameBuffers, SpoolWriter } from './spool-writer.js';
import { step } from './steps.js';

interface SpoolOptions {
  dir: string;
  /** First part of the names of durable steps (steps.ts): `uns.spool` gives `uns.spool.synced` and so on. */
  steps: string;
  /** Called once a sync has failed: what was written may be gone, the process must end (durable.ts). */
  fail: (error: unknown) => void;
  log?: Log;
}

const NUMBER_DIGITS = 15;
const NAME = new RegExp(`^\\d{${NUMBER_DIGITS}}-([A-Za-z0-9._-]*)$`);
const SEQUENCE = /^\d{1,15}\n?$/;
/** Numbers reserved ahead by one durable write. */
const RESERVED_NUMBERS = 1000;
/** Skipped when it is not known how many were given: no spool ever gave that number. */
const SKIPPED_NUMBERS = 10 ** 9;
/** Frame buffers in use, or kept for the next entry: 2 MB. */
const FRAME_BUFFERS = 16;

interface Commit {
  temporary: string;
  label: string;
  bytes: number;
  resolve: (entry: SpoolEntry) => void;
  reject: (error: unknown) => void;
}

/** Labels of the promised entries of the spool in `dir`, served or not; [] when there is none. */
export function spooledLabels(dir: string): string[] {
  try {
    return readdirSync(join(dir, 'new')).flatMap(name => spooledLabel(name) ?? []);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return [];
    throw error;
  }
}

/** True if a file of new/ with that name is an entry. */
export function isSpoolName(name: string): boolean {
  return NAME.test(name);
}

/** The label in the name of an entry; undefined when it is no entry. */
export function spooledLabel(name: string): string | undefined {
  return NAME.exec(name)?.[1];
}

export class Spool {
  /** Made with the directory: entries of two spools are never confused, though both count from one. */
  readonly id: string;
  readonly #options: SpoolOptions;
  readonly #lock: Lock;
  /** new/ and bad/, open: a name that was given is synced also while no descriptor is left. */
  readonly #new: number;
  readonly #bad: number;
  readonly #entries: SpoolEntry[];
  readonly #buffers = new FrameBuffers(FRAME_BUFFERS);
  #next: number;
  #reserved: number;
  #bytes = 0;
  #openBytes = 0;
  #created = 0;
  #commits: Commit[] = [];
  /** Small entries that are being synced. */
  readonly #syncing = new Set<Promise<void>>();
  #committing = false;

  /**
   * Opens the spool, making its directories when there are none, removes what a crash left unfinished, and
   * sets aside what is no entry: nobody promised it.
   * @throws LccError `try.later` when another process serves it
   */
  constructor(options: SpoolOptions) {
    this.#options = options;
    for (const part of ['', 'tmp', 'new', 'bad']) makeDirectoryDurably(join(options.dir, part), 0o750);
    const lock = tryLock(join(options.dir, 'lock'));
    if (lock === undefined) {
      throw new LccError(
        'try.later',
        `${options.dir}: served by another process; give this one a name of its own`,
      );
    }
    this.#lock = lock;
    this.#new = openDirectory(join(options.dir, 'new'));
    this.#bad = openDirectory(join(options.dir, 'bad'));
    this.id = this.#readOrMakeId();
    for (const name of this.#list('tmp')) unlinkSync(join(options.dir, 'tmp', name));
    const names = this.#list('new');
    for (const name of names) if (!isSpoolName(name)) this.#setForeignAside(name);
    this.#entries = names.filter(isSpoolName).map(name => this.#found(name));
    const highest = Math.max(highestOf(names), highestOf(this.#list('bad')));
    this.#reserved = this.#readReserved(highest);
    this.#next = Math.max(this.#reserved, highest) + 1;
    for (const entry of this.#entries) this.#bytes += entry.bytes;
  }

  /** Entries that are promised and not yet removed, oldest first. */
  get entries(): readonly SpoolEntry[] {
    return this.#entries;
  }

  /** Bytes of all entries and of those being written. */
  get bytes(): number {
    return this.#bytes + this.#openBytes;
  }

  /** Entries, and files that were none, that were set aside and not cleared away by the operator. */
  get aside(): { entries: number; foreign: number } {
    const names = this.#list('bad');
    const entries = names.filter(isSpoolName).length;
    return { entries, foreign: names.length - entries };
  }

  /** Space of the disk. */
  space(): DiskSpace {
    return spaceOf(this.#options.dir);
  }

  /** Begins an entry. @throws LccError `io.full` or `io` */
  create(header: SpoolHeader): SpoolWriter {
    const path = join(this.#options.dir, 'tmp', `${process.pid}-${++this.#created}`);
    return new SpoolWriter(path, header, {
      buffers: this.#buffers,
      steps: this.#options.steps,
      fail: this.#options.fail,
      onBytes: bytes => void (this.#openBytes += bytes),
      syncing: () => this.#noteSyncing(),
      promise: (label, bytes) =>
        new Promise((resolve, reject) => {
          this.#commits.push({ temporary: path, label, bytes, resolve, reject });
          if (!this.#committing) void this.#commitAll();
        }),
    });
  }

  /**
   * Reads an entry: its header, and its content in pieces, each of them only until the next one is asked for.
   * @throws LccError `data.malformed` when it is damaged; pieces given out before were sound
   */
  read(id: string, bytes?: number): { header: SpoolHeader; content: Generator<Buffer, void, undefined> } {
    const frames = readFrames(join(this.#options.dir, 'new', id), bytes);
    return { header: JSON.parse(String(frames.next().value)) as SpoolHeader, content: frames };
  }

  /**
   * Reads a small entry whole: its header, and its content in pieces, nothing of it damaged.
   * @returns undefined when it is not small: `read` it
   * @throws LccError `data.malformed` when it is damaged
   */
  readSmall({ id, bytes }: SpoolEntry): { header: SpoolHeader; content: Buffer[] } | undefined {
    if (bytes > FRAME_READ_BYTES) return undefined;
    const { header, content } = this.read(id, bytes);
    return { header, content: [...content] };
  }

  /**
   * Forgets a delivered entry. Its name may come back after a power cut: delivery must bear being repeated.
   * Others are served meanwhile: on a disk with much to write the name waits for the file system's journal.
   */
  async remove(id: string): Promise<void> {
    await unlink(join(this.#options.dir, 'new', id));
    this.#forget(id);
    step(`${this.#options.steps}.removed`);
  }

  /** Moves an entry that cannot be delivered to bad/, for a person to look at. */
  setAside(id: string): void {
    renameSync(join(this.#options.dir, 'new', id), join(this.#options.dir, 'bad', id));
    fsyncSync(this.#bad);
    this.#forget(id);
    step(`${this.#options.steps}.setaside`);
  }

  /** Forgets all entries, which nobody was promised after all. */
  clear(): void {
    for (const { id } of this.#entries) unlinkSync(join(this.#options.dir, 'new', id));
    fsyncSync(this.#new);
    this.#entries.length = this.#bytes = 0;
  }

  /** Lets another process serve the spool. */
  close(): void {
    this.#lock.release();
    closeSync(this.#new);
    closeSync(this.#bad);
  }

  #setForeignAside(name: string): void {
    const { dir, log } = this.#options;
    const path = join(dir, 'new', name);
    try {
      renameSync(path, join(dir, 'bad', name));
      log?.error('foreign file in a spool: set aside', { path });
    } catch (error) {
      log?.error('cannot set aside a foreign file in a spool', { path, error: messageOf(error) });
    }
  }

  #noteSyncing(): () => void {
    let over = () => {};
    const ended = new Promise<void>(resolve => (over = resolve));
    this.#syncing.add(ended);
    return () => {
      this.#syncing.delete(ended);
      over();
    };
  }

  /** Names everything that waits and syncs the directory once for all of it: one sync serves a crowd. */
  async #commitAll(): Promise<void> {
    this.#committing = true;
    const { dir, steps, fail } = this.#options;
    while (this.#commits.length > 0) {
      // Entries that are being synced, and those committed in this turn of the event loop, share the sync of
      // the directory: for each by itself, a crowd would wait much longer than for its slowest.
      await Promise.all(this.#syncing);
      const named: { commit: Commit; entry: SpoolEntry }[] = [];
      for (const commit of this.#commits.splice(0)) {
        try {
          named.push({ commit, entry: this.#name(commit) });
        } catch (error) {
          commit.reject(asSpoolError(dir, error));
        }
      }
      if (named.length > 0) step(`${steps}.renamed`);
      try {
        // Others are served meanwhile: a sync waits for whatever else the file system has to write.
        // safeguard: fsync of the directory before a set is promised
        // safeguard: a promise waiting for the sync of its directory
        await syncDirectoryAside(this.#new);
      } catch (error) {
        fail(error);
        for (const { commit } of named) commit.reject(error);
        continue;
      }
      if (named.length > 0) step(`${steps}.dirsynced`);
      for (const { commit, entry } of named) {
        this.#entries.push(entry);
        this.#bytes += entry.bytes;
        commit.resolve(entry);
      }
    }
    this.#committing = false;
  }

  #name(commit: Commit): SpoolEntry {
    const { dir } = this.#options;
    if (this.#next > this.#reserved) {
      const reserved = this.#next + RESERVED_NUMBERS;
      writeFileDurably(join(dir, 'sequence'), `${reserved}\n`);
      this.#reserved = reserved;
    }
    const id = `${String(this.#next).padStart(NUMBER_DIGITS, '0')}-${commit.label}`;
    if (!NAME.test(id)) throw new LccError('bug', `spool: "${commit.label}" is no label`);
    renameSync(commit.temporary, join(dir, 'new', id));
    this.#next += 1;
    return { id, label: commit.label, bytes: commit.bytes };
  }

  #forget(id: string): void {
    let index = 0;
    for (let end = this.#entries.length; index < end;) {
      const middle = (index + end) >> 1;
      if ((this.#entries[middle]?.id ?? '') < id) index = middle + 1;
      else end = middle;
    }
    if (this.#entries[index]?.id !== id) return;
    const [gone] = this.#entries.splice(index, 1);
    this.#bytes -= gone?.bytes ?? 0;
  }

  #found(name: string): SpoolEntry {
    const { size } = statSync(join(this.#options.dir, 'new', name));
    return { id: name, label: spooledLabel(name) ?? '', bytes: size };
  }

  #list(part: string): string[] {
    return readdirSync(join(this.#options.dir, part)).sort();
  }

  /** The number in `sequence`; when that cannot be read, far more than the highest number there is. */
  #readReserved(highest: number): number {
    const path = join(this.#options.dir, 'sequence');
    const text = readIfThere(path);
    if (text === undefined) return 0;
    if (SEQUENCE.test(text)) return Number(text);
    const next = highest + SKIPPED_NUMBERS + 1;
    const what = 'sequence of a spool damaged; its numbers go on far beyond';
    this.#options.log?.error(what, { path, highest, next });
    return next - 1;
  }

  #readOrMakeId(): string {
    const path = join(this.#options.dir, 'id');
    const known = readIfThere(path)?.trim();
    if (known !== undefined && known !== '') return known;
    const made = randomBytes(8).toString('hex');
    writeFileDurably(path, `${made}\n`);
    return made;
  }
}

/** The highest number among sorted names; 0 when none is an entry's. */
function highestOf(names: readonly string[]): number {
  const name = names.findLast(isSpoolName);
  return name === undefined ? 0 : Number(name.slice(0, NUMBER_DIGITS));
}
