/** lccrail add, set and check: a rail is tried before it is one. */
import { readSecrets } from '../clear/rails/secrets.js';
import { clearOptions } from '../clear/options.js';
import { refuseUnprotected } from '../clear/unprotected-rail.js';
import { probeRail, type ProbeFinding } from '../clear/rail-check.js';
import type { RailSetup } from '../db/clear/rails.js';
import { EXIT, type ExitStatus } from '../lib/errors.js';
import { pathsIn, railTerms, type RailAction } from './rail-terms.js';

export async function addRail(given: RailAction): Promise<void> {
  const { db, context, names } = given;
  const rail = railTerms(names[0] ?? '', context, undefined);
  await demandClosed(given, rail);
  db.write(() => db.rails.add(rail, context.clock.nowMs()));
}

export async function setRail(given: RailAction): Promise<void> {
  const { db, context, names } = given;
  const name = names[0] ?? '';
  const known = db.rails.demand(name);
  const { name: _name, ...rail } = railTerms(name, context, known);
  await demandClosed(given, { name, ...rail });
  db.write(() => db.rails.change(name, rail));
}

/** Status 0 when all is as it must be, 69 when the rail does not answer, 65 otherwise. */
export async function checkRail(given: RailAction): Promise<ExitStatus> {
  const { db, context, names } = given;
  const rail = db.rails.demand(names[0] ?? '');
  const findings = await probe(given, rail);
  for (const { what, result, text } of findings)
    context.print(
      `${result === 'ok' ? 'ok' : 'NOT OK'}  ${what}: ${text}${result === 'open' ? ': anybody may' : ''}\n`,
    );
  if (findings.some(({ result }) => result === 'away')) return EXIT.unavailable;
  return findings.every(({ result }) => result === 'ok') ? EXIT.ok : EXIT.dataerr;
}

async function demandClosed(given: RailAction, rail: RailSetup): Promise<void> {
  const { complain, options } = given.context;
  refuseUnprotected(rail.name, await probe(given, rail), options['force'] === true, complain);
}

function probe({ db, context, config }: RailAction, rail: RailSetup): Promise<ProbeFinding[]> {
  const { secretsFile, sender } = clearOptions(config);
  const [path] = pathsIn(db, rail.target);
  const folder = path?.path.replace(/[^/]*$/, '') ?? '/';
  return probeRail(rail, folder, readSecrets(secretsFile), sender, context.clock);
}
