/** An entry of a spool being written: text in, frames on disk, bounded memory. See spool.ts for the life of
 * an entry. */
import { closeSync, fdatasync, fsync, open, openSync, unlink } from 'node:fs';
import { promisify } from 'node:util';
import { writeAll, writeAllAside } from './durable.js';
import {
  asSpoolError,
  FRAME_HEAD_BYTES,
  frameOf,
  MAGIC,
  readFrames,
  writeFrameHead,
  type SpoolEntry,
  type SpoolHeader,
} from './spool-frames.js';
import { step } from './steps.js';

/** Bytes that an entry holds in memory before it has a file: most entries end before they have as much. */
const HELD_BYTES = 32 * 1024;
/** The same of all entries of a spool. */
const MAX_HELD_BYTES = 2 * 1024 * 1024;
/** A frame, and with it a write: smaller ones cost a wake-up of the writing thread each. */
const FRAME_BYTES = 128 * 1024;
/** The longest character: what a frame may lack to be full. */
const CHARACTER_BYTES = 4;
/**
 * How much is written between two hints to the disk. Without them a big entry meets the disk at its end, all
 * at once: the final sync then takes as long as the rest of the work together, and syncs of other entries,
 * which share the file system's journal with it, wait for all that was written of it so far.
 */
const WRITE_BACK_BYTES = 2 * 1024 * 1024;

const END = Buffer.alloc(0);
const NEW_FILE = ['wx', 0o640] as const;

const openAside = promisify(open);
const sync = promisify(fsync);
const syncData = promisify(fdatasync);
const remove = promisify(unlink);

/** Frames written from and used again. Fresh buffers for every frame cost more memory than all the rest: they
 * live outside the heap, where the garbage collector does not see their size in time. */
export class FrameBuffers {
  readonly #free: Buffer[] = [];
  readonly #plenty: number;
  #lent = 0;
  /** Bytes that entries without a file hold in memory. */
  heldBytes = 0;

  /** @param plenty how many unused ones stay, and how many may be in use before they are scarce */
  constructor(plenty: number) {
    this.#plenty = plenty;
  }

  /** Many entries are being written: none may sit on a frame that is not full. */
  get scarce(): boolean {
    return this.#lent > this.#plenty;
  }

  take(): Buffer {
    this.#lent += 1;
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(FRAME_BYTES);
  }

  give(buffer: Buffer): void {
    this.#lent -= 1;
    if (this.#free.length < this.#plenty) this.#free.push(buffer);
  }
}

interface WriterHooks {
  buffers: FrameBuffers;
  steps: string;
  fail: (error: unknown) => void;
  /** Bytes this entry adds to (negative: no longer takes from) what is being written. */
  onBytes: (bytes: number) => void;
  /** A small entry is being synced; what it returns is called when that has ended, well with `promise` called
   * before. */
  syncing: () => () => void;
  /** Names the synced file; resolves once the name is synced, too. */
  promise: (label: string, bytes: number) => Promise<SpoolEntry>;
}

export class SpoolWriter {
  readonly #path: string;
  readonly #hooks: WriterHooks;
  readonly #head: Uint8Array[];
  #fd: number | undefined;
  /** Text of an entry that has no file yet, and its size in bytes. */
  #held = '';
  #heldBytes = 0;
  readonly #encoder = new TextEncoder();
  /** The frame being filled, and how far. */
  #frame: Buffer | undefined;
  #filled = FRAME_HEAD_BYTES;
  #frames = 0;
  #queue: Uint8Array[] = [];
  /** Frames of the queue to use again, by the piece each holds. */
  #lent = new Map<Uint8Array, Buffer>();
  #queuedBytes = 0;
  #bytes = 0;
  #sinceWriteBack = 0;
  #pumping: Promise<void> | undefined;
  #writingBack: Promise<void> | undefined;
  #error: unknown;
  #done = false;
  /** True once the last frame was written. */
  #isWhole = false;

