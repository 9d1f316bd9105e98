/** Questions of a provider's pages to the Queue Manager: each look asks for the provider, and for what its
 * page shows besides. */
import type { ShownProvider } from '../../db/providers/registered.js';
import type { KeptError, RsErrorsWanted, RsQuestion, UrlStanding } from '../../wire/qm-rs.js';
import type { UrlLife } from '../../wire/url-life.js';
import type { ProviderViewOptions } from '../me.js';
import { shownBy } from '../ground.js';
import { busy } from '../refusal.js';

/** Text of a provider, as it may stand on a page or in a table: characters that are not seen, and turn those
 * after them, are written as their numbers. */
function visible(text: string): string {
  return text.replace(/[\p{Cf}\u2028\u2029]/gu, each => `\\u{${(each.codePointAt(0) ?? 0).toString(16)}}`);
}

/** All of these throw RsRequestRefused 503 while the Queue Manager is away. */
export class QmAnswers {
  readonly #ask: ProviderViewOptions['ask'];

  constructor(ask: ProviderViewOptions['ask']) {
    this.#ask = ask;
  }

  /** Undefined when there is none. */
  async provider(pid: number): Promise<ShownProvider | undefined> {
    const provider = await shownBy(this.#ask, pid);
    if (provider === undefined) throw busy();
    return provider ?? undefined;
  }

  /** Errors that it has not received. */
  async errors(pid: number, wanted: RsErrorsWanted): Promise<readonly KeptError[]> {
    const { errors } = await this.#told({ op: 'errors', pid, ...wanted });
    return (errors as KeptError[]).map(each => ({
      ...each,
      curl: visible(each.curl),
      text: visible(each.text),
    }));
  }

  /** How urls stand, in their order. */
  async urls(pid: number, urls: readonly string[]): Promise<readonly UrlStanding[][]> {
    if (urls.length === 0) return [];
    return (await this.#told({ op: 'urls', pid, urls }))['urls'] as UrlStanding[][];
  }

  /** Life of a url. */
  async life(pid: number, url: string): Promise<readonly UrlLife[]> {
    return (await this.#told({ op: 'life', pid, url }))['lives'] as UrlLife[];
  }

  async #told(question: RsQuestion): Promise<Readonly<Record<string, unknown>>> {
    const told = await this.#ask(question);
    if (told === undefined) throw busy();
    return told;
  }
}
