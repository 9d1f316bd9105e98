/**
 * Files that no row points to any more are deleted on their machines. They wait in the table `freed`, written
 * in the transaction that let go of them: a machine that is away finds its deletions there, or in spool/fsm
 * (deletion-spool.ts), when its Bot Manager connects. A row goes only after the Bot Manager has said that the
 * file is gone. In a kept home it is first in the engine: the row that another file took the place of may
 * come back with another machine.
 */
import { OPEN_GATE, type Kept } from '../daemon/kept.js';
import type { FreedStore } from '../db/cache/freed.js';
import type { MachineErrands } from './machine-errands.js';

/** Deletions on their way to one machine. */
const WINDOW = 64;

interface Machine {
  cursor: number;
  out: number;
  /** The files noted when none was left after the cursor: until there are more none is looked for. */
  dryAt: number | undefined;
}

export class Deletions {
  readonly #freed: FreedStore;
  readonly #errands: MachineErrands;
  readonly #gone: (fid: number) => void;
  readonly #kept: Kept;
  readonly #maySend: () => boolean;
  /** Files up to this one are in the engine, and those up to that one are being asked for. */
  #shippedFid = 0;
  #askedFid = 0;
  readonly #machines = new Map<string, Machine>();

  /**
   * @param gone a file is deleted: forget its row
   * @param maySend whether anything may be sent
   */
  constructor(
    freed: FreedStore,
    errands: MachineErrands,
    gone: (fid: number) => void,
    kept = OPEN_GATE,
    maySend = () => true,
  ) {
    this.#freed = freed;
    this.#kept = kept;
    this.#maySend = maySend;
    this.#errands = errands;
    this.#gone = gone;
    errands.watch({
      came: id => {
        this.#machines.set(id, { cursor: 0, out: 0, dryAt: undefined });
        this.pump();
      },
      left: id => void this.#machines.delete(id),
    });
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
      for (const { fid, fileid } of files) {
        machine.cursor = fid;
        machine.out++;
        this.#errands.ask(
          machineid,
          'delete',
          (peer, id) => peer.delete({ id, machineId: machineid, fileId: fileid }),
          ({ status }) => {
            machine.out--;
            // safeguard: freed rows staying until their file is gone
            if (status === 'ok') this.#gone(fid);
            if (status !== 'away') this.pump();
          },
        );
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
}
