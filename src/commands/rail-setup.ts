/** lccrail add, set and check: a rail is tried before it is one. */
import { readSecrets } from '../clear/rails/secrets.js';
import { clearOptions } from '../clear/options.js';
import { openFindings, probeRail, type ProbeFinding } from '../clear/probe.js';
import type { RailSetup } from '../db/clear/rails.js';
import { systemClock } from '../lib/clock.js';
import { EXIT, LccError, type ExitStatus } from '../lib/errors.js';
import { pathsIn, railTerms, type RailAction } from './rail-terms.js';

export async function addRail(given: RailAction): Promise<void> {
  const { db, context, names } = given;
  const rail = railTerms(names[0] ?? '', context, undefined);
  await refuseOpen(given, rail);
  db.write(() => db.rails.add(rail, systemClock.nowMs()));
}

export async function setRail(given: RailAction): Promise<void> {
  const { db, context, names } = given;
  const name = names[0] ?? '';
  const known = db.rails.get(name);
  if (known === undefined) throw new LccError('usage', `there is no rail ${name}; lccrail add makes one`);
  const { name: _name, ...rail } = railTerms(name, context, known);
  await refuseOpen(given, { name, ...rail });
  db.write(() => db.rails.change(name, rail));
}

/** Status 0 when all is as it must be, 69 when the rail does not answer, 65 otherwise. */
export async function checkRail(given: RailAction): Promise<ExitStatus> {
  const { db, names } = given;
  const rail = db.rails.get(names[0] ?? '');
  if (rail === undefined)
    throw new LccError('usage', `there is no rail ${names[0] ?? ''}; lccrail status lists them`);
  const findings = await probe(given, rail);
  for (const { what, result, text } of findings)
    process.stdout.write(
      `${result === 'ok' ? 'ok' : 'NOT OK'}  ${what}: ${text}${result === 'open' ? ': anybody may' : ''}\n`,
    );
  if (findings.some(({ result }) => result === 'away')) return EXIT.unavailable;
  return findings.every(({ result }) => result === 'ok') ? EXIT.ok : EXIT.dataerr;
}

/** @throws LccError `config` for a rail whose pages anybody may change, unless --force is given */
async function refuseOpen(given: RailAction, rail: RailSetup): Promise<void> {
  const { context } = given;
  const findings = await probe(given, rail);
  const away = findings.find(({ result }) => result === 'away');
  if (away !== undefined)
    context.complain(
      `rail ${rail.name} does not answer (${away.text}); lccrail check ${rail.name} tries it again`,
    );
  const [open] = openFindings(findings);
  if (open === undefined) return;
  const what = `rail ${rail.name}: ${open.what} succeeds (${open.text}): anybody may change its pages`;
  if (context.options['force'] !== true)
    throw new LccError('config', `${what}; have the server ask for a login, or give --force`);
  context.complain(what);
}

function probe({ db, config }: RailAction, rail: RailSetup): Promise<ProbeFinding[]> {
  const { secretsFile, sender } = clearOptions(config);
  const [path] = pathsIn(db, rail.target);
  const folder = path?.path.replace(/[^/]*$/, '') ?? '/';
  return probeRail(rail, folder, readSecrets(secretsFile), sender, systemClock);
}
