/** What the pages of a provider ask of the Queue Manager. */
import type { ShownProvider, Standing } from '../../db/providers/registered.js';
import type { KeptError, RsErrorsWanted, UrlStanding } from '../../wire/qm-rs.js';
import type { UrlLife } from '../../wire/url-life.js';
import type { ProviderViewOptions } from '../me.js';
import { busy } from '../refusal.js';
import type { ProviderQuestion, SharedAnswers, QmTold } from '../shared-answers.js';

/**
 * What a provider wrote, as it may stand on a page or in a table: characters that are not seen, and turn what follows them, are
 * written as their numbers.
 */
function visible(text: string): string {
  return text.replace(/[\p{Cf}\u2028\u2029]/gu, each => `\\u{${(each.codePointAt(0) ?? 0).toString(16)}}`);
}

export class QmAnswers {
  readonly #ask: ProviderViewOptions['ask'];
  readonly #shared: SharedAnswers;

  /** @param shared for looks; what is asked before something is done is never shared */
  constructor(ask: ProviderViewOptions['ask'], shared: SharedAnswers) {
    this.#ask = ask;
    this.#shared = shared;
  }

  /**
   * Undefined when there is none.
   * @param isLook it is shown, and nothing is done
   * @throws RsRequestRefused 503 while the Queue Manager is away, as all of these
   */
  async provider(pid: number, isLook: boolean): Promise<ShownProvider | undefined> {
    const { provider } = await this.#told({ op: 'show', pid }, isLook);
    return (provider as ShownProvider | null) ?? undefined;
  }

  /** What its logins hang on, as it is now. */
  async standing(pid: number): Promise<Standing | undefined> {
    const told = await this.#shared.askNow({ op: 'standing', pid });
    if (told === undefined) throw busy();
    return (told['standing'] as Standing | null | undefined) ?? undefined;
  }

  /** What is shared of it is not so any more. */
  drop(pid: number): void {
    this.#shared.drop(pid);
  }

  /** Errors that it has not received. @param isLook not the whole of many */
  async errors(pid: number, wanted: RsErrorsWanted, isLook: boolean): Promise<readonly KeptError[]> {
    const { errors } = await this.#told({ op: 'errors', pid, ...wanted }, isLook);
    return (errors as KeptError[]).map(each => ({
      ...each,
      curl: visible(each.curl),
      text: visible(each.text),
    }));
  }

  /** How urls stand, in their order. */
  async urls(pid: number, urls: readonly string[]): Promise<readonly UrlStanding[][]> {
    if (urls.length === 0) return [];
    const { urls: standings } = await this.#told({ op: 'urls', pid, urls }, true);
    return standings as UrlStanding[][];
  }

  /** What became of a url. */
  async life(pid: number, url: string): Promise<readonly UrlLife[]> {
    return (await this.#told({ op: 'life', pid, url }, true))['lives'] as UrlLife[];
  }

  async #told(question: ProviderQuestion, isLook: boolean): Promise<QmTold> {
    const told = await (isLook ? this.#shared.ask(question) : this.#ask(question));
    if (told === undefined) throw busy();
    return told;
  }
}
