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
import type { UpkeepTarget } from '../sync-points.js';

export interface AdoptionsOptions {
  clock: Clock;
  log: Log;
  nextId: () => number;
  /** How long a machine is waited for. */
  patienceMs: number;
}

/** A machine does not find the store of the shard that a provider comes from. */
export class NoSuchStore extends LccError {}

interface Asked {
  target: UpkeepTarget;
  answered: (result: Pick<UpkeepResult, 'status' | 'fileId'>) => void;
}

const RETRY_MS = 200;
/** Tries of what a store could not do, such as one that is full. */
const TRIES = 25;

export class Adoptions {
  readonly #options: AdoptionsOptions;
  readonly #machines = new Map<string, UpkeepTarget>();
  readonly #asked = new Map<number, Asked>();
  /** Since when a machine is waited for; it is not waited for again before it was here. */
  readonly #missingSinceMs = new Map<string, number>();

  constructor(options: AdoptionsOptions) {
    this.#options = options;
  }

  /** Machines that can be reached through `target`, instead of those before. */
  setMachines(target: UpkeepTarget, machineIds: readonly string[]): void {
    for (const [id, known] of this.#machines) if (known === target) this.#machines.delete(id);
    for (const id of machineIds) {
      this.#machines.set(id, target);
      this.#missingSinceMs.delete(id);
    }
  }

  /** The connection is gone. */
  removeTarget(target: UpkeepTarget): void {
    this.setMachines(target, []);
    for (const [id, asked] of this.#asked)
      if (asked.target === target) this.answered(target, { id, status: 'away' });
  }

  /** An answer to nothing asked, or not over this connection, is passed over. */
  answered(
    target: UpkeepTarget,
    { id, status, fileId }: Pick<UpkeepResult, 'id' | 'status' | 'fileId'>,
  ): void {
    const asked = this.#asked.get(id);
    if (asked?.target !== target) return;
    this.#asked.delete(id);
    asked.answered({ status, fileId });
  }

  /** @param shard where it is @returns its file here; undefined when it cannot be had @throws NoSuchStore */
  async adopt(file: ContentFile, shard: number): Promise<string | undefined> {
    const { log } = this.#options;
    for (let tries = 0; tries < TRIES;) {
      const target = this.#machines.get(file.machineId);
      if (target === undefined) {
        if (!this.#mayCome(file.machineId)) return undefined;
      } else {
        const { status, fileId } = await this.#ask(target, file, shard);
        if (status === 'ok' && fileId !== undefined && nameOf(fileId) !== undefined) return fileId;
        if (status === 'nowhere')
          throw new NoSuchStore(
            'config',
            `machine ${file.machineId} finds no store of home ${shard} beside its own; put it, or a link to it, where lccmap(8) says`,
          );
        if (status === 'bad' || status === 'ok') break;
        if (status === 'away') this.#machines.delete(file.machineId);
        else tries++;
      }
      await new Promise<void>(resolve => void this.#options.clock.after(RETRY_MS, resolve));
    }
    log.warn('content cannot be had from its other store, and is fetched again', {
      machine: file.machineId,
      fileid: file.fileId,
    });
    return undefined;
  }

  #ask(target: UpkeepTarget, { machineId, fileId, md5, len }: ContentFile, shard: number) {
    const id = this.#options.nextId();
    return new Promise<Pick<UpkeepResult, 'status' | 'fileId'>>(answered => {
      this.#asked.set(id, { target, answered });
      target.upkeep({ kind: 'adopt', id, machineId, shard, fileId, md5, len });
    });
  }

  #mayCome(machineId: string): boolean {
    const nowMs = this.#options.clock.monotonicMs();
    const sinceMs = this.#missingSinceMs.get(machineId) ?? nowMs;
    this.#missingSinceMs.set(machineId, sinceMs);
    return nowMs - sinceMs < this.#options.patienceMs;
  }
}
