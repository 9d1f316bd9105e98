/** Runs histories of the model until one goes wrong: `mutant-histories.js RUNS`. */
import { runHistories } from '../qm/histories.js';

await runHistories({ seed: 1, runs: Number(process.argv[2]), shrink: false });
