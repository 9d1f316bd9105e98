/** Marks of safeguards in the compiled source, and the mutants that belong to them. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DURABLE_MUTANTS } from '../qm/durable-mutants.js';
import { GATE_MUTANTS } from '../qm/gate-mutants.js';
import { QUEUE_MUTANTS, type Mutant } from '../qm/mutants.js';
import { SCHEDULE_MUTANTS } from '../qm/schedule-mutants.js';
import { placed, type Change } from './mutation.js';
import { ROOT } from './tree.js';

export const MUTANTS: readonly Mutant[] = [
  ...QUEUE_MUTANTS,
  ...SCHEDULE_MUTANTS,
  ...DURABLE_MUTANTS,
  ...GATE_MUTANTS,
];

let modules: Map<string, string> | undefined;

/** Compiled modules that have a mark: path below dist/src → text. */
export function markedModules(): ReadonlyMap<string, string> {
  const dir = join(ROOT, 'dist/src');
  modules ??= new Map(
    readdirSync(join(ROOT, 'src'), { recursive: true })
      .map(String)
      .filter(path => /(?<!\.d)\.ts$/.test(path))
      .map(path => path.replace(/\.ts$/, '.js'))
      .map(path => [path, readFileSync(join(dir, path), 'utf8')] as const)
      .filter(([, text]) => text.includes('// safeguard: ')),
  );
  return modules;
}

/** Where the mutant's edits belong. @throws Error when the code has moved on */
export function placesOf({ without, edits }: Mutant): Change[] {
  return edits.map(edit => placed(markedModules(), without, edit));
}
