/**
 * Quotas at intake (semantics.md, rule 14): a set is refused when all of it would certainly not fit into what
 * the provider may have. Counted are what is held, what waits to be fetched, and what the set adds, less what
 * it deletes; that costs a look-up of each url, so it is done only for sets that might not fit. What the
 * Queue Manager has not got yet is unknown here: it looks again at each url, and so does the result of each
 * fetch.
 */
import { createHash } from 'node:crypto';
import type { Provider } from '../db/providers/pidb.js';
import type { PidbReader } from '../db/providers/pidb-reader.js';
import { XmlReader } from '../lib/xml/reader.js';
import type { XmlLimits } from '../lib/xml/types.js';
import { resolveUrl } from '../wire/urlprefix.js';
import { recordOf } from '../wire/url-read.js';
import { isDelete, type UrlRecord } from '../wire/url.js';
import { Refusal } from '../wire/refusal.js';

/** Bytes of a hash that tells urls of one set apart. */
const KEY_BYTES = 6;

/** Size of a set, as the set gives it. */
interface SetSize {
  updates: number;
  /** The sum of the announced lengths. */
  bytes: number;
}

export function overFiles(provider: Provider): Refusal {
  return new Refusal(202, `file quota exceeded: ${provider.filesmax} files are allowed`);
}

export function overSpace(provider: Provider): Refusal {
  return new Refusal(203, `space quota exceeded: ${provider.spacemax} bytes are allowed`);
}

/** True if a partial set fits however many of its urls are new. */
export function certainlyFits(
  { filesmax, filesused, nurlproc, spacemax, spaceused }: Provider,
  set: SetSize,
) {
  return filesused + nurlproc + set.updates <= filesmax && spaceused + set.bytes <= spacemax;
}

/** Counts what a partial set adds to a provider's content, url by url. */
export class SetGrowth {
  readonly #pidb: PidbReader;
  readonly #provider: Provider;
  readonly #urlprefix: string;
  readonly #reader: XmlReader;
  /** New urls of the set: named twice, they count once. */
  readonly #added = new Set<number>();
  #files: number;
  #space: number;

  constructor(pidb: PidbReader, provider: Provider, urlprefix: string, xml: XmlLimits) {
    this.#pidb = pidb;
    this.#provider = provider;
    this.#urlprefix = urlprefix;
    const { files, space } = pidb.waitingGrowth(provider.pid);
    this.#files = provider.filesused + files;
    this.#space = provider.spaceused + space;
    this.#reader = new XmlReader(
      { open: (_, attributes) => this.#count(recordOf(attributes)), close() {} },
      xml,
      { where: 'set' },
    );
  }

  /** The next urls of the set. */
  count(content: Buffer): void {
    this.#reader.write(content);
  }

  /** All of it was counted. @throws Refusal 202 or 203 */
  demandRoom(): void {
    if (this.#files > this.#provider.filesmax) throw overFiles(this.#provider);
    if (this.#space > this.#provider.spacemax) throw overSpace(this.#provider);
  }

  #count(record: UrlRecord): void {
    const { pid } = this.#provider;
    const curl = resolveUrl(this.#urlprefix, record.curl);
    const { heldBytes, isWaiting } = this.#pidb.lookUp(pid, curl, record.mimetype);
    if (isDelete(record)) {
      if (heldBytes === undefined) return;
      this.#files -= 1;
      this.#space -= heldBytes;
      return;
    }
    // The set is among those that wait.
    if (isWaiting) return;
    const bytes = record.len === undefined ? (heldBytes ?? 0) : Number(record.len);
    if (heldBytes === undefined) {
      const key = keyOf(curl, record.mimetype);
      if (this.#added.has(key)) return;
      this.#added.add(key);
      this.#files += 1;
    }
    this.#space += bytes - (heldBytes ?? 0);
  }
}

function keyOf(curl: string, mimetype: string): number {
  return createHash('md5').update(`${mimetype} ${curl}`).digest().readUIntBE(0, KEY_BYTES);
}
