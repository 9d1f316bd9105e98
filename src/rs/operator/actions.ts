/** Decisions of operators, each with who and why in the audit. */
import type { PairKind } from '../../db/rs/registrations.js';
import type { Transitions } from '../transitions.js';
import { LccError } from '../../lib/errors.js';
import type { RsControl } from '../../wire/qm-rs.js';
import { RsRequestRefused } from '../refusal.js';
import { higherTerms, typedTerms, type GivenTerms, type MostTerms } from '../terms.js';

const MAX_REASON_LENGTH = 500;

export interface DecisionsOptions {
  transitions: Pick<Transitions, 'approve' | 'refuse' | 'control'>;
  /** Kind of a registration; undefined: there is none. */
  kindOf: (id: number) => PairKind | undefined;
  most: MostTerms;
  /** There is something for the Queue Manager. */
  applied: () => void;
}

export type TypedTerms = Readonly<Partial<Record<keyof GivenTerms, string>>>;

export class Decisions {
  readonly #options: DecisionsOptions;

  constructor(options: DecisionsOptions) {
    this.#options = options;
  }

  /** @throws RsRequestRefused 400 for terms that cannot be given, 409 when it does not wait */
  approve(id: number, typed: TypedTerms, who: string): void {
    const { transitions, kindOf, most, applied } = this.#options;
    const terms = typedTerms(typed, most);
    if (Object.keys(terms).length > 0 && kindOf(id) === 'root')
      throw new RsRequestRefused(
        400,
        'terms',
        'another directory of a provider has no terms of its own',
        'approve it without; those of the provider are changed on its own page',
      );
    decided(() => transitions.approve(id, terms, who));
    applied();
  }

  /** @throws RsRequestRefused 400 without a reason, 409 when it does not wait */
  refuse(id: number, reason: string, who: string): void {
    const why = requireReason(reason, 'what the applicant is told');
    decided(() => this.#options.transitions.refuse(id, why, who));
  }

  /** The Queue Manager is told, when it is there. @throws RsRequestRefused 400 without a reason */
  control(pid: number, op: RsControl, reason: string, who: string): void {
    this.#options.transitions.control({ op, pid }, requireReason(reason, 'why, for the audit'), who);
    this.#options.applied();
  }

  /**
   * Other terms of any provider: above `rs.most_…` no more than it has.
   * @param has undefined: it is not known
   * @throws RsRequestRefused 400 without a reason, and for terms that are none or cannot be given
   */
  limits(pid: number, typed: TypedTerms, has: GivenTerms | undefined, reason: string, who: string): void {
    const { transitions, most, applied } = this.#options;
    const terms = typedTerms(typed, has === undefined ? most : higherTerms(most, has));
    if (Object.keys(terms).length === 0)
      throw new RsRequestRefused(400, 'terms', 'no term is given', 'write at least one of them');
    const why = requireReason(reason, 'why, for the audit');
    transitions.control({ op: 'limits', pid, ...terms }, why, who);
    applied();
  }
}

/** @throws RsRequestRefused 400 */
export function requireReason(reason: string, what: string): string {
  const why = reason.trim();
  if (why === '') throw new RsRequestRefused(400, 'reason', 'the reason is missing', `write ${what}`);
  if (why.length > MAX_REASON_LENGTH)
    throw new RsRequestRefused(
      400,
      'reason',
      'the reason is too long',
      `write ${MAX_REASON_LENGTH} characters at most`,
    );
  return why;
}

function decided(decide: () => void): void {
  try {
    decide();
  } catch (error) {
    if (!(error instanceof LccError) || error.code !== 'usage') throw error;
    throw new RsRequestRefused(409, 'too-late', error.message, 'load the list again');
  }
}