  constructor(path: string, header: SpoolHeader, hooks: WriterHooks) {
    this.#path = path;
    this.#hooks = hooks;
    this.#head = [MAGIC, frameOf(this.#frames++, Buffer.from(JSON.stringify(header)))];
  }

  /** Bytes waiting to be written: await `drained` when they are many. */
  get waitingBytes(): number {
    return this.#queuedBytes;
  }

  /**
   * Adds text. Errors of writing appear in `drained` and `commit`.
   * @throws LccError `io.full` or `io` when no file can be made for it
   */
  write(text: string): void {
    if (this.#fd !== undefined) return this.#fill(this.#fd, text);
    const bytes = Buffer.byteLength(text);
    this.#held += text;
    this.#hold(bytes);
    if (this.#heldBytes > HELD_BYTES || this.#hooks.buffers.heldBytes > MAX_HELD_BYTES) this.#begin();
  }

  #hold(bytes: number): void {
    this.#heldBytes += bytes;
    this.#hooks.buffers.heldBytes += bytes;
    this.#hooks.onBytes(bytes);
  }

  /** Gives the entry a file, in which all that comes is written at once. */
  #begin(): void {
    const fd = (this.#fd = this.#open());
    for (const piece of this.#head) this.#enqueue(fd, piece);
    const held = this.#held;
    this.#letGo();
    this.#fill(fd, held);
  }

  #letGo(): void {
    this.#held = '';
    this.#hold(-this.#heldBytes);
  }

  #open(): number {
    try {
      return openSync(this.#path, ...NEW_FILE);
    } catch (error) {
      throw asSpoolError(this.#path, error);
    }
  }

  #fill(fd: number, text: string): void {
    let rest = text;
    while (rest !== '') {
      this.#frame ??= this.#hooks.buffers.take();
      const { read, written } = this.#encoder.encodeInto(rest, this.#frame.subarray(this.#filled));
      this.#filled += written;
      rest = rest.slice(read);
      if (rest !== '' || FRAME_BYTES - this.#filled < CHARACTER_BYTES) this.#cut(fd);
    }
    if (this.#hooks.buffers.scarce) this.#cut(fd);
  }

  /** Resolves when what was cut into frames so far is written. @throws LccError `io.full` or `io` */
  async drained(): Promise<void> {
    if (this.#fd === undefined) this.#begin();
    while (this.#pumping !== undefined) await this.#pumping;
    if (this.#error !== undefined) throw asSpoolError(this.#path, this.#error);
  }

  /**
   * Makes the entry durable; from then on it will be delivered.
   * @throws LccError `io.full` or `io`; the entry is gone then
   */
  async commit(label: string): Promise<SpoolEntry> {
    // Others are not to wait for a big one.
    const ready = this.#fd === undefined ? this.#hooks.syncing() : () => {};
    try {
      const fd = this.#fd === undefined ? await this.#writeWhole() : await this.#writeEnd(this.#fd);
      step(`${this.#hooks.steps}.written`);
      await this.#writingBack;
      // safeguard: fsync before a spooled set gets its name
      await this.#synced(fd, sync);
      step(`${this.#hooks.steps}.synced`);
      closeSync(fd);
      this.#done = true;
      const promised = this.#hooks.promise(label, this.#bytes);
      ready();
      const entry = await promised;
      this.#hooks.onBytes(-this.#bytes);
      return entry;
    } catch (error) {
      if (!this.#done) await this.abort();
      else await this.#discard();
      throw asSpoolError(this.#path, error);
    } finally {
      ready();
    }
  }

  /**
   * The content written so far, in pieces, to be looked at before it is committed: nothing can be added any
   * more.
   * @throws LccError `io.full` or `io`
   */
  async *content(): AsyncGenerator<Buffer, void> {
    if (this.#fd === undefined) return yield Buffer.from(this.#held);
    await this.#writeEnd(this.#fd);
    const frames = readFrames(this.#path);
    // The header.
    frames.next();
    yield* frames;
  }

  async #writeEnd(fd: number): Promise<number> {
    if (!this.#isWhole) {
      this.#isWhole = true;
      this.#cut(fd);
      this.#enqueue(fd, frameOf(this.#frames, END));
    }
    await this.drained();
    return fd;
  }

  /**
   * An entry of which nothing has been written: all of it in one call, sooner done than handed to another
   * thread. To make its file is: that waits for the file system's journal where the disk has much to write,
   * and others would wait with it.
   */
  async #writeWhole(): Promise<number> {
    const pieces = [...this.#head];
    if (this.#held !== '') pieces.push(frameOf(this.#frames++, Buffer.from(this.#held)));
    pieces.push(frameOf(this.#frames, END));
    const whole = Buffer.concat(pieces);
    const fd = (this.#fd = await openAside(this.#path, ...NEW_FILE));
    this.#letGo();
    this.#bytes = whole.length;
    this.#hooks.onBytes(whole.length);
    writeAll(fd, whole);
    return fd;
  }

  /** Removes the entry as if it had never been begun. */
  async abort(): Promise<void> {
    if (this.#done) return;
    this.#done = true;
    this.#queue = [];
    while (this.#pumping !== undefined) await this.#pumping;
    await this.#writingBack?.catch(() => undefined);
    this.#letGo();
    if (this.#fd === undefined) return;
    closeSync(this.#fd);
    for (const piece of this.#lent.keys()) this.#giveBack(piece);
    if (this.#frame !== undefined) this.#hooks.buffers.give(this.#frame);
    this.#frame = undefined;
    await this.#discard();
  }

  async #discard(): Promise<void> {
    this.#hooks.onBytes(-this.#bytes);
    await remove(this.#path).catch(() => undefined);
  }

  #cut(fd: number): void {
    const frame = this.#frame;
    if (frame === undefined) return;
    const piece = frame.subarray(0, this.#filled);
    writeFrameHead(piece, this.#frames++);
    this.#lent.set(piece, frame);
    this.#frame = undefined;
    this.#filled = FRAME_HEAD_BYTES;
    this.#enqueue(fd, piece);
  }

  #enqueue(fd: number, piece: Uint8Array): void {
    this.#queue.push(piece);
    this.#queuedBytes += piece.length;
    this.#bytes += piece.length;
    this.#hooks.onBytes(piece.length);
    this.#pumping ??= this.#pump(fd);
  }

  async #pump(fd: number): Promise<void> {
    // All frames of this turn of the event loop go out in one call.
    await Promise.resolve();
    try {
      while (this.#queue.length > 0 && this.#error === undefined) await this.#writeQueue(fd);
    } catch (error) {
      this.#error = error;
    }
    this.#pumping = undefined;
  }

  async #writeQueue(fd: number): Promise<void> {
    const queue = this.#queue;
    this.#queue = [];
    await writeAllAside(fd, queue, bytes => {
      this.#queuedBytes -= bytes;
      this.#sinceWriteBack += bytes;
    });
    for (const piece of queue) this.#giveBack(piece);
    if (this.#sinceWriteBack >= WRITE_BACK_BYTES && this.#writingBack === undefined) {
      this.#sinceWriteBack = 0;
      this.#writingBack = this.#synced(fd, syncData).finally(() => (this.#writingBack = undefined));
      this.#writingBack.catch((error: unknown) => (this.#error ??= error));
    }
  }

  #giveBack(piece: Uint8Array): void {
    const frame = this.#lent.get(piece);
    if (frame === undefined) return;
    this.#lent.delete(piece);
    this.#hooks.buffers.give(frame);
  }

  /** A sync that fails for want of space has lost this entry alone; any other failure ends the process. */
  async #synced(fd: number, how: (fd: number) => Promise<void>): Promise<void> {
    try {
      await how(fd);
    } catch (error) {
      const wrapped = asSpoolError(this.#path, error);
      if (wrapped.code !== 'io.full') this.#hooks.fail(wrapped);
      throw wrapped;
    }
  }
}
