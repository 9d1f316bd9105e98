/** Terms of a provider that registers by itself. */
import { GB, MB } from '../config/amounts.js';
import type { Settings } from '../config/settings/index.js';
import { TERM_NUMBERS, type RsTerms } from './qm-rs.js';

export type TermNumbers = Required<Omit<RsTerms, 'timeofday'>>;

/** At first. */
export function firstTermsOf(rs: Settings['rs']) {
  return {
    filesmax: rs.filesmax,
    spacemax: rs.spacemaxBytes,
    fullsetsallowed: rs.fullsetsallowed,
    bandwidth: rs.bandwidthBytesPerS,
    priority: rs.priority,
  };
}

/** By an approval, at most; lccpidb gives more. */
export const MOST_TERMS = {
  filesmax: 1_000_000,
  spacemax: 100 * GB,
  fullsetsallowed: 30,
  bandwidth: 10 * MB,
  priority: 1,
};

/** A bandwidth of 0 has no limit. */
export function isAbove(name: keyof TermNumbers, value: number, most: number): boolean {
  if (name !== 'bandwidth') return value > most;
  return most > 0 && (value === 0 || value > most);
}

/** The first term that is above each of these. */
export function termsAbove(terms: RsTerms, ...each: readonly TermNumbers[]): keyof TermNumbers | undefined {
  return TERM_NUMBERS.find(name => {
    const value = terms[name];
    return value !== undefined && each.every(most => isAbove(name, value, most[name]));
  });
}
