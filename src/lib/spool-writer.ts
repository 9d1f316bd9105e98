/** An entry of a spool being written: text in, frames on disk, bounded memory. See spool.ts for the life of an entry. */
import { closeSync, fdatasync, fsync, openSync, unlink, writev } from 'node:fs';
import { promisify } from 'node:util';
import { asSpoolError, frameHead, MAGIC, type SpoolEntry, type SpoolHeader } from './spool-frames.js';
import { step } from './steps.js';

const FRAME_CHARACTERS = 64 * 1024;
/**
 * How much is written between two hints to the disk. Without them a big entry meets the disk at its end, all at once:
 * the final sync then takes as long as the rest of the work together.
 */
const WRITE_BACK_BYTES = 8 * 1024 * 1024;

const writeVector = promisify(writev);
const sync = promisify(fsync);
const syncData = promisify(fdatasync);
const remove = promisify(unlink);

export interface WriterHooks {
  steps: string;
  fail: (error: unknown) => void;
  /** Bytes this entry adds to (negative: no longer takes from) what is being written. */
  onBytes: (bytes: number) => void;
  /** Names the synced file; resolves once the name is synced, too. */
  promise: (label: string, bytes: number) => Promise<SpoolEntry>;
}

export class SpoolWriter {
  readonly #path: string;
  readonly #hooks: WriterHooks;
  readonly #fd: number;
  #text: string[] = [];
  #textLength = 0;
  #frames = 0;
  #queue: Uint8Array[] = [];
  #queuedBytes = 0;
  #bytes = 0;
  #sinceWriteBack = 0;
  #pumping: Promise<void> | undefined;
  #writingBack: Promise<void> | undefined;
  #error: unknown;
  #done = false;

  /** @throws LccError `io.full` or `io` */
  constructor(path: string, header: SpoolHeader, hooks: WriterHooks) {
    this.#path = path;
    this.#hooks = hooks;
    try {
      this.#fd = openSync(path, 'wx', 0o640);
    } catch (error) {
      throw asSpoolError(path, error);
    }
    this.#enqueue(MAGIC);
    this.#frame(Buffer.from(JSON.stringify(header)));
  }

  /** Bytes of the entry so far, written or waiting to be. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Bytes waiting to be written: await `drained` when they are many. */
  get waitingBytes(): number {
    return this.#queuedBytes;
  }

  /** Adds text. Errors of writing appear in `drained` and `commit`. */
  write(text: string): void {
    this.#text.push(text);
    this.#textLength += text.length;
    if (this.#textLength >= FRAME_CHARACTERS) this.#cut();
  }

  /** Resolves when what was cut into frames so far is written. @throws LccError `io.full` or `io` */
  async drained(): Promise<void> {
    while (this.#pumping !== undefined) await this.#pumping;
    if (this.#error !== undefined) throw asSpoolError(this.#path, this.#error);
  }

  /**
   * Makes the entry durable; from then on it will be delivered.
   * @throws LccError `io.full` or `io`; the entry is gone then
   */
  async commit(label: string): Promise<SpoolEntry> {
    try {
      this.#cut();
      this.#enqueue(frameHead(this.#frames, Buffer.alloc(0)));
      await this.drained();
      step(`${this.#hooks.steps}.written`);
      await this.#writingBack;
      await this.#synced(sync);
      step(`${this.#hooks.steps}.synced`);
      closeSync(this.#fd);
      this.#done = true;
      const entry = await this.#hooks.promise(label, this.#bytes);
      this.#hooks.onBytes(-this.#bytes);
      return entry;
    } catch (error) {
      if (!this.#done) await this.abort();
      else await this.#discard();
      throw asSpoolError(this.#path, error);
    }
  }

  /** Removes the entry as if it had never been begun. */
  async abort(): Promise<void> {
    if (this.#done) return;
    this.#done = true;
    this.#queue = [];
    while (this.#pumping !== undefined) await this.#pumping;
    await this.#writingBack?.catch(() => undefined);
    closeSync(this.#fd);
    await this.#discard();
  }

  async #discard(): Promise<void> {
    this.#hooks.onBytes(-this.#bytes);
    await remove(this.#path).catch(() => undefined);
  }

  #cut(): void {
    if (this.#textLength === 0) return;
    const text = this.#text.length === 1 ? (this.#text[0] ?? '') : this.#text.join('');
    this.#text = [];
    this.#textLength = 0;
    const payload = Buffer.from(text);
    for (let from = 0; from < payload.length; from += FRAME_CHARACTERS)
      this.#frame(payload.subarray(from, from + FRAME_CHARACTERS));
  }

  #frame(payload: Uint8Array): void {
    this.#enqueue(frameHead(this.#frames++, payload), payload);
  }

  #enqueue(...pieces: Uint8Array[]): void {
    let bytes = 0;
    for (const piece of pieces) bytes += piece.length;
    this.#queue.push(...pieces);
    this.#queuedBytes += bytes;
    this.#bytes += bytes;
    this.#hooks.onBytes(bytes);
    this.#pumping ??= this.#pump();
  }

  async #pump(): Promise<void> {
    // What is added in this turn of the event loop goes out in one call.
    await Promise.resolve();
    try {
      while (this.#queue.length > 0 && this.#error === undefined) await this.#writeQueue();
    } catch (error) {
      this.#error = error;
    }
    this.#pumping = undefined;
  }

  async #writeQueue(): Promise<void> {
    let pieces = this.#queue;
    this.#queue = [];
    while (pieces.length > 0) {
      const { bytesWritten } = await writeVector(this.#fd, pieces);
      this.#queuedBytes -= bytesWritten;
      this.#sinceWriteBack += bytesWritten;
      pieces = rest(pieces, bytesWritten);
    }
    if (this.#sinceWriteBack >= WRITE_BACK_BYTES && this.#writingBack === undefined) {
      this.#sinceWriteBack = 0;
      this.#writingBack = this.#synced(syncData).finally(() => (this.#writingBack = undefined));
      this.#writingBack.catch((error: unknown) => (this.#error ??= error));
    }
  }

  /** A sync that fails for want of space has lost this entry alone; any other failure ends the process. */
  async #synced(how: (fd: number) => Promise<void>): Promise<void> {
    try {
      await how(this.#fd);
    } catch (error) {
      const wrapped = asSpoolError(this.#path, error);
      if (wrapped.code !== 'io.full') this.#hooks.fail(wrapped);
      throw wrapped;
    }
  }
}

/** What a write that took `written` bytes has left. */
function rest(pieces: Uint8Array[], written: number): Uint8Array[] {
  let taken = written;
  for (const [index, piece] of pieces.entries()) {
    if (taken < piece.length) return [piece.subarray(taken), ...pieces.slice(index + 1)];
    taken -= piece.length;
  }
  return [];
}
