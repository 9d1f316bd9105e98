/** Where a fetch may go: the url asked for, and every redirect. */
import { createRootCheck } from '../wire/roots.js';

/** Undefined for what is no URL. */
export function parseUrl(text: string, base?: URL): URL | undefined {
  try {
    return new URL(text, base);
  } catch {
    return undefined;
  }
}

export function isHttp(url: URL): boolean {
  return url.protocol === 'http:' || url.protocol === 'https:';
}

/** Without roots everything is within; roots that cannot be read permit nothing. */
export function isWithin(roots: readonly string[], url: URL): boolean {
  if (roots.length === 0) return true;
  try {
    return createRootCheck(roots)(url.href);
  } catch {
    return false;
  }
}
