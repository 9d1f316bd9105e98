/** A rail whose pages anybody may change is refused when it is set up; one that does not answer is only reported. */
import { LccError } from '../lib/errors.js';
import type { ProbeFinding } from './probe.js';

/**
 * @param findings of trying the rail
 * @throws LccError `config` for an open rail, unless that is forced
 */
export function refuseOpen(
  rail: string,
  findings: readonly ProbeFinding[],
  isForced: boolean,
  complain: (message: string) => void,
): void {
  const away = findings.find(({ result }) => result === 'away');
  if (away !== undefined)
    complain(`rail ${rail} does not answer (${away.text}); lccrail check ${rail} tries it again`);
  const open = findings.find(({ result }) => result === 'open');
  if (open === undefined) return;
  const what = `rail ${rail}: ${open.what} succeeds (${open.text}): anybody may change its pages`;
  if (!isForced) throw new LccError('config', `${what}; have the server ask for a login, or give --force`);
  complain(what);
}
