/**
 * Content of a provider that comes from another shard: the Bot Manager of its machine makes it content of
 * this shard's store, too (`<adopt/>`). A machine that is away is waited for once, for a while; what it has
 * is fetched again. One that is here and does not find the other store is not set up for moves: all would be
 * fetched again for a mistake.
 */
import type { ContentFile } from '../../db/moves/arrival.js';
import { nameOf } from '../../db/names/naming.js';
import type { Clock } from '../../lib/clock.js';
import { LccError } from '../../lib/errors.js';
import type { Log } from '../../lib/log.js';
import type { UpkeepResult } from '../../wire/upkeep.js';
import type { MachineErrands } from '../machine-errands.js';

export interface AdoptionsOptions {
  clock: Clock;
  log: Log;
  errands: MachineErrands;
  /** How long a machine is waited for. */
  patienceMs: number;
}

/** A machine does not find the store of the shard that a provider comes from. */
export class NoSuchStore extends LccError {}

const RETRY_MS = 200;
/** Tries of what a store could not do, such as one that is full. */
const TRIES = 25;

export class Adoptions {
  readonly #options: AdoptionsOptions;
  /** Since when a machine is waited for; it is not waited for again before it was here. */
  readonly #missingSinceMs = new Map<string, number>();

  constructor(options: AdoptionsOptions) {
    this.#options = options;
    options.errands.watch({ came: id => void this.#missingSinceMs.delete(id) });
  }

  /** @param shard where it is @returns its file here; undefined when it cannot be had @throws NoSuchStore */
  async adopt(file: ContentFile, shard: number): Promise<string | undefined> {
    const { log, errands } = this.#options;
    for (let tries = 0; tries < TRIES;) {
      if (!errands.reaches(file.machineId)) {
        if (!this.#mayCome(file.machineId)) return undefined;
      } else {
        const { status, fileId } = await this.#ask(file, shard);
        if (status === 'ok' && fileId !== undefined && nameOf(fileId) !== undefined) return fileId;
        if (status === 'nowhere')
          throw new NoSuchStore(
            'config',
            `machine ${file.machineId} finds no store of home ${shard} beside its own; put it, or a link to it, where lccmap(8) says`,
          );
        if (status === 'bad' || status === 'ok') break;
        if (status !== 'away') tries++;
      }
      await new Promise<void>(resolve => void this.#options.clock.after(RETRY_MS, resolve));
    }
    log.warn('content cannot be had from its other store, and is fetched again', {
      machine: file.machineId,
      fileid: file.fileId,
    });
    return undefined;
  }

  #ask({ machineId, fileId, md5, len }: ContentFile, shard: number) {
    return new Promise<Pick<UpkeepResult, 'status' | 'fileId'>>(answered =>
      this.#options.errands.ask(
        machineId,
        'adopt',
        (peer, id) => peer.upkeep({ kind: 'adopt', id, machineId, shard, fileId, md5, len }),
        answered,
      ),
    );
  }

  #mayCome(machineId: string): boolean {
    const nowMs = this.#options.clock.monotonicMs();
    const sinceMs = this.#missingSinceMs.get(machineId) ?? nowMs;
    this.#missingSinceMs.set(machineId, sinceMs);
    return nowMs - sinceMs < this.#options.patienceMs;
  }
}
