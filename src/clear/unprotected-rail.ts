/** `lccrail` refuses a rail whose pages anybody may change when it is set up; one that fails, or does not
 * answer, is reported. */
import { LccError } from '../lib/errors.js';
import type { ProbeFinding } from './rail-check.js';

/**
 * @param findings of trying the rail
 * @throws LccError `config` for an unprotected rail, unless that is forced
 */
export function refuseUnprotected(
  rail: string,
  findings: readonly ProbeFinding[],
  isForced: boolean,
  complain: (message: string) => void,
): void {
  const away = findings.find(({ result }) => result === 'away');
  if (away !== undefined)
    complain(
      `rail ${rail} is set up, but does not answer (${away.text}): whether anybody may change its pages is not known; lccrail check ${rail} when it does`,
    );
  const failed = findings.find(({ result }) => result === 'failed');
  if (failed !== undefined)
    complain(
      `rail ${rail} is set up, but its pages cannot be cleared: ${failed.what}: ${failed.text}; mend that, then lccrail check ${rail}`,
    );
  const open = findings.find(({ result }) => result === 'open');
  if (open === undefined) return;
  const what = `rail ${rail}: ${open.what} succeeds (${open.text}): anybody may change its pages`;
  if (!isForced) throw new LccError('config', `${what}; have the server ask for a login, or give --force`);
  complain(what);
}
