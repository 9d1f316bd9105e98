/** Varnish: purged by page, by key (vmod_xkey), or, where there is nothing else, by ban. What its VCL must
 * say: examples/clear. */
import { headerOption, onlyOptions } from './options.js';
import type { RailRequest, Driver, DriverRail, PageToClear, Way } from './types.js';

/** Keys in one header: at 9000 bytes Varnish answers 400. */
const MAX_KEY_CHARS = 8000;
const MAX_KEYS = 1000;
/** Bans stay on a list that every object is compared with: few long ones are better than many. */
const MAX_BAN_CHARS = 4000;
const MAX_BAN_PAGES = 100;

export function varnishDriver(rail: DriverRail): Driver {
  onlyOptions(rail, []);
  const way = (method: 'PURGE' | 'SOFTPURGE'): Way => ({
    ask: ([page]) => ({ method, path: page?.url ?? '', headers: [], verb: 'remove' }),
  });
  return { clear: way('PURGE'), renew: way('SOFTPURGE'), isByHost: true, makesFolders: false };
}

export function xkeyDriver(rail: DriverRail): Driver {
  onlyOptions(rail, []);
  const way = (header: 'xkey-purge' | 'xkey-softpurge'): Way => ({
    ask: pages => ({
      method: 'PURGE',
      path: '/',
      headers: [header, [...new Set(pages.map(keyOf))].join(' ')],
      verb: 'remove',
    }),
    most: { pages: MAX_KEYS, chars: MAX_KEY_CHARS },
    charsOf: page => keyOf(page).length + 1,
  });
  return { clear: way('xkey-purge'), renew: way('xkey-softpurge'), makesFolders: false };
}

export function banDriver(rail: DriverRail): Driver {
  onlyOptions(rail, ['header']);
  const header = headerOption(rail, 'x-ban-url');
  const ask = (pages: readonly PageToClear[]): RailRequest => ({
    method: 'BAN',
    path: '/',
    headers: [header, `^(?:${pages.map(page => escaped(page.url)).join('|')})(?:\\?|$)`],
    verb: 'remove',
  });
  return {
    clear: {
      ask,
      most: { pages: MAX_BAN_PAGES, chars: MAX_BAN_CHARS },
      charsOf: page => escaped(page.url).length + 1,
    },
    renew: undefined,
    isByHost: true,
    makesFolders: false,
  };
}

/** The content id, as it can stand in a header. */
function keyOf({ contentId }: PageToClear): string {
  return encodeURI(contentId);
}

function escaped(url: string): string {
  return url.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
