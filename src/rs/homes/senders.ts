/** Operations of the outbox go to the home that has its provider, over a connection to each: one that is away
 * keeps its own waiting, and no others. */
import type { Connection } from '../../daemon/types.js';
import type { RsQuestion } from '../../wire/qm-rs.js';
import { OutboxSender, type OutboxSenderOptions } from '../outbox-sender.js';
import type { HomePeers } from './peers.js';
import type { HomeRoutes } from './routes.js';
import type { QmTold } from '../ground.js';
import { together } from './together.js';

export class HomeSenders {
  readonly #options: OutboxSenderOptions;
  readonly #peers: HomePeers;
  readonly #routes: HomeRoutes;
  readonly #senders = new Map<number, OutboxSender>();
  readonly #end: () => void;

  constructor(options: OutboxSenderOptions, peers: HomePeers, routes: HomeRoutes) {
    this.#options = options;
    this.#peers = peers;
    this.#routes = routes;
    this.#end = peers.keep((shard, each) => this.#at(shard).serve(each), 'Queue Manager');
  }

  /** The connection to the home here. */
  get isConnected(): boolean {
    return this.#at(this.#peers.own).isConnected;
  }

  get later(): string | undefined {
    return [...this.#senders.values()].find(({ later }) => later !== undefined)?.later;
  }

  serve(connection: Connection): void {
    this.#at(this.#peers.own).serve(connection);
  }

  stir(): void {
    for (const sender of this.#senders.values()) sender.stir();
  }

  /** Asks the home of a provider, or all; undefined when there is no answer to be had in time. */
  async ask(question: RsQuestion): Promise<QmTold> {
    const { own, others } = this.#peers;
    if ('pid' in question && question.pid > 0) {
      const shard = await this.#routes.homeOf(question.pid);
      return shard === undefined ? undefined : this.#at(shard).ask(question);
    }
    const told = [own, ...others].map(shard => this.#at(shard).ask(question));
    return together(question.op, await Promise.all(told));
  }

  stop(): void {
    this.#end();
    this.#peers.close();
    for (const sender of this.#senders.values()) sender.stop();
  }

  #at(shard: number): OutboxSender {
    const there = this.#senders.get(shard);
    if (there !== undefined) return there;
    const { answered, ...options } = this.#options;
    const sender = new OutboxSender({
      ...options,
      ours: operations => this.#routes.ours(shard, operations),
      answered: (operation, answer) => {
        const isLeft =
          operation.change.op === 'register' &&
          'refused' in answer &&
          answer.refused !== 'taken' &&
          answer.refused !== 'id';
        answered(operation, answer);
        if (isLeft) void this.#peers.free(operation.change.pid).catch(options.fail);
      },
    });
    this.#senders.set(shard, sender);
    return sender;
  }
}
