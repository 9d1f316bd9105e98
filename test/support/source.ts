/** A source of fetch requests played by a test: the upper end of what a Bot Manager connects to, over a real socket. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { systemClock } from '../../src/lib/clock.js';
import type { DeleteResult, FetchRequest, FetchResult } from '../../src/wire/fetch.js';
import { BotManagerPeer } from '../../src/wire/qm-bm.js';
import type { UpkeepRequest, UpkeepResult } from '../../src/wire/upkeep.js';
import { within } from './until.js';
import { channelOptions } from './duplex.js';

type DistributiveOmit<T, K extends keyof T> = T extends unknown ? Omit<T, K> : never;

export class TestSource {
  readonly #server: Server;
  #peer: BotManagerPeer | undefined;
  #id = 0;
  #slots = 0;
  #machines = '';
  #watchers = new Set<() => void>();
  #fetches = new Map<number, (result: FetchResult | undefined) => void>();
  #deletes = new Map<number, (result: DeleteResult | undefined) => void>();
  #upkeep = new Map<number, (result: UpkeepResult | undefined) => void>();

  private constructor(server: Server) {
    this.#server = server;
  }

  static async listen(path: string): Promise<TestSource> {
    const server = createServer();
    const source = new TestSource(server);
    server.on('connection', socket => {
      const peer = new BotManagerPeer(
        socket,
        {
          hello: ({ machineIds, slots }) => {
            source.#peer = peer;
            source.#slots = slots;
            source.#machines = machineIds.toSorted().join(' ');
            for (const check of source.#watchers) check();
          },
          fetched: result => source.#settle(source.#fetches, result),
          deleted: result => source.#settle(source.#deletes, result),
          upkept: result => source.#settle(source.#upkeep, result),
          closed: () => source.#lost(peer),
        },
        { ...channelOptions(), clock: systemClock, helloTimeoutMs: 60_000, pingIntervalMs: 60_000 },
      );
    });
    server.listen(path);
    await once(server, 'listening');
    return source;
  }

  /** Resolves when a Bot Manager is connected that offers this many slots, on these machines if any are named. */
  async slots(wanted: number, ...machines: string[]): Promise<void> {
    const isSo = () =>
      this.#peer !== undefined &&
      this.#slots === wanted &&
      (machines.length === 0 || this.#machines === machines.join(' '));
    if (isSo()) return;
    const event = new Promise<void>(resolve => {
      const check = () => {
        if (!isSo()) return;
        this.#watchers.delete(check);
        resolve();
      };
      this.#watchers.add(check);
    });
    await within(`a Bot Manager offers ${wanted} slots${machines.map(id => ` ${id}`).join('')}`, event);
  }

  /** The result, or undefined when the connection was lost before it came. */
  fetch(request: Omit<FetchRequest, 'id' | 'roots'>): Promise<FetchResult | undefined> {
    const id = ++this.#id;
    return new Promise(resolve => {
      if (this.#peer === undefined) return resolve(undefined);
      this.#fetches.set(id, resolve);
      this.#peer.fetch({ id, roots: [], ...request });
    });
  }

  /** Takes back what has not begun of a lane. */
  recall(lane: string): void {
    this.#peer?.recall(lane);
  }

  /** The result, or undefined when the connection was lost before it came. */
  delete(machineId: string, fileId: string): Promise<DeleteResult | undefined> {
    const id = ++this.#id;
    return new Promise(resolve => {
      if (this.#peer === undefined) return resolve(undefined);
      this.#deletes.set(id, resolve);
      this.#peer.delete({ id, machineId, fileId });
    });
  }

  /** Has a file checked, or the store synced. */
  upkeep(request: DistributiveOmit<UpkeepRequest, 'id'>): Promise<UpkeepResult | undefined> {
    const id = ++this.#id;
    return new Promise(resolve => {
      if (this.#peer === undefined) return resolve(undefined);
      this.#upkeep.set(id, resolve);
      this.#peer.upkeep({ ...request, id });
    });
  }

  /** Cuts the connection, as a source that is killed does. */
  cut(): void {
    this.#peer?.channel.destroy();
  }

  close(): void {
    this.#server.close();
    this.cut();
  }

  #settle<R extends { id: number }>(waiting: Map<number, (result: R | undefined) => void>, result: R): void {
    waiting.get(result.id)?.(result);
    waiting.delete(result.id);
  }

  #lost(peer: BotManagerPeer): void {
    if (this.#peer !== peer) return;
    this.#peer = undefined;
    this.#slots = 0;
    const lost = [...this.#fetches.values(), ...this.#deletes.values(), ...this.#upkeep.values()];
    this.#fetches.clear();
    this.#deletes.clear();
    this.#upkeep.clear();
    for (const resolve of lost) resolve(undefined);
  }
}
