/** The input of lcclinks: rows of lccq, or urls to begin with. */
import { Lines } from '../lib/lines.js';
import { LccError } from '../lib/errors.js';
import type { XmlLimits } from '../lib/xml/types.js';
import { urlOfLine } from '../wire/site-line.js';
import type { UrlRecord } from '../wire/url.js';
import { UrlStreamReader } from '../wire/url-stream.js';
import type { Expander, SeedOutcome } from './expander.js';
import type { FoundLink } from './options.js';
import type { UrlSink } from './sinks.js';

/** Text with this beginning is a list of urls. */
const URL_FIRST = /^\s*https?:\/\//i;
const LOOKED_AT_BYTES = 100;
/** Bytes of white space in XML. */
const BLANKS = Buffer.from(' \t\r\n');

/** Longest line of urls to begin with. */
const MAX_SEED_LENGTH = 64 * 1024;

/** Whose links are sent where. */
interface Expanding {
  expander: Pick<Expander, 'expand'>;
  sink: Pick<UrlSink<FoundLink>, 'finish'>;
}

/** Sends the links of all pages. @throws LccError `data.cut` where the input was cut: what was not sent then
 * comes again */
export async function expandPages(
  input: AsyncIterable<Buffer>,
  expanding: Expanding,
  limits: XmlLimits,
): Promise<void> {
  const pages = new PageStream(expanding, limits);
  for await (const chunk of input) await pages.write(chunk);
  await pages.end();
}

/**
 * Sends the links of the pages of one stream after the other: the next one comes when it was said that all of
 * the last is delivered.
 * @param begin called at the beginning of each @param taken called when its links are delivered
 * @throws LccError `data.cut` as expandPages
 */
export async function expandStreams<One extends Expanding>(
  input: AsyncIterable<Buffer>,
  limits: XmlLimits,
  begin: () => One,
  taken: (one: One) => void,
): Promise<void> {
  let now: { one: One; pages: PageStream } | undefined;
  for await (const chunk of input) {
    if (now === undefined) {
      // Blanks may follow the end of a stream on its last line.
      if (chunk.every(byte => BLANKS.includes(byte))) continue;
      const one = begin();
      now = { one, pages: new PageStream(one, limits) };
    }
    await now.pages.write(chunk);
    if (!now.pages.sawEnd) continue;
    await now.pages.end();
    taken(now.one);
    now = undefined;
  }
  await now?.pages.end();
}

/** One stream of pages. */
class PageStream {
  readonly #expanding: Expanding;
  readonly #reader: UrlStreamReader;
  #records: UrlRecord[] = [];
  #isFirst = true;

  constructor(expanding: Expanding, limits: XmlLimits) {
    this.#expanding = expanding;
    this.#reader = new UrlStreamReader({ url: record => void this.#records.push(record) }, limits, {
      where: 'standard input',
    });
  }

  get sawEnd(): boolean {
    return this.#reader.sawEnd;
  }

  async write(chunk: Buffer): Promise<void> {
    if (this.#isFirst && URL_FIRST.test(chunk.toString('latin1', 0, LOOKED_AT_BYTES)))
      throw new LccError(
        'data.malformed',
        'standard input: these are urls, no records of lccq; to begin with them give --seeds',
      );
    this.#isFirst = false;
    this.#reader.write(chunk);
    const some = this.#records;
    this.#records = [];
    for (const record of some) await this.#expanding.expander.expand(record);
  }

  async end(): Promise<void> {
    this.#reader.end();
    await this.#expanding.sink.finish();
  }
}

/** Sends urls, or hosts, one a line; what becomes of each goes to `settled`. */
export async function seedUrls(
  input: AsyncIterable<Buffer>,
  expander: Expander,
  sink: UrlSink<FoundLink>,
  settled: (url: string, outcome: SeedOutcome) => void,
): Promise<void> {
  const lines = new Lines(
    MAX_SEED_LENGTH,
    () => new LccError('data.malformed', `standard input: a line of more than ${MAX_SEED_LENGTH} characters`),
  );
  const take = async (found: readonly string[]) => {
    for (const line of found) {
      const url = urlOfLine(line);
      if (url !== undefined) settled(url, await expander.seed(url));
    }
  };
  for await (const chunk of input) await take(lines.read(chunk));
  await take(lines.read(Buffer.from('\n')));
  await sink.finish();
}
