/** The floors of docs/ARCHITECTURE.md: which rooms of src/ a room may import besides itself. */

const STAGES = ['cp', 'uns', 'qm', 'bm', 'bot', 'cu', 'run', 'fsck', 'clear'];
const BELOW_STAGES = ['fetch', 'text', 'db', 'wire', 'daemon', 'config', 'lib'];

/** Room → rooms it may import. A room that is missing here has not been given a floor yet, and a test says so. */
export const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  lib: [],
  config: ['lib'],
  wire: ['config', 'lib'],
  daemon: ['config', 'lib'],
  db: ['wire', 'config', 'lib'],
  fetch: ['wire', 'lib'],
  text: ['lib'],
  ...Object.fromEntries(STAGES.map(stage => [stage, BELOW_STAGES])),
  commands: [...STAGES, ...BELOW_STAGES],
};
