/** Makes a set and the state it leads to: both stand complete and synced under their names before a byte of
 * the set leaves us, the set first, so that it is in doubt from the moment it could be sent. */
import { closeSync, fchmodSync, fstatSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { syncDirectory } from '../../lib/durable.js';
import { LccError, reasonOf } from '../../lib/errors.js';
import { ownMark } from '../../lib/process-mark.js';
import { Output, readChunksAt } from '../../lib/stdio.js';
import { step } from '../../lib/steps.js';
import { STREAM_END, streamHead } from '../../wire/url-stream.js';
import { identityOf, pendingPath, setPath, temporaryPath } from './kept.js';

/** The statefile that a set was made from; it stands in the first line of the set's file. */
export interface Origin {
  /** Identity of the statefile; '' where there was none. */
  base: string;
  /** Sets in doubt whose urls it names too: once it is accepted, they are settled. */
  settles: readonly string[];
}

export class PendingWriter {
  readonly #state: string;
  readonly #headLength: number;
  readonly #pending: TemporaryFile;
  readonly #set: TemporaryFile;
  /** Once finished: what the state is known by. */
  id = '';

  /** @param state the statefile's real path; @param mode permissions of the new one */
  constructor(state: string, mode: number, { base, settles }: Origin) {
    this.#state = state;
    const mark = ownMark();
    this.#pending = new TemporaryFile(temporaryPath(state, 'pending', mark), state, mode);
    this.#set = new TemporaryFile(temporaryPath(state, 'made', mark), state, mode);
    const head = streamHead({ base, settles: settles.join(' ') });
    this.#headLength = head.length;
    this.#set.write(head);
  }

  writeState(line: string): void {
    this.#pending.write(`${line}\n`);
  }

  writeSet(line: string): void {
    this.#set.write(`${line}\n`);
  }

  /** Makes both durable under their names. */
  finish(): void {
    this.#set.write(STREAM_END);
    this.#set.sync();
    this.#pending.sync();
    step('state.pending.synced');
    const id = this.#pending.identity();
    renameSync(this.#set.path, setPath(this.#state, 'made', id));
    renameSync(this.#pending.path, pendingPath(this.#state, id));
    syncDirectory(dirname(this.#state));
    this.id = id;
    step('state.pending.renamed');
  }

  /** The set with its end, without its beginning; or, as one, the whole state, which has neither. */
  chunks(what: 'set' | 'state'): Generator<Buffer, void, undefined> {
    return what === 'set' ? this.#set.chunks(this.#headLength) : this.#pending.chunks(0);
  }

  /** Removes what has no name yet. */
  close(): void {
    for (const file of [this.#set, this.#pending]) file.close(this.id === '');
  }
}

class TemporaryFile {
  readonly path: string;
  readonly #fd: number;
  readonly #out: Output;

  /** @throws LccError `output.create` */
  constructor(path: string, state: string, mode: number) {
    this.path = path;
    try {
      this.#fd = openSync(path, 'w+', mode);
    } catch (error) {
      throw new LccError('output.create', `cannot write beside the statefile ${state}: ${reasonOf(error)}`, {
        cause: error,
      });
    }
    fchmodSync(this.#fd, mode);
    this.#out = new Output(this.#fd, { encoding: 'latin1', where: path, blockLength: 256 * 1024 });
  }

  write(text: string): void {
    this.#out.write(text);
  }

  sync(): void {
    this.#out.flush();
    fsyncSync(this.#fd);
  }

  identity(): string {
    return identityOf(fstatSync(this.#fd, { bigint: true }));
  }

  chunks(from: number): Generator<Buffer, void, undefined> {
    return readChunksAt(this.#fd, from, this.path);
  }

  close(isUseless: boolean): void {
    closeSync(this.#fd);
    if (isUseless) rmSync(this.path, { force: true });
  }
}
