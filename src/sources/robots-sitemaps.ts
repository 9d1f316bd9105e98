/** The sitemaps that a robots.txt names: in whatever group, on whatever host. */
import { MAX_ROBOTS_BYTES } from '../wire/robots-txt.js';

const LINE = /^[ \t]*sitemap[ \t]*:[ \t]*(\S[^\r\n]*)/i;

/** @returns what its `Sitemap:` lines say, as it stands there */
export async function readSitemapLines(pieces: AsyncIterable<Uint8Array>): Promise<string[]> {
  const kept: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of pieces) {
    kept.push(piece.subarray(0, MAX_ROBOTS_BYTES - bytes));
    bytes += piece.length;
    if (bytes >= MAX_ROBOTS_BYTES) break;
  }
  const text = new TextDecoder().decode(Buffer.concat(kept));
  return text.split(/\r\n|\r|\n/).flatMap(line => {
    const [, found] = LINE.exec(line) ?? [];
    // A # begins a comment only after a blank: urls have it, too.
    return found === undefined ? [] : [found.replace(/\s+#.*$/, '').trim()];
  });
}
