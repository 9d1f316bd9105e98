/** What the pages of a provider ask of the Queue Manager. */
import type { ShownProvider } from '../../db/providers/registered.js';
import type { KeptError, RsErrorsWanted, RsQuestion, UrlStanding } from '../../wire/qm-rs.js';
import type { ProviderViewOptions } from '../me.js';
import { RsRequestRefused } from '../refusal.js';

export class QmAnswers {
  readonly #ask: ProviderViewOptions['ask'];

  constructor(ask: ProviderViewOptions['ask']) {
    this.#ask = ask;
  }

  /** Undefined when there is none. @throws RsRequestRefused 503 while the Queue Manager is away, as all of these */
  async provider(pid: number): Promise<ShownProvider | undefined> {
    const { provider } = await this.#told({ op: 'show', pid });
    return (provider as ShownProvider | null) ?? undefined;
  }

  /** Errors that it has not received. */
  async errors(pid: number, wanted: RsErrorsWanted): Promise<readonly KeptError[]> {
    const { errors } = await this.#told({ op: 'errors', pid, ...wanted });
    return errors as KeptError[];
  }

  /** How urls stand, in their order. */
  async urls(pid: number, urls: readonly string[]): Promise<readonly UrlStanding[][]> {
    if (urls.length === 0) return [];
    const { urls: standings } = await this.#told({ op: 'urls', pid, urls });
    return standings as UrlStanding[][];
  }

  async #told(question: RsQuestion): Promise<Readonly<Record<string, unknown>>> {
    const told = await this.#ask(question);
    if (told !== undefined) return told;
    throw new RsRequestRefused(
      503,
      'away',
      'the part of this cache that knows your site is not running at the moment',
      'load this page again in a minute',
      10,
    );
  }
}
