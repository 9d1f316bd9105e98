/**
 * Files that no row points to any more are deleted on their machines. They wait in the table `freed`, written
 * in the transaction that let go of them: a machine that is away finds its deletions there, or in spool/fsm
 * (deletion-spool.ts), when its Bot Manager connects. A row goes only after the Bot Manager has said that the
 * file is gone. In a kept home it is first in the engine: the row that another file took the place of may
 * come back with another machine.
 */
import { OPEN_GATE, type Kept } from '../daemon/kept.js';
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
  readonly #kept: Kept;
  readonly #maySend: () => boolean;
  /** Files up to this one are in the engine, and those up to that one are being asked for. */
  #shippedFid = 0;
  #askedFid = 0;
  readonly #machines = new Map<string, Machine>();
  readonly #out = new Map<number, { machineid: string; file: FreedFile; target: DeletionTarget }>();

  /**
   * @param nextId ids of requests
   * @param gone a file is deleted: forget its row
   * @param maySend whether anything may be sent
   */
  constructor(
    freed: FreedStore,
    nextId: () => number,
    gone: (fid: number) => void,
    kept = OPEN_GATE,
    maySend = () => true,
  ) {
    this.#freed = freed;
    this.#kept = kept;
    this.#maySend = maySend;
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
    this.#ask();
    if (!this.#maySend()) return;
    const upTo = this.#kept.isKept ? this.#shippedFid : Infinity;
    for (const [machineid, machine] of this.#machines) {
      if (machine.out > WINDOW / 2 || machine.dryAt === this.#freed.added) continue;
      const room = WINDOW - machine.out;
      const all = this.#freed.page(machineid, machine.cursor, room);
      // safeguard: deletions waiting for the engine
      const files = all.filter(({ fid }) => fid <= upTo);
      machine.dryAt = files.length === all.length && all.length < room ? this.#freed.added : undefined;
      for (const file of files) {
        const id = this.#nextId();
        machine.cursor = file.fid;
        machine.out++;
        this.#out.set(id, { machineid, file, target: machine.target });
        machine.target.delete({ id, machineId: machineid, fileId: file.fileid });
      }
    }
  }

  /** Asks whether the files noted by now are in the engine, one question at a time. */
  #ask(): void {
    if (!this.#kept.isKept || this.#askedFid > this.#shippedFid) return;
    const last = this.#freed.last();
    if (last <= this.#shippedFid) return;
    this.#askedFid = last;
    this.#kept.shipped('lcc').then(
      () => {
        this.#shippedFid = last;
        this.pump();
      },
      () => undefined,
    );
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
