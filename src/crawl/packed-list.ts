/** Sitemaps and feeds as sites serve them: packed with gzip, once or twice, or as a plain text. What they are
 * shows at their beginning. */
import { constants, gunzipSync } from 'node:zlib';
import { errnoOf } from '../lib/errors.js';

/** sitemap.xml.gz that a server packs once more. */
const MOST_LAYERS = 2;

/** May be one by its type, as archives and any text are too. */
const MAYBE = /^(?:text\/plain|application\/(?:x-)?gzip)$/;
/** A list in XML or JSON, or of urls; before it may stand how its characters are written. */
const BEGINNING =
  /^(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?\s*(?:<(?:\?xml|!--|!doctype(?!\s+html)|(?:[\w.-]+:)?(?:urlset|sitemapindex|rss|feed|rdf)\b)|\{|https?:\/\/)/i;

/** So much of a file is enough to see what it is. */
export const BEGINNING_BYTES = 4096;
/** Largest size that may come to. */
const BEGINNING_MOST = 8 * 1024 * 1024;

export function isMaybeList(mimetype: string): boolean {
  return MAYBE.test(mimetype);
}

/** True if what begins so may be a list. */
export function beginsAsList(beginning: Buffer): boolean {
  const bytes = unpacked(beginning, BEGINNING_MOST);
  return (
    typeof bytes !== 'string' &&
    BEGINNING.test(bytes.subarray(0, BEGINNING_BYTES).toString('latin1').replaceAll('\0', ''))
  );
}

/** True if it is markup, which says itself how its characters are written. */
export function isXml(bytes: Buffer): boolean {
  return /^(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?[\s\0]*</.test(
    bytes.subarray(0, BEGINNING_BYTES).toString('latin1'),
  );
}

/** The document without its packing; of one that is cut off what there is. */
export function unpacked(packed: Buffer, maxBytes: number): Buffer | 'large' | 'damaged' {
  let bytes = packed;
  for (let layers = 0; layers < MOST_LAYERS && bytes[0] === 0x1f && bytes[1] === 0x8b; layers++)
    try {
      bytes = gunzipSync(bytes, { maxOutputLength: maxBytes, finishFlush: constants.Z_SYNC_FLUSH });
    } catch (error) {
      return errnoOf(error) === 'ERR_BUFFER_TOO_LARGE' ? 'large' : 'damaged';
    }
  return bytes;
}
