/**
 * Machines with a store, each reached over one connection at a time, and what they are asked: deletions
 * (deletions.ts), checks and syncs (sync-points.ts), adoptions (moves/adoptions.ts). Each is answered over
 * the connection that it was sent over, or with `away` when that is gone: also while the Queue Manager stops.
 * A machine that is away below a relay is not reached before the relay names it again.
 */
import type { DeleteRequest } from '../wire/fetch.js';
import type { UpkeepRequest, UpkeepResult } from '../wire/upkeep.js';

/** A connection over which machines are reached. */
export interface MachinePeer {
  delete(request: DeleteRequest): void;
  upkeep(request: UpkeepRequest): void;
}

/** Told of each machine that is reached from now on, and of each that is not any more. */
interface Watcher {
  came(machineId: string): void;
  left?(machineId: string): void;
}

type Kind = 'delete' | UpkeepRequest['kind'];

interface Errand {
  kind: Kind;
  peer: MachinePeer;
  machineId: string;
  done: (done: Pick<UpkeepResult, 'status' | 'fileId'>) => void;
}

export class MachineErrands {
  readonly #nextId: () => number;
  readonly #peers = new Map<string, MachinePeer>();
  readonly #out = new Map<number, Errand>();
  readonly #watchers: Watcher[] = [];

  /** @param nextId ids of requests */
  constructor(nextId: () => number) {
    this.#nextId = nextId;
  }

  watch(watcher: Watcher): void {
    this.#watchers.push(watcher);
  }

  reaches(machineId: string): boolean {
    return this.#peers.has(machineId);
  }

  /** Machines that can be reached over `peer`, instead of those before. */
  setMachines(peer: MachinePeer, machineIds: readonly string[]): void {
    for (const [id, known] of this.#peers) if (known === peer && !machineIds.includes(id)) this.#leave(id);
    for (const id of machineIds) {
      if (this.#peers.get(id) === peer) continue;
      if (this.#peers.has(id)) this.#leave(id);
      this.#peers.set(id, peer);
      for (const watcher of this.#watchers) watcher.came(id);
    }
  }

  /** The connection is gone. */
  removePeer(peer: MachinePeer): void {
    this.setMachines(peer, []);
    for (const [id, errand] of this.#out)
      if (errand.peer === peer) this.answered(peer, errand.kind, { id, status: 'away' });
  }

  /** Asks a machine. @param send the request, under an id */
  ask(
    machineId: string,
    kind: Kind,
    send: (peer: MachinePeer, id: number) => void,
    done: Errand['done'],
  ): void {
    const peer = this.#peers.get(machineId);
    if (peer === undefined) return done({ status: 'away' });
    const id = this.#nextId();
    this.#out.set(id, { kind, peer, machineId, done });
    send(peer, id);
  }

  /** @returns false where nothing of that kind was asked over this connection: the answer is passed over */
  answered(
    peer: MachinePeer,
    kind: Kind,
    { id, status, fileId }: Pick<UpkeepResult, 'id' | 'status' | 'fileId'>,
  ): boolean {
    const errand = this.#out.get(id);
    if (errand?.peer !== peer || errand.kind !== kind) return false;
    this.#out.delete(id);
    if (status === 'away' && this.#peers.get(errand.machineId) === peer) this.#leave(errand.machineId);
    errand.done({ status, fileId });
    return true;
  }

  #leave(machineId: string): void {
    this.#peers.delete(machineId);
    for (const watcher of this.#watchers) watcher.left?.(machineId);
  }
}
