/** `Link` of an answer (RFC 8288). */

const LINKS = /<([^<>]*)>((?:\s*;\s*[\w*-]+(?:\s*=\s*(?:"[^"]*"|[^\s",;<>]*))?)*)/g;
const REL = /;\s*rel\s*=\s*(?:"([^"]*)"|([^\s",;<>]*))/i;

/** The first link of a relation, absolute. @param base by which a relative one is resolved */
export function linkIn(header: string | undefined, rel: string, base: string): string | undefined {
  for (const [, url = '', parameters = ''] of (header ?? '').matchAll(LINKS)) {
    const [, quoted, plain = ''] = REL.exec(parameters) ?? [];
    const rels = (quoted ?? plain).toLowerCase().split(/\s+/);
    if (rels.includes(rel) && URL.canParse(url, base)) return new URL(url, base).href;
  }
  return undefined;
}
