// The floors of docs/ARCHITECTURE.md: which rooms of src/ a room may import besides itself. The linter's walls
// (.oxlintrc.json) are made of them:
//
//   npm run walls       after a change here; a test of the house says when it was forgotten
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const STAGES = 'cp sources crawl fe uns qm bm bot cu rs clear spider keep fsck run'.split(' ');
const BELOW_STAGES = ['fetch', 'web', 'text', 'robots', 'db', 'wire', 'daemon', 'config', 'lib'];

/** Room → rooms it may import. One that is missing here has not been given a floor yet, and a test says so. */
export const MAY_IMPORT = {
  lib: [],
  config: ['lib'],
  wire: ['config', 'lib'],
  daemon: ['config', 'lib'],
  db: ['wire', 'config', 'lib'],
  fetch: ['wire', 'lib'],
  web: ['daemon', 'config', 'lib'],
  text: ['lib'],
  robots: ['fetch', 'db', 'wire', 'lib'],
  ...Object.fromEntries(STAGES.map(stage => [stage, BELOW_STAGES])),
  commands: [...STAGES, ...BELOW_STAGES],
};

/** Modules of `db/cache` that write; the others are there for every reader. */
const CACHE_WRITERS = ['age', 'content', 'deletions', 'errors', 'failures', 'freed', 'stores', 'tally'];

/** Wings ask the Queue Manager, they do not write for it. */
const WINGS = ['clear', 'spider', 'rs'];

/** Who reads the configuration; the others are handed values (config/settings). */
const CONFIGURED = ['commands', 'daemon', 'config', 'lib'];

/** Room → parts of rooms below that it may not import all the same. */
export const CLOSED_TO = Object.fromEntries(
  Object.keys(MAY_IMPORT).map(room => [
    room,
    [
      ...(CONFIGURED.includes(room) ? [] : ['config/load.js', 'config/types.js']),
      ...(WINGS.includes(room) ? ['db/queue', ...CACHE_WRITERS.map(file => `db/cache/${file}.js`)] : []),
    ],
  ]),
);

/** Folders inside of a room, at most: `src/ROOM/a/b/file.ts`. */
export const MOST_DEEP = 2;

/** What a module of a room may not import, as a regular expression; '' for nothing. @param depth folders above it in its room */
function wallOf(room, depth) {
  const others = Object.keys(MAY_IMPORT).filter(other => other !== room && !MAY_IMPORT[room].includes(other));
  const closed = [...others, ...(CLOSED_TO[room] ?? [])].map(path =>
    path.endsWith('.js') ? path.replace('.', '\\.') : `${path}/`,
  );
  // Counted, for a folder of `db` may have the name of a room.
  return closed.length === 0 ? '' : `^${'\\.\\./'.repeat(depth + 1)}(${closed.join('|')})`;
}

/** The linter's configuration with walls where the floors have them. @param text of .oxlintrc.json */
export function walled(text) {
  const config = JSON.parse(text);
  const lines = Object.keys(MAY_IMPORT).flatMap(room =>
    Array.from({ length: MOST_DEEP + 1 }, (_, depth) => [depth, wallOf(room, depth)])
      .filter(([, regex]) => regex !== '')
      .map(([depth, regex]) => {
        const rules = { 'no-restricted-imports': ['error', { patterns: [{ regex }] }] };
        return `    ${JSON.stringify({ files: [`src/${room}/${'*/'.repeat(depth)}*.ts`], rules })}`;
      }),
  );
  config.overrides = 'WALLS';
  // A wall is a line.
  return `${JSON.stringify(config, null, 2).replace('"WALLS"', `[\n${lines.join(',\n')}\n  ]`)}\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const file = fileURLToPath(new URL('../.oxlintrc.json', import.meta.url));
  writeFileSync(file, walled(readFileSync(file, 'utf8')));
}
