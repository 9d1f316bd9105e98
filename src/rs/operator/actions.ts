/** Actions of operators, each once: pages take them as forms, the API as JSON; the audit has who and why. */
import type { RsDatabase } from '../../db/rs/database.js';
import type { Transitions } from '../transitions.js';
import { LccError } from '../../lib/errors.js';
import { RS_CONTROLS } from '../../wire/qm-rs.js';
import { RsRequestRefused } from '../refusal.js';
import { higherTerms, TERMS, typedTerms } from '../terms.js';
import type { TermNumbers } from '../../wire/terms.js';
import type { OperatorViews } from './views.js';

const MAX_REASON_LENGTH = 500;

export interface OperatorActionsOptions {
  transitions: Pick<Transitions, 'approve' | 'refuse' | 'control'>;
  db: Pick<RsDatabase, 'registrations'>;
  views: Pick<OperatorViews, 'provider'>;
  most: TermNumbers;
  /** There is something for the Queue Manager. */
  applied: () => void;
}

export interface OperatorAction {
  /** Its path is `/applications/ID/OP` or `/providers/PID/OP`. */
  of: 'application' | 'provider';
  op: string;
  fields: readonly string[];
  /**
   * @param typed what is left out is '' or missing
   * @throws RsRequestRefused 400 for a reason or terms that cannot be, 409 for an application that does not
   *   wait
   */
  run: (id: number, typed: Readonly<Record<string, string>>, who: string) => Promise<void> | void;
}

const TERM_FIELDS = TERMS.map(({ name }) => name);

export function operatorActions(options: OperatorActionsOptions): readonly OperatorAction[] {
  const { transitions, db, views, most, applied } = options;
  /** The Queue Manager is told, when it is there. */
  const tell = (change: Parameters<Transitions['control']>[0], reason: string | undefined, who: string) => {
    transitions.control(change, requireReason(reason, 'why, for the audit'), who);
    applied();
  };
  return [
    {
      of: 'application',
      op: 'approve',
      fields: TERM_FIELDS,
      run(id, typed, who) {
        const terms = typedTerms(typed, most);
        if (Object.keys(terms).length > 0 && db.registrations.get(id)?.kind === 'root')
          throw new RsRequestRefused(
            400,
            'terms',
            'another directory of a provider has no terms of its own',
            'approve it without; those of the provider are changed on its own page',
          );
        decided(() => transitions.approve(id, terms, who));
        applied();
      },
    },
    {
      of: 'application',
      op: 'refuse',
      fields: ['reason'],
      run(id, { reason }, who) {
        const why = requireReason(reason, 'what the applicant is told');
        decided(() => transitions.refuse(id, why, who));
      },
    },
    {
      of: 'provider',
      op: 'limits',
      fields: [...TERM_FIELDS, 'reason'],
      /** Above `MOST_TERMS` no more than it has. */
      async run(pid, typed, who) {
        const { provider: has } = await views.provider(pid);
        const terms = typedTerms(typed, has === null ? most : higherTerms(most, has));
        if (Object.keys(terms).length === 0)
          throw new RsRequestRefused(400, 'terms', 'no term is given', 'write at least one of them');
        tell({ op: 'limits', pid, ...terms }, typed['reason'], who);
      },
    },
    ...RS_CONTROLS.map((op): OperatorAction => ({
      of: 'provider',
      op,
      fields: ['reason'],
      run: (pid, { reason }, who) => tell({ op, pid }, reason, who),
    })),
  ];
}

/** @throws RsRequestRefused 400 */
export function requireReason(reason: string | undefined, what: string): string {
  const why = (reason ?? '').trim();
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
