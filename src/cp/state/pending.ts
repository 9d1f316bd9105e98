/**
 * The pending state: what becomes the statefile once the set has been accepted. It stands complete and synced under its
 * name before a single url of the set leaves us, and is known by its identity, not its name: whoever commits it commits this one only.
 */
import {
  closeSync,
  fchmodSync,
  fstatSync,
  fsyncSync,
  openSync,
  readdirSync,
  statSync,
  unlinkSync,
  type BigIntStats,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { renameDurably } from '../../lib/durable.js';
import { errnoOf, LccError } from '../../lib/errors.js';
import { Output } from '../../lib/stdio.js';
import { step } from '../../lib/steps.js';

/** What the head of a stream says of it: absolute paths. */
export interface PendingState {
  state: string;
  /** The same as `state` when nothing changed: there is nothing to commit then. */
  pending: string;
  /** Inode and modification time of the pending file; '' when there is nothing to commit. */
  id: string;
}

export class PendingWriter {
  readonly #state: string;
  readonly #temporary: string;
  readonly #fd: number;
  readonly #out: Output;
  #open = true;

  /** @param state the statefile's real path; @param mode permissions of the new one */
  constructor(state: string, mode: number) {
    this.#state = state;
    removeStale(state);
    this.#temporary = `${state}.pending.${process.pid}.tmp`;
    try {
      this.#fd = openSync(this.#temporary, 'w', mode);
    } catch (error) {
      throw new LccError(
        'output.create',
        `cannot write beside the statefile ${state}: ${errnoOf(error) ?? 'unknown error'}`,
        { cause: error },
      );
    }
    fchmodSync(this.#fd, mode);
    this.#out = new Output(this.#fd, { encoding: 'latin1', where: this.#temporary, blockLength: 256 * 1024 });
  }

  write(line: string): void {
    this.#out.write(`${line}\n`);
  }

  /** Makes it durable under its name. */
  finish(): PendingState {
    this.#out.flush();
    fsyncSync(this.#fd);
    step('state.pending.synced');
    const id = identityOf(fstatSync(this.#fd, { bigint: true }));
    closeSync(this.#fd);
    this.#open = false;
    const pending = `${this.#state}.pending`;
    renameDurably(this.#temporary, pending);
    step('state.pending.renamed');
    return { state: this.#state, pending, id };
  }

  /** Leaves nothing behind, unless it was finished. */
  discard(): void {
    if (!this.#open) return;
    this.#open = false;
    closeSync(this.#fd);
    unlinkSync(this.#temporary);
  }
}

/**
 * Makes a pending state the statefile.
 * @returns false when another run has replaced it meanwhile: nothing is committed, the next run sends the difference
 */
export function commitPending({ state, pending, id }: PendingState): boolean {
  if (pending === state) return true;
  try {
    if (identityOf(statSync(pending, { bigint: true })) !== id) return false;
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return false;
    throw error;
  }
  renameDurably(pending, state);
  step('state.committed');
  return true;
}

/** An inode alone is not enough: a later file may get the number of one that was replaced. */
export function identityOf(stats: BigIntStats): string {
  return `${stats.ino}-${stats.mtimeNs}`;
}

/** Removes what killed runs left behind. */
function removeStale(state: string): void {
  const prefix = `${basename(state)}.pending.`;
  for (const name of readdirSync(dirname(state))) {
    if (!name.startsWith(prefix)) continue;
    const pid = /^(\d+)\.tmp$/.exec(name.slice(prefix.length))?.[1];
    if (pid !== undefined && !isAlive(Number(pid))) unlinkSync(join(dirname(state), name));
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errnoOf(error) !== 'ESRCH';
  }
}
