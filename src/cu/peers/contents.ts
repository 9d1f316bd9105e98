/**
 * Content that lies on other machines of the LCC, from their Bot Managers. A row names a machine by its
 * machine id; which of the machines that is, they are asked, all at once, when it is met first:
 *
 *     met first ──one of them says it──▶ known ──answers with another id──▶ met first
 *         ├──none does, some are away──▶ away    known ──is away──▶ away for a while: not asked again
 *         ╰──none does──▶ nobody's: as it is on a machine that no setting names
 */
import { SECOND } from '../../config/amounts.js';
import { doorOf, machinesOf, ownName } from '../../config/cluster.js';
import type { Settings } from '../../config/settings/index.js';
import { trustOf } from '../../daemon/machines.js';
import type { Clock } from '../../lib/clock.js';
import type { Trust } from '../../lib/dial.js';
import type { Endpoint } from '../../lib/endpoint.js';
import { LccError, messageOf } from '../../lib/errors.js';
import { ArrivingContent } from '../arriving-content.js';
import type { StoredContent } from '../stored-content.js';
import { askPeer } from './ask.js';

/** Time until a machine that was away is asked again, and one looked for that none of them was. */
const REST_MS = 10 * SECOND;

export interface PeersOptions {
  /** The content doors of the others. */
  endpoints: readonly Endpoint[];
  /** The certificates of a connection. */
  trust: () => Trust;
  clock: Clock;
}

/** Undefined where there is but one machine. */
export function peersOf(
  { cluster, net }: Pick<Settings, 'cluster' | 'net'>,
  clock: Clock,
): PeersOptions | undefined {
  const others = machinesOf(cluster).filter(({ name }) => name !== ownName(cluster));
  if (others.length === 0) return undefined;
  return { endpoints: others.map(machine => doorOf(machine, 'content')), trust: () => trustOf(net), clock };
}

/** `why` is undefined where no machine has that id. */
export type Brought = { content: StoredContent } | { why: string | undefined };

export class PeerContents {
  readonly #options: PeersOptions;
  /** By machine id. */
  readonly #known = new Map<string, Endpoint>();
  /** Failures not tried again for a while, by endpoint; and machine ids that none had. */
  readonly #away = new Map<Endpoint | string, { untilMs: number; error: LccError | undefined }>();

  constructor(options: PeersOptions) {
    this.#options = options;
  }

  /**
   * The content of a row, its md5 verified.
   * @throws LccError `try.later` where its machine does not answer; `config` where our certificates cannot be
   *   read, `io.full`
   */
  async fetch(machineId: string, fileId: string, md5: string): Promise<Brought> {
    try {
      return (
        (await this.#fetch(machineId, fileId, md5)) ?? (await this.#fetch(machineId, fileId, md5)) ?? NOBODYS
      );
    } catch (error) {
      if (!(error instanceof LccError) || error.code !== 'peer.unavailable') throw error;
      throw new LccError(
        'try.later',
        `content of machine ${machineId}: ${error.message}; run again when it answers (lccq --skip-away: without it)`,
        { cause: error },
      );
    }
  }

  /** Undefined where the machine that had this id has another one now. */
  async #fetch(machineId: string, fileId: string, md5: string): Promise<Brought | undefined> {
    const endpoint = this.#known.get(machineId) ?? (await this.#find(machineId));
    if (endpoint === undefined) return NOBODYS;
    const arriving = new ArrivingContent();
    try {
      const answer = await this.#ask(endpoint, fileId, piece => arriving.add(piece));
      if (answer.machineId !== machineId) {
        this.#known.delete(machineId);
        return undefined;
      }
      if (!answer.isThere) return { why: 'missing' };
      const content = arriving.finish(md5);
      return content === undefined ? { why: 'altered: its md5 differs' } : { content };
    } finally {
      arriving.drop();
    }
  }

  /** @throws LccError `peer.unavailable` where it may be one of those that are away */
  async #find(machineId: string): Promise<Endpoint | undefined> {
    if (this.#restOf(machineId) !== undefined) return undefined;
    const asked = this.#options.endpoints.map(async endpoint => {
      const answer = await this.#ask(endpoint, '', () => undefined);
      this.#known.set(answer.machineId, endpoint);
    });
    const failures = (await Promise.allSettled(asked)).flatMap(each =>
      each.status === 'rejected' ? [each.reason as unknown] : [],
    );
    const found = this.#known.get(machineId);
    if (found !== undefined) return found;
    const other = failures.find(error => !(error instanceof LccError) || error.code !== 'peer.unavailable');
    if (other !== undefined) throw other;
    if (failures.length > 0) throw new LccError('peer.unavailable', failures.map(messageOf).join(', '));
    this.#rest(machineId, undefined);
    return undefined;
  }

  async #ask(endpoint: Endpoint, path: string, take: (piece: Buffer) => void) {
    const resting = this.#restOf(endpoint)?.error;
    if (resting !== undefined) throw resting;
    try {
      return await askPeer({ ...this.#options, endpoint }, path, take);
    } catch (error) {
      if (error instanceof LccError && error.code === 'peer.unavailable') this.#rest(endpoint, error);
      throw error;
    }
  }

  #rest(which: Endpoint | string, error: LccError | undefined): void {
    this.#away.set(which, { untilMs: this.#options.clock.monotonicMs() + REST_MS, error });
  }

  /** Undefined where it may be asked. */
  #restOf(which: Endpoint | string) {
    const rest = this.#away.get(which);
    if (rest === undefined || rest.untilMs > this.#options.clock.monotonicMs()) return rest;
    this.#away.delete(which);
    return undefined;
  }
}

const NOBODYS: Brought = { why: undefined };
