/**
 * `npm run bench [-- NAME…]`: runs the benchmarks named (default all that do not have to be asked for), prints medians and ratios and writes the results
 * page docs/bench.md. Each benchmark is a module of this folder exporting `bench(): Promise<Outcome[]>`.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { takeOver } from '../test/support/at-end.js';
import { isKept, type Outcome } from './harness.js';

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, '../..');
const resultsDir = join(root, 'bench/results');
const page = join(root, 'docs/bench.md');
const SHARED = new Set(['index', 'harness', 'lcc', 'qm']);

/** Take long, and much disk: only when asked for. */
const BY_NAME = new Set(['export']);

const all = readdirSync(here)
  .filter(file => file.endsWith('.js'))
  .map(file => basename(file, '.js'))
  .filter(name => !SHARED.has(name))
  .sort();
const wanted = process.argv.slice(2);
const unknown = wanted.filter(name => !all.includes(name));
if (unknown.length > 0) {
  console.error(`bench: no benchmark ${unknown.join(', ')}; there are ${all.join(', ')}`);
  process.exit(64);
}

/** What benchmarks have left to do at their end, in the place of the runner of tests. */
const end = takeOver();
let missed = 0;
mkdirSync(resultsDir, { recursive: true });
for (const name of wanted.length > 0 ? wanted : all.filter(name => !BY_NAME.has(name))) {
  const module = (await import(`./${name}.js`)) as { bench?: () => Promise<Outcome[]> };
  if (module.bench === undefined) continue;
  console.log(`\n== ${name}`);
  const outcomes = await module.bench();
  await end();
  for (const outcome of outcomes) {
    console.log(describe(outcome));
    missed += misses(outcome);
  }
  writeFileSync(join(resultsDir, `${name}.json`), `${JSON.stringify(outcomes, undefined, 1)}\n`);
}
writeFileSync(page, results());
console.log(
  `\n${missed === 0 ? 'every floor was reached' : `${missed} floors were missed`}; results in docs/bench.md`,
);

/** The results page, from the last results of every benchmark. */
function results(): string {
  const sections = all.flatMap(name => {
    const file = join(resultsDir, `${name}.json`);
    if (!existsSync(file)) return [];
    const outcomes = JSON.parse(readFileSync(file, 'utf8')) as Outcome[];
    return outcomes.map(describe);
  });
  return `# Benchmarks

Medians and ratios of paired, interleaved runs on one machine (${cpus().length} cores, Node ${process.version}); ratios hold, absolute
rates drift. A ratio is our rate divided by the peer's on the same work: above 1 we are faster. Memory is the largest
resident set of any one process. Made by \`npm run bench\`.

${sections.join('\n')}`;
}

function describe(outcome: Outcome): string {
  const rows = outcome.lines.map(line => {
    const ratio = line.ratio === undefined ? '' : line.ratio.toFixed(2);
    const floor =
      line.atLeast === undefined
        ? ''
        : `${Number(line.atLeast.toFixed(2))} ${(line.ratio ?? 0) >= line.atLeast ? '✓' : '✗'}`;
    const memory = memoryOf(line);
    return `| ${line.name.replaceAll('|', '\\|')} | ${formatRate(line.ratePerSecond)} | ${ratio} | ${floor} | ${memory} |`;
  });
  const bounds = outcome.bounds.map(
    bound =>
      `\n- ${bound.what}: ${Number(bound.value.toFixed(2))} ${bound.unit} (${bound.atLeast === undefined ? `at most ${bound.atMost}` : `at least ${bound.atLeast}`}) ${isKept(bound) ? '✓' : '✗'}`,
  );
  const table =
    rows.length === 0
      ? ''
      : `| | ${outcome.unit}/s | ours ÷ this | at least | memory |\n| --- | ---: | ---: | ---: | ---: |\n${rows.join('\n')}\n`;
  const notes = (outcome.notes ?? []).map(note => `\n- ${note}`);
  return `## ${outcome.work}\n\n${table}${bounds.join('')}${notes.join('')}\n`;
}

function memoryOf({ rssBytesOf, maxRssBytes }: Outcome['lines'][number]): string {
  const megabytes = (bytes: number) => `${Math.round(bytes / 1024 / 1024)} MB`;
  if (rssBytesOf !== undefined)
    return Object.entries(rssBytesOf)
      .map(([name, bytes]) => `${name} ${megabytes(bytes)}`)
      .join(', ');
  return maxRssBytes === undefined ? '' : megabytes(maxRssBytes);
}

function misses(outcome: Outcome): number {
  return (
    outcome.lines.filter(line => line.atLeast !== undefined && (line.ratio ?? 0) < line.atLeast).length +
    outcome.bounds.filter(bound => !isKept(bound)).length
  );
}

function formatRate(rate: number): string {
  return rate >= 100 ? Math.round(rate).toLocaleString('en-US') : rate.toPrecision(3);
}
