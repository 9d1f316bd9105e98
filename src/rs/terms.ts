/** Terms that an approval may give, within what the settings allow; the Queue Manager has the same bounds. */
import { parseAmount, type Unit } from '../config/amounts.js';
import type { RsTerms } from '../wire/qm-rs.js';
import { isAbove, termsAbove, type TermNumbers } from '../wire/terms.js';
import { RsRequestRefused } from './refusal.js';

export type GivenTerms = Omit<RsTerms, 'timeofday'>;

/** In the order of forms. */
export const TERMS: readonly { name: keyof GivenTerms; label: string; unit: Unit }[] = [
  { name: 'filesmax', label: 'Pages and files', unit: 'count' },
  { name: 'spacemax', label: 'Space', unit: 'bytes' },
  { name: 'bandwidth', label: 'Bandwidth', unit: 'bytes_per_s' },
  { name: 'fullsetsallowed', label: 'Full sets unasked', unit: 'count' },
  { name: 'priority', label: 'Priority', unit: 'count' },
];

/** The higher one of each term. */
export function higherTerms(most: TermNumbers, has: GivenTerms): TermNumbers {
  const higher = { ...most };
  for (const { name } of TERMS) if (isAbove(name, has[name] ?? 0, most[name])) higher[name] = has[name] ?? 0;
  return higher;
}

/**
 * As an operator types them; '' is as new providers get it.
 * @throws RsRequestRefused 400 with the name of the field as its code
 */
export function typedTerms(
  typed: Readonly<Partial<Record<keyof GivenTerms, string>>>,
  most: TermNumbers,
): GivenTerms {
  const terms: GivenTerms = {};
  for (const { name, label, unit } of TERMS) {
    const text = (typed[name] ?? '').trim();
    if (text === '') continue;
    const value = parseAmount(text, unit);
    if (value === undefined || !Number.isSafeInteger(Math.floor(value)) || value < 0)
      throw new RsRequestRefused(
        400,
        name,
        `${label}: "${text}" is no amount`,
        'write a number such as 50000, or 5GB',
      );
    terms[name] = Math.floor(value);
  }
  const above = termsAbove(terms, most);
  if (above !== undefined)
    throw new RsRequestRefused(
      400,
      above,
      `${TERMS.find(({ name }) => name === above)?.label ?? ''}: more than an approval may give`,
      'give less; lccpidb set gives a provider more',
    );
  return terms;
}
