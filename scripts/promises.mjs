// docs/promises.md, made of the names of tests: each is a promise, and the test that holds it stands in the file above it.
//
//   node scripts/promises.mjs >docs/promises.md    (npm run docs; a test of the house compares them)
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const tests = join(dirname(fileURLToPath(import.meta.url)), '../test');

/** Folders below test/ whose tests hold what a user would notice, with the heading of each; others hold details of a room. */
const ROOMS = {
  line: 'The whole line, from a site to an indexer',
  acceptance: 'With real programs on the other side',
  crash: 'Killed at any durable step',
  faults: 'Power cuts, full disks, lost answers',
  uns: 'Taking sets from sites',
  cp: 'What a site keeps',
  sources: 'Sitemaps and feeds',
  qm: 'The Queue Manager',
  bm: 'Bot Managers and stores',
  cu: 'Content users',
  crawl: 'A crawl, scans and audits',
  robots: 'robots.txt',
  clear: 'Cache clearing',
  rs: 'Registration',
  spider: 'The Spider',
};
const ENTRY =
  /^( *)(describe|it|test|longIt)(?:\.\w+)?\(\s*(?:'((?:\\.|[^'\\\n])*)'|"((?:\\.|[^"\\\n])*)"|`((?:\\.|[^`\\])*)`)/gm;

/** Suites and tests of a source in order: depth, kind and name; what changes in a name is an ellipsis. */
function entriesOf(source) {
  return [...source.matchAll(ENTRY)].map(([, indent, kind, single, double, template]) => ({
    depth: indent.length,
    kind,
    name: (single ?? double ?? template.replace(/\$\{[^}]*\}/g, '…')).replace(/\\(.)/g, '$1'),
  }));
}

/** Lines of a file: its suites as far as they hold tests, and the tests of each. */
function linesOf(path) {
  const lines = [];
  const suites = [];
  let shown = '';
  for (const { depth, kind, name } of entriesOf(readFileSync(join(tests, path), 'utf8'))) {
    while (suites.length > 0 && suites.at(-1).depth >= depth) suites.pop();
    if (kind === 'describe') {
      suites.push({ depth, name });
      continue;
    }
    const suite = suites.map(each => each.name).join(', ');
    if (suite !== shown) lines.push('', `${escaped(suite)}:`, '');
    shown = suite;
    lines.push(`- ${escaped(name)}`);
  }
  return lines[0] === '' ? lines.slice(1) : lines;
}

/** Text as Markdown shows it, on one line. */
function escaped(text) {
  return text.replace(/\s+/g, ' ').replace(/[\\`*_<>[\]|]/g, '\\$&');
}

const page = [
  '# What is promised, and which test holds it',
  '',
  'Made by `npm run docs` of the names of the tests: each line is a promise, below the file of its test. `…` is a part that changes.',
  'Rooms that hold no promise to users (wire, lib, db and others) are in `test/`, too. The Queue Manager is also compared with a model',
  'after every event of random histories (`test/qm/model.ts`), and `test/qm/mutants.ts` takes safeguards out and sees that a test notices.',
  'Most kills, power cuts and large amounts are in the long set (`scripts/test-sets.mjs`), which runs by hand.',
  '',
  'Why it is built so: [queue-manager](design/queue-manager.md), [durability](design/durability.md), [clearing](design/clearing.md),',
  '[spider](design/spider.md), [registration](design/registration.md).',
];
for (const [room, heading] of Object.entries(ROOMS)) {
  page.push('', `## ${heading}`);
  const files = readdirSync(join(tests, room), { recursive: true }).filter(file => file.endsWith('.test.ts'));
  for (const file of files.sort()) {
    const lines = linesOf(`${room}/${file}`);
    if (lines.length > 0) page.push('', `### \`test/${room}/${file}\``, '', ...lines);
  }
}
console.log(page.join('\n'));
