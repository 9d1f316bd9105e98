/** Documents of lists read by themselves, and small ones to be read. */
import assert from 'node:assert/strict';
import { LccError } from '../../src/lib/errors.js';
import { readDocument } from '../../src/sources/document.js';
import type { Extras, Found } from '../../src/sources/found.js';
import { LIMITS, NO_EXTRAS } from './support.js';

export interface Read {
  isWindow: boolean;
  failure: string | undefined;
  locations: string[];
  children: string[];
  left: string[];
}

/** One document, read by itself. */
export async function read(
  content: string | Uint8Array | readonly Uint8Array[],
  extras: Partial<Extras> = {},
  limits = LIMITS,
  feedsOnly = false,
): Promise<Read> {
  const done: Read = { isWindow: false, failure: undefined, locations: [], children: [], left: [] };
  const found: Found = {
    bytes: 0,
    isWindow: false,
    location: (text, { lastmod }) =>
      void done.locations.push(lastmod === undefined ? text.trim() : `${text.trim()} ${lastmod}`),
    child: text => void done.children.push(text.trim()),
    leave: what => void done.left.push(what),
  };
  const pieces = typeof content === 'string' ? [Buffer.from(content)] : content;
  async function* stream(): AsyncGenerator<Uint8Array, void, undefined> {
    yield* pieces instanceof Uint8Array ? [pieces] : pieces;
  }
  const options = { where: 'http://e/', extras: { ...NO_EXTRAS, ...extras }, limits, feedsOnly };
  try {
    await readDocument(stream(), found, options);
    done.isWindow = found.isWindow;
  } catch (error) {
    assert.ok(error instanceof LccError, String(error));
    done.failure = `${error.code}: ${error.message}`;
  }
  return done;
}

export const NS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"';
export const set = (inside: string, attributes = NS) =>
  `<?xml version="1.0"?>\n<urlset ${attributes}>${inside}</urlset>`;
export const page = (n: number | string, more = '') => `<url><loc>http://e/${n}</loc>${more}</url>`;
export const whole = (locations: string[], children: string[] = []): Read => ({
  isWindow: false,
  failure: undefined,
  locations,
  children,
  left: [],
});
