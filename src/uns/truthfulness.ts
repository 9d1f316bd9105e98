/** The report to a provider on its score, and the effect of a low one on its ration of full sets. */
import type { Provider } from '../db/providers/pidb.js';
import type { ProviderTruth } from '../db/truth/reader.js';
import { fullSetsFor } from '../db/truth/shown.js';
import type { Truthfulness } from '../wire/cp-uns/server.js';

/** Undefined where nothing has been counted. */
export function truthfulnessOf(known: ProviderTruth | undefined): Truthfulness | undefined {
  if (known === undefined) return undefined;
  const { changed, same, failed, audited, silent, late, dead, noisy } = known.counts;
  const counts = { changed, same, failed, audited, silent, late, dead, noisy };
  if (Object.values(counts).every(count => count === 0)) return undefined;
  const whole = Object.entries(counts).map(([name, count]) => [name, Math.round(count)]);
  return { score: known.truth, ...Object.fromEntries(whole) } as Truthfulness;
}

/** A provider that announces what has not changed has only a part of its unasked full sets taken. */
export function rationed(provider: Provider, known: ProviderTruth | undefined): Provider {
  if (known === undefined) return provider;
  return { ...provider, fullsetsallowed: fullSetsFor(known, provider.fullsetsallowed) };
}
