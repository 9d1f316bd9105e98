/**
 * Errors of a provider's urls, as its CP is shown them when it logs in. They count as received only when the
 * CP has parted in good order after everything that was said, be that a refusal. Two sessions at a time are
 * shown the same ones: which of them will receive any is not known.
 */
import type { Provider } from '../db/providers/pidb.js';
import type { PidbReader, ProviderError } from '../db/providers/pidb-reader.js';

interface ShownErrors {
  shown: readonly ProviderError[];
  /** Number of all errors that were not received, shown or not. */
  total: number;
  /** The highest errseq that is shown; 0 = none. */
  upTo: number;
}

/**
 * @param errseen errors up to this errseq were received in earlier sessions @param most errors that are shown
 * at a time
 */
export function shownErrors(
  pidb: PidbReader,
  { pid, nurlerrs }: Provider,
  errseen: number,
  most: number,
): ShownErrors {
  if (nurlerrs === 0) return { shown: [], total: 0, upTo: 0 };
  const { shown, total } = pidb.errorsAbove(pid, errseen, most);
  // One whose page has come since stands for others that are only counted.
  const news = shown.filter(({ cured }) => cured === 0);
  return { shown: news, total: total - (shown.length - news.length), upTo: shown.at(-1)?.errseq ?? 0 };
}

/**
 * The errors that count as received, up to which errseq; 0 = none new.
 * @param parting whether the CP has received all that was said, and whether it left in the middle of a set:
 *   that is not in good order, for instance because it could not keep the errors
 */
export function receivedUpTo(
  shownUpTo: number,
  { received, isCut }: { received: boolean; isCut: boolean },
): number {
  return received && !isCut ? shownUpTo : 0;
}
