/**
 * Errands of a relay for a certain machine (deletions, checks of its store): on its way to the branch that
 * has it, its answer back to the source that asked. When the machine is not there, or vanishes, the answer is
 * `away`.
 */
import type { DeleteRequest } from '../wire/fetch.js';
import type { UpkeepRequest, UpkeepResult } from '../wire/upkeep.js';
import type { Branch } from './branches.js';
import type { Upstream } from './upstream.js';

type Done = Pick<UpkeepResult, 'status' | 'fileId'>;

interface Errand {
  branch: Branch;
  machineId: string;
  kind: UpkeepRequest['kind'] | 'delete';
  answer(done: Done): void;
}

export class Errands {
  readonly #branchOf: (machineId: string) => Branch | undefined;
  readonly #nextNumber: () => number;
  readonly #upstream: Pick<Upstream, 'deleted' | 'upkept'>;
  readonly #out = new Map<number, Errand>();

  constructor(
    branchOf: (machineId: string) => Branch | undefined,
    nextNumber: () => number,
    upstream: Pick<Upstream, 'deleted' | 'upkept'>,
  ) {
    this.#branchOf = branchOf;
    this.#nextNumber = nextNumber;
    this.#upstream = upstream;
  }

  /** Errands not yet answered. */
  get size(): number {
    return this.#out.size;
  }
  get deletions(): number {
    let count = 0;
    for (const { kind } of this.#out.values()) if (kind === 'delete') count++;
    return count;
  }

  delete(source: number, request: DeleteRequest): void {
    const { id, machineId } = request;
    const answer = ({ status }: Done) =>
      this.#upstream.deleted(source, { id, status: status === 'ok' ? 'ok' : 'away' });
    this.#send('delete', machineId, answer, (branch, number) =>
      branch.peer.delete({ ...request, id: number }),
    );
  }

  upkeep(source: number, request: UpkeepRequest): void {
    const { kind, id, machineId } = request;
    const answer = (done: Done) => this.#upstream.upkept(source, { kind, id, ...done });
    this.#send(kind, machineId, answer, (branch, number) => branch.peer.upkeep({ ...request, id: number }));
  }

  /** A branch's answer; what it was not asked is passed over. */
  done(branch: Branch, number: number, done: Done): void {
    const errand = this.#out.get(number);
    if (errand?.branch !== branch) return;
    this.#out.delete(number);
    errand.answer(done);
  }

  /** The branch is gone, or one machine from it. */
  leave(branch: Branch, machineId?: string): void {
    for (const [number, errand] of this.#out) {
      if (errand.branch === branch && (machineId === undefined || errand.machineId === machineId))
        this.done(branch, number, { status: 'away' });
    }
  }

  #send(
    kind: Errand['kind'],
    machineId: string,
    answer: (done: Done) => void,
    send: (branch: Branch, number: number) => void,
  ): void {
    const branch = this.#branchOf(machineId);
    if (branch === undefined) return answer({ status: 'away' });
    const number = this.#nextNumber();
    this.#out.set(number, { branch, machineId, kind, answer });
    send(branch, number);
  }
}
