/** The sitemaps that a robots.txt names: in whatever group, on whatever host. */
import { MAX_ROBOTS_BYTES } from '../robots/robots-txt.js';

const LINE = /^[ \t]*sitemap[ \t]*:([^\r\n]*)/i;

/** The `Sitemap:` lines of a robots.txt, as they stand there, and whether all of them could be read. */
interface SitemapLines {
  named: string[];
  isWhole: boolean;
}

/** @param isOpenEnded nothing but its last newline says that it is whole: a line without one may be cut */
export async function readSitemapLines(
  pieces: AsyncIterable<Uint8Array>,
  isOpenEnded = false,
): Promise<SitemapLines> {
  const kept: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of pieces) {
    kept.push(piece.subarray(0, MAX_ROBOTS_BYTES - bytes));
    bytes += piece.length;
    if (bytes > MAX_ROBOTS_BYTES) break;
  }
  const isCut = bytes > MAX_ROBOTS_BYTES;
  const lines = new TextDecoder().decode(Buffer.concat(kept)).split(/\r\n|\r|\n/);
  const hasHalfLine = (isCut || isOpenEnded) && lines.at(-1) !== '';
  if (hasHalfLine) lines.pop();
  const named = lines.flatMap(line => {
    const [, found] = LINE.exec(line) ?? [];
    // A # begins a comment only after a blank: urls have it, too.
    return found === undefined ? [] : [found.replace(/\s+#.*$/, '').trim()];
  });
  return { named, isWhole: !isCut && !hasHalfLine };
}
