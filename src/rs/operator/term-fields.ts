/** Forms of operators: the terms that may be given, and what was refused of a form. */
import { summaryOf, wrongIn } from '../pages/fields.js';
import { fieldOf, type Markup } from '../pages/layout.js';
import { bytesText, countText, rateText } from '../pages/numbers.js';
import type { RsRequestRefused } from '../refusal.js';
import { TERMS, type GivenTerms } from '../terms.js';
import type { TermNumbers } from '../../wire/terms.js';

/** A form that was refused, as it was typed. */
export interface Refused {
  error: RsRequestRefused;
  typed: Readonly<Record<string, string>>;
}

/** @param now what holds where a field is left empty */
export function termFields(now: TermNumbers, most: TermNumbers, refused: Refused | undefined): Markup[] {
  return TERMS.map(({ name, label }) =>
    fieldOf({
      name,
      label,
      hint: `${shownTerm(name, now[name])}; ${shownTerm(name, most[name])} at most`,
      value: refused?.typed[name] ?? '',
      ...wrongIn(refused?.error, [name]),
    }),
  );
}

const FIELDS = Object.fromEntries(TERMS.map(({ name }) => [name, name]));

/** @param reasonId of the field with the reason */
export function refusalSummary(error: RsRequestRefused | undefined, reasonId = 'reason'): Markup | string {
  return summaryOf(error, { ...FIELDS, reason: reasonId });
}

function shownTerm(name: keyof GivenTerms, value: number): string {
  return name === 'spacemax' ? bytesText(value) : name === 'bandwidth' ? rateText(value) : countText(value);
}
