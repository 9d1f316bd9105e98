/**
 * Files that no row points to any more are deleted on their machines. They wait in the table `freed`, written
 * in the transaction that let go of them: a machine that is away finds its deletions there, or in spool/fsm
 * (deletion-spool.ts), when its Bot Manager connects. A row goes only after the Bot Manager has said that the
 * file is gone.
 */
import type { FreedFile, FreedStore } from '../db/cache/freed.js';
import type { DeleteRequest } from '../wire/fetch.js';

/** Deletions on their way to one machine. */
const WINDOW = 64;

export interface DeletionTarget {
  delete(request: DeleteRequest): void;
}

interface Machine {
  target: DeletionTarget;
  cursor: number;
  out: number;
  /** The files noted when none was left after the cursor: until there are more none is looked for. */
  dryAt: number | undefined;
}

export class Deletions {
  readonly #freed: FreedStore;
  readonly #nextId: () => number;
  readonly #gone: (fid: number) => void;
  readonly #machines = new Map<string, Machine>();
  readonly #out = new Map<number, { machineid: string; file: FreedFile; target: DeletionTarget }>();

  /** @param nextId ids of requests @param gone a file is deleted: forget its row */
  constructor(freed: FreedStore, nextId: () => number, gone: (fid: number) => void) {
    this.#freed = freed;
    this.#nextId = nextId;
    this.#gone = gone;
  }

  /** Machines that can be reached through `target`, instead of those before. */
  setMachines(target: DeletionTarget, machineids: readonly string[]): void {
    for (const [id, machine] of this.#machines) {
      if (machine.target === target && !machineids.includes(id)) this.#machines.delete(id);
    }
    for (const id of machineids) {
      if (this.#machines.get(id)?.target !== target)
        this.#machines.set(id, { target, cursor: 0, out: 0, dryAt: undefined });
    }
    this.pump();
  }

  /** True if deletions can be sent to that machine. */
  reaches(machineid: string): boolean {
    return this.#machines.has(machineid);
  }

  /** The connection is gone; what was asked over it is asked again later. */
  removeTarget(target: DeletionTarget): void {
    for (const [id, request] of this.#out) if (request.target === target) this.#out.delete(id);
    for (const [id, machine] of this.#machines) if (machine.target === target) this.#machines.delete(id);
  }

  /** Sends what there is to send. */
  pump(): void {
    for (const [machineid, machine] of this.#machines) {
      if (machine.out > WINDOW / 2 || machine.dryAt === this.#freed.added) continue;
      const room = WINDOW - machine.out;
      const files = this.#freed.page(machineid, machine.cursor, room);
      machine.dryAt = files.length < room ? this.#freed.added : undefined;
      for (const file of files) {
        const id = this.#nextId();
        machine.cursor = file.fid;
        machine.out++;
        this.#out.set(id, { machineid, file, target: machine.target });
        machine.target.delete({ id, machineId: machineid, fileId: file.fileid });
      }
    }
  }

  /** @returns false for an id that was not asked over this connection */
  answered(target: DeletionTarget, id: number, status: 'ok' | 'away'): boolean {
    const request = this.#out.get(id);
    if (request === undefined || request.target !== target) return false;
    this.#out.delete(id);
    const machine = this.#machines.get(request.machineid);
    if (machine?.target === target) {
      machine.out--;
      // Below a relay the machine went away: it is asked again when the relay names it again.
      if (status === 'away') this.#machines.delete(request.machineid);
    }
    // safeguard: freed rows staying until their file is gone
    if (status === 'ok') this.#gone(request.file.fid);
    this.pump();
    return true;
  }
}
