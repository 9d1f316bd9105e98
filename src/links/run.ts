/** What lcclinks reads: rows of lccq, or urls to begin with. */
import { Lines } from '../lib/lines.js';
import { LccError } from '../lib/errors.js';
import type { XmlLimits } from '../lib/xml/types.js';
import { urlOfLine } from '../wire/site-line.js';
import type { UrlRecord } from '../wire/url.js';
import { UrlStreamReader } from '../wire/url-stream.js';
import type { Expander, SeedOutcome } from './expander.js';
import type { LinksSink } from './options.js';

/** What begins so is a list of urls. */
const URL_FIRST = /^\s*https?:\/\//i;
const LOOKED_AT_BYTES = 100;

/** Longest line of urls to begin with. */
const MAX_SEED_LENGTH = 64 * 1024;

/** Sends the links of all pages. @throws LccError `data.cut` where the input was cut: what was not sent then comes again */
export async function expandPages(
  input: AsyncIterable<Buffer>,
  expander: Expander,
  sink: LinksSink,
  limits: XmlLimits,
): Promise<void> {
  let records: UrlRecord[] = [];
  const reader = new UrlStreamReader({ url: record => void records.push(record) }, limits, {
    where: 'standard input',
  });
  let isFirst = true;
  for await (const chunk of input) {
    if (isFirst && URL_FIRST.test(chunk.toString('latin1', 0, LOOKED_AT_BYTES)))
      throw new LccError(
        'data.malformed',
        'standard input: these are urls, no records of lccq; to begin with them give --seeds',
      );
    isFirst = false;
    reader.write(chunk);
    const some = records;
    records = [];
    for (const record of some) await expander.expand(record);
  }
  reader.end();
  await sink.finish();
}

/** Sends urls, or hosts, one a line; what becomes of each goes to `settled`. */
export async function seedUrls(
  input: AsyncIterable<Buffer>,
  expander: Expander,
  sink: LinksSink,
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
