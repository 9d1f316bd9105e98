/**
 * The long run of the model: `npm run test:model -- [--sequences=N] [--seed=N]`. Batches of histories are spread over the
 * processors; batch n has seed `seed` + n, so `--seed=S --sequences=250` repeats a single one, and a run that was
 * stopped goes on with the seed it printed last.
 */
import { fork } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { runHistories } from './histories.js';
import { runUnaskedHistories } from './model-unasked-histories.js';

const BATCH = 250;
const REPORT_MS = 10_000;

interface Answer {
  seed: number;
  failure?: string;
}

if (process.send === undefined) await lead();
else process.on('message', (seed: number) => void work(seed));

async function work(seed: number): Promise<void> {
  const answer: Answer = { seed };
  try {
    await runHistories({ seed, runs: BATCH });
    await runUnaskedHistories({ seed, runs: BATCH });
  } catch (error) {
    answer.failure = error instanceof Error ? `${error.message}\n${String(error.cause)}` : String(error);
  }
  process.send?.(answer);
}

async function lead(): Promise<void> {
  const { values } = parseArgs({
    options: { sequences: { type: 'string', default: '100000' }, seed: { type: 'string' } },
  });
  const first = Number(values.seed ?? Math.floor(Math.random() * 2 ** 30));
  const batches = Math.ceil(Number(values.sequences) / BATCH);
  console.log(`${batches * BATCH} histories, seed ${first}`);
  const startedMs = performance.now();
  const open = new Set<number>();
  let begun = 0;
  let done = 0;
  let failure: Answer | undefined;
  const line = () => {
    const perS = (done * BATCH * 1000) / (performance.now() - startedMs);
    return `${done * BATCH} of ${batches * BATCH}, ${perS.toFixed(0)}/s; go on with --seed=${Math.min(first + begun, ...open)}`;
  };
  const report = setInterval(() => console.log(line()), REPORT_MS);
  await Promise.all(
    Array.from({ length: Math.min(batches, availableParallelism()) }, async () => {
      const worker = fork(fileURLToPath(import.meta.url));
      while (begun < batches && failure === undefined) {
        const seed = first + begun++;
        open.add(seed);
        const answer = await new Promise<Answer>(resolve => {
          worker.once('message', message => resolve(message as Answer));
          worker.once('exit', status => resolve({ seed, failure: `the worker ended with ${status}` }));
          worker.send(seed);
        });
        worker.removeAllListeners('exit');
        if (answer.failure === undefined) {
          open.delete(seed);
          done++;
        } else {
          failure ??= answer;
        }
      }
      worker.disconnect();
    }),
  );
  clearInterval(report);
  console.log(line());
  if (failure === undefined) return;
  console.log(`${failure.failure}\nrepeat it with --seed=${failure.seed} --sequences=${BATCH}`);
  process.exitCode = 1;
}
