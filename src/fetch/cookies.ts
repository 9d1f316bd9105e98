/** Cookies within one fetch: a site that sets one and redirects wants it back, and nothing of it outlives the
 * fetch. A cookie goes to the origin that set it, whatever else it says of domains and paths. */

/** A chain of redirects that sets more wants something else. */
const MAX_COOKIES = 20;
const MAX_CHARS = 4096;
const COOKIE = /^([!#$%&'*+.^_`|~\w-]+)=([\x21-\x3a\x3c-\x7e]*)$/;

export class Cookies {
  readonly #of = new Map<string, Map<string, string>>();

  /** @param set values of Set-Cookie */
  take(origin: string, set: readonly string[]): void {
    for (const text of set) {
      const [, name, value] = COOKIE.exec((text.split(';', 1)[0] ?? '').trim()) ?? [];
      if (name === undefined || value === undefined) continue;
      const known = this.#of.get(origin) ?? new Map<string, string>();
      if (isDeletion(text)) known.delete(name);
      else if (known.size < MAX_COOKIES || known.has(name)) known.set(name, value);
      this.#of.set(origin, known);
    }
  }

  /** The value of Cookie; '' for none. */
  headerFor(origin: string): string {
    const pairs = [...(this.#of.get(origin) ?? [])].map(([name, value]) => `${name}=${value}`);
    const header = pairs.join('; ');
    return header.length > MAX_CHARS ? '' : header;
  }
}

function isDeletion(text: string): boolean {
  const [, maxAge] = /;\s*max-age\s*=\s*(-?\d+)/i.exec(text) ?? [];
  return maxAge !== undefined && Number(maxAge) <= 0;
}
