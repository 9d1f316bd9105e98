/** Requests of soft clearing to rails: pages are put, caches are told to get them, names are removed. */
import { isPutOn } from '../drivers/index.js';
import type { Rail } from '../rails/rail.js';
import { countdown, throughTiers } from '../rails/tiers.js';
import type { PageBody } from '../rails/unit.js';
import { wildcardOf } from './names.js';

/** A publication whose content is there. */
interface Publication {
  url: string;
  contentId: string;
  seq: number;
  /** Undefined where all rails are told. */
  body: PageBody | undefined;
  /** Names that it, and those before it, were generated under. */
  names: readonly string[];
}

/** The body for a rail that gets the content itself. */
export function untold(seq: number): PageBody {
  return { bytes: { bytes: new Uint8Array() }, sha: '', seq };
}

/** Brings a page to rails, tier by tier, and removes its other names there. @param complete called once,
 * maybe at once */
export function publishOn(rails: readonly Rail[], publication: Publication, complete: () => void): void {
  const { url, contentId, seq, body, names } = publication;
  const send = (rail: Rail, over: () => void) => {
    const content = body !== undefined && isPutOn(rail.row) ? body : untold(seq);
    rail.add({ url, contentId, op: 'P', body: content }, () => removeNames([rail], url, names, over));
  };
  throughTiers(rails, send, complete);
}

/** Removes a page that is no more, with its other names. What a rail cannot take now is as late as the
 * publication that said so. */
export function removeOn(
  rails: readonly Rail[],
  { url, contentId, seq, names }: Omit<Publication, 'body'>,
  complete: () => void,
): void {
  const send = (rail: Rail, over: () => void) =>
    rail.add({ url, contentId, op: 'D', seq }, () => removeNames([rail], url, names, over));
  throughTiers(rails, send, complete);
}

/** Removes names of a page. Caches that get pages themselves keep none: nobody else asks for such a name. */
export function removeNames(
  rails: readonly Rail[],
  url: string,
  names: readonly string[],
  complete: () => void,
): void {
  const wildcard = wildcardOf(url);
  const tasks = rails
    .filter(({ row }) => names.length > 0 && isPutOn(row))
    .flatMap(rail =>
      (rail.row.cleanup === 'wildcard' && wildcard !== undefined ? [wildcard] : names).map(name => ({
        rail,
        name,
      })),
    );
  const over = countdown(tasks.length, complete);
  for (const { rail, name } of tasks) rail.add({ url: name, contentId: '', op: 'D' }, over);
}
