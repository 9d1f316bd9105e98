/** Terms that an approval may give, within what the settings allow; the Queue Manager has the same bounds. */
import { parseAmount, type Unit } from '../config/amounts.js';
import type { RsTerms } from '../wire/qm-rs.js';
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

export type MostTerms = Required<GivenTerms>;

/** The higher one of each term; a bandwidth of 0 has no limit. */
export function higherTerms(most: MostTerms, has: GivenTerms): MostTerms {
  const higher = { ...most };
  for (const { name } of TERMS) {
    const value = has[name] ?? 0;
    if (
      name === 'bandwidth'
        ? most.bandwidth > 0 && (value === 0 || value > most.bandwidth)
        : value > most[name]
    )
      higher[name] = value;
  }
  return higher;
}

/** The setting that a term is above of, if it is; a bandwidth of 0 has no limit. */
export function aboveMost(terms: GivenTerms, most: MostTerms): { name: keyof GivenTerms } | undefined {
  const { bandwidth, ...others } = terms;
  for (const [name, value] of Object.entries(others) as [keyof typeof others, number][])
    if (value > most[name]) return { name };
  const isAbove =
    bandwidth !== undefined && most.bandwidth > 0 && (bandwidth === 0 || bandwidth > most.bandwidth);
  return isAbove ? { name: 'bandwidth' } : undefined;
}

/**
 * As an operator types them; '' is as new providers get it.
 * @throws RsRequestRefused 400 with the name of the field as its code
 */
export function typedTerms(
  typed: Readonly<Partial<Record<keyof GivenTerms, string>>>,
  most: MostTerms,
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
  const above = aboveMost(terms, most);
  if (above !== undefined)
    throw new RsRequestRefused(
      400,
      above.name,
      `${TERMS.find(({ name }) => name === above.name)?.label ?? ''}: more than an approval may give`,
      'give less; lccpidb set gives a provider more',
    );
  return terms;
}
