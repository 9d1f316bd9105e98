/** What the operators' pages and their API show, as plain values: one source for both. */
import type { RsDatabase } from '../../db/rs/database.js';
import type { AuditRow } from '../../db/rs/audit.js';
import type { Registration, RegistrationState } from '../../db/rs/registrations.js';

const UNDER_WAY: readonly RegistrationState[] = ['issued', 'checking', 'applying'];
const OVER: readonly RegistrationState[] = ['active', 'refused', 'expired', 'cancelled'];
/** Of what is not waiting; all that waits is shown. */
const SHOWN = 50;
const WAITING_SHOWN = 1000;
export const AUDIT_PAGE = 100;

export type Application = Omit<Registration, 'secret' | 'password' | 'triedMs'>;

export interface OperatorViewsOptions {
  db: RsDatabase;
}

export class OperatorViews {
  readonly #options: OperatorViewsOptions;

  constructor(options: OperatorViewsOptions) {
    this.#options = options;
  }

  /** Waiting for a decision, the oldest first; under way and over, the newest first. */
  applications(): Record<'waiting' | 'under_way' | 'over', Application[]> {
    const { registrations } = this.#options.db;
    const shown = (states: readonly RegistrationState[], limit: number) =>
      registrations.inStates(states, limit).map(withoutSecrets);
    return {
      waiting: shown(['waiting'], WAITING_SHOWN).toReversed(),
      under_way: shown(UNDER_WAY, SHOWN),
      over: shown(OVER, SHOWN),
    };
  }

  /** Undefined when there is none. */
  application(id: number): Application | undefined {
    const registration = this.#options.db.registrations.get(id);
    return registration && withoutSecrets(registration);
  }

  /**
   * What happened, the newest first, a page of it.
   * @param before of a row of the page before this one
   */
  audit(before?: number, pid?: number): { rows: AuditRow[]; next: number | null } {
    const rows = this.#options.db.audit.page(AUDIT_PAGE + 1, { before, pid });
    const shown = rows.slice(0, AUDIT_PAGE);
    return { rows: shown, next: rows.length > AUDIT_PAGE ? (shown.at(-1)?.id ?? null) : null };
  }
}

function withoutSecrets({ secret: _s, password: _p, triedMs: _t, ...rest }: Registration): Application {
  return rest;
}
