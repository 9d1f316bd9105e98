/** Addresses in a page, each by the number that marks have: absolute, and as far as they are written. */
import type { Image } from './marks.js';

/** A longer address is no link. */
const MAX_URL = 2048;
/** Those of a page come to so many times its length at most; then the words of links stand alone. */
const MOST_URLS = 2;
const NO_TARGET = /^(?:javascript|vbscript|data):$/;
const IN_TARGET = /[()<>\s\\`|]|&(?=[a-z#][a-z0-9]*;)/gi;

export class Addresses {
  /** As they are written; the first stands for none. */
  readonly links: string[] = [''];
  readonly images: Image[] = [];
  #base: string | undefined;
  #isBaseSaid = false;
  #left: number;

  /** @param url of the page @param length of it, in characters */
  constructor(url: string | undefined, length: number) {
    this.#base = url;
    this.#left = MOST_URLS * length;
  }

  /** Sets the base of relative addresses, as the page gives it; the first one counts. */
  setBase(href: string | undefined): void {
    if (href === undefined || this.#isBaseSaid) return;
    this.#isBaseSaid = true;
    this.#base = absolute(href, this.#base)?.href ?? this.#base;
  }

  /** The target of a link; undefined: it is none that is written. */
  ofLink(number: number): string | undefined {
    return number === 0 ? undefined : this.of(this.links[number] ?? '');
  }

  of(written: string): string | undefined {
    if (written.length > MAX_URL || this.#left <= 0) return undefined;
    const url = absolute(written, this.#base);
    if (url === undefined || NO_TARGET.test(url.protocol)) return undefined;
    const target = url.href.replace(IN_TARGET, encoded);
    if (target.length > MAX_URL || target.length > this.#left) return undefined;
    this.#left -= target.length;
    return target;
  }
}

function absolute(written: string, base: string | undefined): URL | undefined {
  return URL.canParse(written, base) ? new URL(written, base) : undefined;
}

/** encodeURIComponent leaves parentheses. */
function encoded(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;
}
