/** Names both sides of the conversation CP ↔ UNS use (lcc-protocol(5)). */

/** How a set relates to what the LCC holds: all there is, or changes. */
export type SetKind = 'full' | 'partial';

/** Reads the attribute `set`; `complete` is the word of 2002 for `full`. */
export function setKindOf(text: string | undefined): SetKind | undefined {
  if (text === 'full' || text === 'complete') return 'full';
  return text === 'partial' ? 'partial' : undefined;
}

/** Attributes of `<truth>`. */
export const TRUTH_FIELDS = [
  'score',
  'changed',
  'same',
  'failed',
  'audited',
  'silent',
  'late',
  'dead',
  'noisy',
] as const;
