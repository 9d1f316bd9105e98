/** Looks at all homes, each over a connection of its own; one that does not answer is named. */
import type { Connection } from '../../daemon/types.js';
import { within } from '../../lib/clock.js';
import type { RsOverview, RsProviderPage } from '../../wire/rs-looks.js';
import { QmLooks, type QmLooksOptions } from '../operator/qm-looks.js';
import type { HomePeers } from './peers.js';
import { overviewTogether, pageTogether } from './together.js';

/** Time for a home to answer, of one page. */
const PATIENCE_MS = 3000;

export class HomeLooks {
  readonly #options: QmLooksOptions;
  readonly #peers: HomePeers;
  /** By number of the home, that of the home here among them. */
  readonly #looks = new Map<number, QmLooks>();
  #end: () => void = () => undefined;

  constructor(options: QmLooksOptions, peers: HomePeers) {
    this.#options = options;
    this.#peers = peers;
  }

  get #own(): QmLooks {
    return this.#at(this.#peers.own);
  }

  get overview(): RsOverview | undefined {
    const own = this.#own.overview;
    const seen = this.#peers.others.map(shard => {
      const { problem, overview } = this.#at(shard);
      return [shard, problem === undefined ? overview : undefined] as const;
    });
    return own && overviewTogether(own, new Map(seen));
  }

  get problem(): string | undefined {
    const away = this.#away();
    return this.#own.problem ?? (away.length === 0 ? undefined : `home ${away.join(', ')} does not answer`);
  }

  serve(connection: Connection): void {
    this.#own.serve(connection);
    this.#end();
    this.#end = this.#peers.keep(
      (shard, each) => this.#at(shard).serve(each),
      'Queue Manager that is looked at',
    );
  }

  /** Those of homes that answer; `problem` names the others. */
  async providers(search: string, after: number): Promise<RsProviderPage | undefined> {
    const others = this.#peers.others.map(shard =>
      within(this.#options.clock, this.#at(shard).providers(search, after), PATIENCE_MS),
    );
    const pages = await Promise.all([this.#own.providers(search, after), ...others]);
    const told = pages.filter(page => page !== undefined);
    return told.length === 0 ? undefined : pageTogether(told);
  }

  stop(): void {
    this.#end();
    for (const looks of this.#looks.values()) looks.stop();
  }

  #away(): number[] {
    return this.#peers.others.filter(shard => this.#at(shard).problem !== undefined);
  }

  #at(shard: number): QmLooks {
    const seen = () => {
      const { overview } = this;
      if (shard === this.#peers.own && overview !== undefined) this.#options.seen(overview);
    };
    const there = this.#looks.get(shard) ?? new QmLooks({ ...this.#options, seen });
    this.#looks.set(shard, there);
    return there;
  }
}
