/** Files of the store on their way into it: how each is put in place, by this thread or by that of
 * FileWriter. */
import type { Clock } from '../lib/clock.js';
import { FileSink } from '../fetch/file-sink.js';
import type { Sink } from '../fetch/sink.js';
import { FileWriter } from './writer.js';

/** The robot that fetches into a file, as far as that matters here. */
export interface FileOwner {
  /** True if there is other work meanwhile: a thread is worth its two messages only then. */
  isBusy(): boolean;
  /** True if a caller waits for this one: it must not wait for others on its way to its place. */
  isAwaited(): boolean;
  /** All has come, and it is on its way to its place. At most once, and before the fetch has its outcome. */
  received(): void;
}

export class StoreFiles {
  readonly writer = new FileWriter();
  readonly syncContent: boolean;
  readonly #run: string;
  #attempts = 0;

  /** @param syncContent sync every file and its directory before its fetch is done */
  constructor(syncContent: boolean, clock: Clock) {
    this.syncContent = syncContent;
    // Unique across restarts and machines sharing a store; nobody gains by guessing it, so it need not load
    // all of crypto.
    this.#run = [process.pid, clock.nowMs(), Math.floor(Math.random() * 2 ** 48)]
      .map(part => part.toString(36))
      .join('-');
  }

  /** A destination; its directory is made if missing, an existing file is replaced. */
  sinkFor(path: string, owner: FileOwner): Sink {
    return new StoreFile(path, `${this.#run}-${++this.#attempts}`, this, owner);
  }

  /** Ends the thread once it has nothing to do. */
  close(): void {
    this.writer.close();
  }
}

class StoreFile extends FileSink {
  readonly #files: StoreFiles;
  readonly #owner: FileOwner;

  constructor(path: string, attempt: string, files: StoreFiles, owner: FileOwner) {
    super(path, attempt, files.syncContent);
    this.#files = files;
    this.#owner = owner;
  }

  override finish(expected: string | undefined, done: (error: unknown, md5: string) => void): void {
    const { writer, syncContent } = this.#files;
    const isAside = !syncContent && this.#owner.isBusy() && !this.#owner.isAwaited() && writer.isReady;
    const whole = isAside ? this.takeWhole() : undefined;
    if (whole === undefined) {
      super.finish(expected, done);
      return;
    }
    writer.write(whole, expected, done);
    // Bytes that wait for the disk are bounded by those who wait with them.
    if (!writer.crowded) this.#owner.received();
  }
}
