/** The input of lcccp: urls, and what the stream says about them. */
import { errnoOf, LccError } from '../lib/errors.js';
import type { Attributes, XmlLimits } from '../lib/xml/types.js';
import { setKindOf, type SetKind } from '../wire/cp-uns/names.js';
import { isDelete } from '../wire/url.js';
import { hasScheme } from '../wire/urlprefix.js';
import { UrlStreamReader } from '../wire/url-stream.js';
import type { SiteSize } from './quota.js';
import type { NamedState } from './state/elsewhere.js';

export class DeliveryInput {
  readonly #chunks: AsyncIterator<Buffer>;
  readonly #reader: UrlStreamReader;
  /** Urls read and not handed over. */
  #text = '';
  #isAtEnd = false;
  #bytes = 0;
  /** Size of the input that was read so far. */
  readonly size: SiteSize = { urls: 0, bytes: 0 };
  /** The first url that has no scheme, so far. */
  firstRelative: string | undefined;
  /** Removals among the urls. */
  deletes = 0;
  /** `<provider>` of a one-shot document. */
  init: Attributes | undefined;
  set: SetKind | undefined;
  urlprefix: string | undefined;
  /** The state that the set leads to. */
  state: NamedState | undefined;
  /** The state that is named holds what lists of a part of the site have left: it is no full set. */
  isStatePartial = false;
  /** True if the state is of a pipe among several of its provider, or of one whose lists never name all. */
  isShare = false;
  /** True if lccq wrote it, about what an LCC holds. */
  isOfCache = false;
  /** The word in the head of lccq by which this is not all that is held; undefined where there is none. */
  partOfCache: string | undefined;

  constructor(input: AsyncIterable<Buffer>, limits: XmlLimits) {
    this.#chunks = input[Symbol.asyncIterator]();
    this.#reader = new UrlStreamReader(
      {
        url: (record, raw) => {
          this.#text += `${raw}\n`;
          this.size.urls += 1;
          if (this.firstRelative === undefined && !hasScheme(record.curl)) this.firstRelative = record.curl;
          if (isDelete(record)) this.deletes += 1;
          this.size.bytes += Number(record.len ?? 0) || 0;
        },
        head: attributes => this.#head(attributes),
        init: attributes => (this.init = attributes),
        set: attributes => {
          this.set = setKindOf(attributes['set']);
          this.urlprefix = attributes['urlprefix'];
        },
      },
      limits,
      { where: 'standard input' },
    );
  }

  /** True if there is not a single url; known once `begin` is done. */
  get isEmpty(): boolean {
    return this.size.urls === 0;
  }

  /** True if not a byte came, so far: filters write at least the two marks of a stream. */
  get isBlank(): boolean {
    return this.#bytes === 0;
  }

  /** Reads up to the first urls, or the end. */
  async begin(): Promise<void> {
    while (this.#text === '' && !this.#isAtEnd) await this.#step();
  }

  /**
   * The urls as they came, in pieces of many.
   * @throws XmlError; LccError `data.cut` in place of the end, when the stream lacks its own
   */
  async *rest(): AsyncGenerator<string, void, undefined> {
    while (this.#text !== '' || !this.#isAtEnd) {
      const text = this.#text;
      this.#text = '';
      if (text !== '') yield text;
      if (!this.#isAtEnd) await this.#step();
    }
  }

  /** Reads to the end and forgets the urls: only to know that the input is whole. */
  async drain(): Promise<void> {
    while (!this.#isAtEnd) {
      this.#text = '';
      await this.#step();
    }
  }

  async #step(): Promise<void> {
    const next = await this.#chunks.next().catch((error: unknown) => {
      const errno = errnoOf(error);
      if (errno === undefined) throw error;
      throw new LccError('io', `cannot read standard input: ${errno}`, { cause: error });
    });
    if (next.done === true) {
      this.#reader.end();
      this.#isAtEnd = true;
    } else {
      this.#bytes += next.value.length;
      this.#reader.write(next.value);
    }
  }

  /** True if the end of the stream says that urls of the site are missing; known once all has been read. */
  get endsPartial(): boolean {
    return this.#reader.endsPartial;
  }

  #head({ set, state, id, base, host, store, since, whole, share }: Attributes): void {
    this.set = setKindOf(set);
    this.isOfCache = store !== undefined;
    if (since !== undefined && since !== '0') this.partOfCache = `since="${since}"`;
    else if (this.isOfCache && this.set === 'partial') this.partOfCache = 'set="partial"';
    this.isStatePartial = whole === 'no';
    this.isShare = share === 'yes';
    if (state !== undefined) this.state = { state, id: id ?? '', base: base ?? '', host };
  }
}
