/** Lists of sites, as `lccpidb add --sites` and `lcclinks --seeds` read them: a host or a URL a line. */

/** As it stands in a list, maybe with a port. */
const HOST = /^[^\s/:?#@]+(?::\d{1,5})?$/;

/**
 * The URL that a line names: a host is that of its https site.
 * @returns undefined for a line that is empty, or a comment
 */
export function urlOfLine(line: string): string | undefined {
  const site = line.trim();
  if (site === '' || site.startsWith('#')) return undefined;
  return HOST.test(site) ? `https://${site}/` : site;
}
