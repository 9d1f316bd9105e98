/** Where the file of a proof may lead to. */

/** A url itself, and where http may lead to: the same path of the same host under https. */
export function permittedUrls(url: string, ports: readonly string[]): string[] {
  const twins = ports.map(port => {
    const twin = new URL(url);
    twin.protocol = 'https:';
    twin.port = port;
    return twin.href;
  });
  return [url, ...(url.startsWith('http:') ? twins : [])];
}
