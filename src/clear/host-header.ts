/** The Host that a rail, or the load balancer of a target, is asked for. */

/**
 * Headers of a request, the Host first.
 * @param host null: that of the url
 * @param headers names in lower case and values by turns; a host among them wins
 */
export function withHost(host: string | null, headers: readonly string[] = []): readonly string[] {
  const names = headers.filter((_, i) => i % 2 === 0);
  return host === null || names.includes('host') ? headers : ['host', host, ...headers];
}
