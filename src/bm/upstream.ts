/** The connection to the source of fetches (a QM, or a Bot Manager above): one at a time, a new one replaces
 * the one before. What was asked over a connection is answered over it or not at all. */
import type { Duplex } from 'node:stream';
import type { Clock } from '../lib/clock.js';
import { LccError, messageOf } from '../lib/errors.js';
import type { Log } from '../lib/log.js';
import type { DeleteRequest, DeleteResult, FetchRequest, FetchResult } from '../wire/fetch.js';
import type { ChannelLimits } from '../wire/messages.js';
import { SourcePeer, type Offer } from '../wire/qm-bm.js';
import type { UpkeepRequest, UpkeepResult } from '../wire/upkeep.js';

interface UpstreamHandlers {
  /** A later owner of the home asks from now on. */
  newEpoch?(epoch: number): void;
  /** @param source the number of the connection, never used again */
  fetch(source: number, request: FetchRequest): void;
  recall(source: number, lane: string, begun: boolean): void;
  delete(source: number, request: DeleteRequest): void;
  upkeep(source: number, request: UpkeepRequest): void;
  refused(machineId: string, why: string): void;
  /** The connection is gone: nobody waits for what it asked any more. @returns what the log says of that */
  lost(source: number): Record<string, number>;
}

interface UpstreamOptions {
  channel: ChannelLimits;
  clock: Clock;
  log: Log;
  /** Called when the source does not want this Bot Manager. */
  refused(reason: LccError): void;
}

/** How long a stop waits for what has begun. */
const STOP_WAIT_MS = 5000;

interface Source {
  readonly number: number;
  readonly peer: SourcePeer;
  /** Ids of requests not yet answered. */
  readonly open: Set<number>;
}

export class Upstream {
  readonly #options: UpstreamOptions;
  readonly #handlers: UpstreamHandlers;
  #source: Source | undefined;
  #sources = 0;
  /** The last offer made over this connection, as text to compare with. */
  #offered = '';
  /** The highest that any source has said. In memory alone: docs/design/keeping.md. */
  #epoch = 0;
  #stopping = false;
  #drained: (() => void) | undefined;

  constructor(options: UpstreamOptions, handlers: UpstreamHandlers) {
    this.#options = options;
    this.#handlers = handlers;
  }

  get connected(): boolean {
    return this.#source !== undefined;
  }

  /** True if the source knows of this Bot Manager; until then this Bot Manager may have work that it cannot
   * report. */
  get known(): boolean {
    return this.#source?.peer.heard === true;
  }

  get epoch(): number {
    return this.#epoch;
  }

  /** True if a request of that connection can still be answered. */
  has(source: number): boolean {
    return this.#source?.number === source;
  }

  /** Serves a connection; an earlier one, if it still stands, is given up for it. */
  serve(stream: Duplex, where: string): void {
    const earlier = this.#source;
    if (earlier !== undefined) {
      this.#closed(earlier, new LccError('peer.unavailable', `${where}: replaced by another connection`));
      earlier.peer.channel.destroy();
    }
    const open = new Set<number>();
    const number = ++this.#sources;
    const handlers = this.#handlers;
    const peer = new SourcePeer(
      stream,
      {
        epoch: epoch => this.#heard(epoch, where),
        fetch: request => {
          if (open.has(request.id))
            throw peer.channel.violation(`<fetch id="${request.id}">: that id is being fetched`);
          open.add(request.id);
          handlers.fetch(number, request);
        },
        recall: (lane, begun) => handlers.recall(number, lane, begun),
        delete: request => handlers.delete(number, request),
        upkeep: request => handlers.upkeep(number, request),
        refused: (machineId, why) => handlers.refused(machineId, why),
        closed: reason => this.#closed(source, reason),
      },
      { ...this.#options.channel, clock: this.#options.clock, where },
    );
    const source: Source = { number, peer, open };
    this.#source = source;
    this.#offered = '';
  }

  /** Gives up at once a source that was silent for too long: this process may have stood still, and what it
   * was asked for be another's. Call it before anything is given to a worker that comes, or has room. */
  heedSilence(): void {
    const source = this.#source;
    if (source?.peer.isOver() === true) this.#closed(source, source.peer.channel.reason);
  }

  /** Answers a request, under the id it came with; nothing happens when its connection is gone. */
  answer(source: number, result: FetchResult): void {
    if (this.#source?.number !== source) return;
    this.#source.open.delete(result.id);
    this.#source.peer.fetched(result);
  }

  deleted(source: number, result: DeleteResult): void {
    if (this.#source?.number === source) this.#source.peer.deleted(result);
  }

  upkept(source: number, result: UpkeepResult): void {
    if (this.#source?.number === source) this.#source.peer.upkept(result);
  }

  /** Says who is here and how much can be done, when that has changed. */
  offer(offer: Offer): void {
    if (this.#source === undefined) return;
    const text = `${offer.slots} ${offer.takesUnasked} ${offer.machineIds.join(' ')}\n${offer.storeIds.join(' ')}`;
    if (text === this.#offered) return;
    this.#offered = text;
    this.#source.peer.hello(offer);
  }

  /** Reads on (false) or reads no more (true), so that what waits here stays bounded. */
  hold(held: boolean): void {
    this.#source?.peer.hold(held);
  }

  /** A stop: waits for `drained`, a few seconds long, as long as there is somebody to be answered. */
  async drain(begun: number): Promise<void> {
    this.#stopping = true;
    if (this.#source === undefined || begun === 0) return;
    await new Promise<void>(resolve => {
      this.#drained = resolve;
      this.#options.clock.after(STOP_WAIT_MS, resolve);
    });
  }

  /** Nothing has begun any more. */
  drained(): void {
    this.#drained?.();
  }

  end(): void {
    this.#source?.peer.channel.end();
  }

  /** @throws LccError `peer.rejected` for an owner after which there was another */
  #heard(epoch: number, where: string): void {
    if (epoch < this.#epoch)
      throw new LccError(
        'peer.rejected',
        `${where}: its epoch is ${epoch}, and another machine has owned the home since (${this.#epoch})`,
      );
    if (epoch === this.#epoch) return;
    this.#epoch = epoch;
    this.#handlers.newEpoch?.(epoch);
  }

  #closed(source: Source, reason: LccError | undefined): void {
    if (this.#source !== source) return;
    this.#source = undefined;
    if (reason?.code === 'config') this.#options.refused(reason);
    const counts = this.#handlers.lost(source.number);
    this.drained();
    if (!this.#stopping)
      this.#options.log[reason === undefined ? 'info' : 'warn']('source gone', {
        reason:
          reason === undefined ? `the source of urls closed it; it is connected to again` : messageOf(reason),
        ...counts,
      });
  }
}
