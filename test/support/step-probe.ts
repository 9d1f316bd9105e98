/** A program for tests of lib/steps.ts: passes the steps named by its arguments, then says it got to its end. */
import { step } from '../../src/lib/steps.js';

for (const name of process.argv.slice(2)) step(name);
process.stdout.write('end\n');
